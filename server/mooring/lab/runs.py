"""Plots of the files that ``mooring sweep --to`` has written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mooring.framework.errors import InvalidArgumentError, not_installed

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


def plot_runs(runs: pd.DataFrame, measure: str) -> alt.Chart:
    """Return a plot of one figure of a sweep: a dot for each run, by configuration, a row for each workload.

    Args:
        runs: What ``pandas.read_parquet`` or ``read_csv`` makes of the file: ``workload``, ``config``,
            ``seed``, and a column for each figure.
        measure: The figure, for example ``cpu %``.

    Raises:
        InvalidArgumentError: There is no such figure.
        FailedPreconditionError: altair is not installed.
    """
    try:
        import altair as alt
    except ImportError as error:
        raise not_installed("altair", "lab") from error
    if measure not in runs:
        known = ", ".join(map(str, runs.columns[3:]))
        raise InvalidArgumentError.at("measure", f"{measure!r} is not one of {known}")
    # A name may have characters that mean something to altair.
    shown = runs[["workload", "config", "seed"]].assign(figure=runs[measure])
    chart: alt.Chart = (
        alt.Chart(shown)
        .mark_point()
        .encode(
            alt.X("figure:Q", title=measure, scale=alt.Scale(zero=False)),
            alt.Y("config:N", title=""),
            alt.Row("workload:N", title=""),
            tooltip=["workload", "config", "seed", "figure"],
        )
        .properties(width=420)
    )
    return chart
