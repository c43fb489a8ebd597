"""How far a benchmark is, on standard error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from tests.laboratories.bench.numbers import middle
from tests.laboratories.bench.workload import Figure, Workload, measure


class Steps:
    """A bar that says what is being measured."""

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar = bar
        self._task = task

    def doing(self, what: str) -> None:
        """Show the next step, in a line of its own without a bar."""
        self._bar.update(self._task, description=what)
        if not self._bar.console.is_terminal:
            task = self._bar.tasks[self._task]
            self._bar.console.print(f"{task.completed:.0f}/{task.total:.0f} {what}", soft_wrap=True)

    def done(self) -> None:
        """One step more is behind."""
        self._bar.advance(self._task)

    def found(self, figures: Sequence[Figure]) -> None:
        """Say what was measured, above the bar: a run that is ended early has its figures all the same."""
        for figure in figures:
            line = f"{figure.workload}: {middle(figure.values)} {figure.metric}"
            self._bar.console.print(line, soft_wrap=True, highlight=False, markup=False)


@contextmanager
def steps(total: int) -> Iterator[Steps]:
    """Show a bar of ``total`` steps, which disappears at the end."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Steps(bar, bar.add_task("", total=total))


def measure_all(workloads: Sequence[Workload], repeats: int) -> list[Figure]:
    """Measure one after the other, showing how far it is."""
    found: list[Figure] = []
    with steps(repeats * len(workloads)) as bar:
        for workload in workloads:
            bar.doing(workload.name)
            figures = measure(workload, repeats, bar.done)
            bar.found(figures)
            found += figures
    return found
