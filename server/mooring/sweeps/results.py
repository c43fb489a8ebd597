"""The results of a sweep."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from mooring.framework.errors import InvalidArgumentError, not_installed
from mooring.sweeps.plan import Figures, Run
from mooring.sweeps.workers import Ended

KEYS = ("workload", "config", "seed")


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over all seeds.

    Attributes:
        mean: The mean.
        lowest: The lowest.
        highest: The highest.
    """

    mean: float
    lowest: float
    highest: float


@dataclass(frozen=True)
class Results:
    """The figures of all runs, in the order of the sweep, independent of the workers and times.

    Attributes:
        figures: By run.
        failures: Why the other runs have none.
    """

    figures: Mapping[Run, Figures]
    failures: Mapping[Run, str]

    @classmethod
    def of(cls, runs: Sequence[Run], ended: Sequence[Ended]) -> Results:
        """Return the results of the runs."""
        ends = dict(ended)
        figures = {run: end for run in runs if not isinstance(end := ends[run], str)}
        failures = {run: end for run in runs if isinstance(end := ends[run], str)}
        return cls(figures, failures)

    @property
    def measures(self) -> list[str]:
        """The names of the figures."""
        return list(dict.fromkeys(name for figures in self.figures.values() for name in figures))

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """A row for each run that has figures: ``workload``, ``config``, ``seed``, then each measure; None
        if a run has no such figure.
        """
        columns: dict[str, Sequence[Any]] = {key: [getattr(run, key) for run in self.figures] for key in KEYS}
        for name in self.measures:
            columns[name] = [figures.get(name) for figures in self.figures.values()]
        return columns

    def spread(self, measure: str) -> dict[tuple[str, str], Spread]:
        """Return a measure by workload and configuration."""
        found: dict[tuple[str, str], list[float]] = {}
        for run, figures in self.figures.items():
            if measure in figures:
                found.setdefault((run.workload, run.config), []).append(figures[measure])
        return {key: Spread(mean(values), min(values), max(values)) for key, values in found.items()}

    def write(self, file: Path) -> None:
        """Write the columns, as ``write_columns`` does."""
        write_columns(file, self.columns)


def write_columns(file: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns of one length as CSV, or as Parquet if the file is called so.

    Raises:
        InvalidArgumentError: The file is called otherwise.
        FailedPreconditionError: pyarrow is not installed.
        OSError: It can't be written.
    """
    if file.suffix == ".csv":
        with file.open("w", newline="", encoding="utf-8") as text:
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    elif file.suffix == ".parquet":
        _write_parquet(file, columns)
    else:
        raise InvalidArgumentError.at("to", f"{file} is neither .csv nor .parquet")


def _write_parquet(file: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise not_installed("pyarrow", "lab") from error
    parquet.write_table(pa.table(dict(columns)), file)
