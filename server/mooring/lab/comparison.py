"""The same pods placed again and again: under several configurations, with many weights; and their plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from mooring.framework.errors import InvalidArgumentError, not_installed
from mooring.lab.frames import Columns, Tabular, frame_of
from mooring.lab.measures import Measure
from mooring.lab.placing import Placed

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Comparison(Tabular):
    """The results for the same pods under several configurations.

    Attributes:
        placed: By configuration and seed.
        measures: The measures of each, in ``columns``.
    """

    placed: Mapping[tuple[str, int], Placed]
    measures: Sequence[Measure]

    @property
    def columns(self) -> Columns:
        """A row for each run. Columns: ``config``, ``seed``, and one for each measure."""
        columns: dict[str, Sequence[Any]] = {
            "config": [name for name, _ in self.placed],
            "seed": [seed for _, seed in self.placed],
        }
        for measure in self.measures:
            columns[measure.name] = [measure.of(placed) for placed in self.placed.values()]
        return columns

    @property
    def changed(self) -> dict[str, dict[str, str | None]]:
        """The pods whose nodes differ between configurations with the same seed: by pod, then by run."""
        found: dict[str, dict[str, str | None]] = {}
        seeds = dict.fromkeys(seed for _, seed in self.placed)
        for seed in seeds:
            runs = {name: placed for (name, of), placed in self.placed.items() if of == seed}
            where = {name: dict(zip(placed.pods, placed.nodes, strict=True)) for name, placed in runs.items()}
            for pod in next(iter(where.values())):
                nodes = {f"{name}, seed {seed}": went[pod] for name, went in where.items()}
                if any(one != other for one, other in pairwise(nodes.values())):
                    found.setdefault(pod, {}).update(nodes)
        return found

    def balance(self, resource: str) -> alt.Chart:
        """Return how many nodes have how much of a resource in use, a plot for each configuration.

        Raises:
            FailedPreconditionError: altair or pandas is not installed.
            InvalidArgumentError: There is no such resource.
        """
        try:
            import altair as alt
        except ImportError as error:
            raise not_installed("altair", "lab") from error
        rows = [
            (name, float(percent))
            for (name, _), placed in self.placed.items()
            for percent in placed.used(resource)
        ]
        frame = frame_of({"config": [name for name, _ in rows], "percent": [used for _, used in rows]})
        used = alt.X("percent:Q", bin=alt.Bin(step=5, extent=(0, 100)), title=f"{resource} requested, %")
        chart: alt.Chart = (
            alt.Chart(frame)
            .mark_bar()
            .encode(used, alt.Y("count()", title="nodes"), alt.Row("config:N", title=""))
            .properties(width=420, height=90)
        )
        return chart

    def __repr__(self) -> str:
        runs = (f"{name}, seed {seed}: {placed!r}" for (name, seed), placed in self.placed.items())
        return "\n".join(runs)

    def _repr_html_(self) -> str:
        return str(self.frame.round(2).to_html(index=False))


@dataclass(frozen=True, eq=False)
class Sweep(Tabular):
    """The results for the same pods with many combinations of weights.

    Attributes:
        comparison: The comparison of all of them.
        weights: The weights of each combination, by its name in the comparison.
        minimized: The measure that the best one has the least of.
    """

    comparison: Comparison
    weights: Mapping[str, Mapping[str, int]]
    minimized: Measure

    @property
    def best(self) -> Mapping[str, int]:
        """The weights with the smallest mean of the minimized measure; the first of equal ones."""
        figures: dict[str, list[float]] = {name: [] for name in self.weights}
        for (name, _), placed in self.comparison.placed.items():
            figures[name].append(self.minimized.of(placed))
        return self.weights[min(figures, key=lambda name: float(np.mean(figures[name])))]

    @property
    def columns(self) -> Columns:
        """A row for each run. Columns: one for each plugin, ``seed``, and one for each measure."""
        compared = dict(self.comparison.columns)
        names = compared.pop("config")
        plugins = next(iter(self.weights.values()))
        return {**{one: [self.weights[name][one] for name in names] for one in plugins}, **compared}

    def __repr__(self) -> str:
        chosen = ", ".join(f"{plugin}={weight}" for plugin, weight in self.best.items())
        return f"least {self.minimized.name} of {len(self.weights)} combinations: {chosen}"


def plot_runs(runs: pd.DataFrame, measure: str) -> alt.Chart:
    """Return a plot of one figure of a sweep: a dot for each run, by configuration, a row for each workload.

    Args:
        runs: The file, read by ``pandas.read_parquet`` or ``read_csv``: ``workload``, ``config``, ``seed``,
            and a column for each figure.
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


def plot_series(series: Mapping[str, pd.DataFrame], measure: str) -> alt.Chart:
    """Return a plot of one figure over time: a line for each recording that was lived again.

    Args:
        series: By name, the data frame of a file of ``mooring replay --lives --figures``: ``time``, and a
            column for each figure.
        measure: The figure, for example ``cpu fragmented %``.

    Raises:
        InvalidArgumentError: There is no such figure.
        FailedPreconditionError: altair or pandas is not installed.
    """
    try:
        import altair as alt
    except ImportError as error:
        raise not_installed("altair", "lab") from error
    rows: list[tuple[str, Any, float]] = []
    for name, frame in series.items():
        if measure not in frame:
            known = ", ".join(map(str, frame.columns[1:]))
            raise InvalidArgumentError.at("measure", f"{measure!r} is not one of {known}")
        hours = (frame["time"] - frame["time"].iloc[0]) / 3600
        rows += [(name, hour, value) for hour, value in zip(hours, frame[measure], strict=True)]
    shown = frame_of({key: [row[at] for row in rows] for at, key in enumerate(("run", "hours", "figure"))})
    chart: alt.Chart = (
        alt.Chart(shown)
        .mark_line(interpolate="step-after")
        .encode(alt.X("hours:Q"), alt.Y("figure:Q", title=measure), alt.Color("run:N", title=""))
        .properties(width=420, height=180)
    )
    return chart
