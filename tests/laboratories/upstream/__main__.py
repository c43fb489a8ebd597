"""``make upstream``: Kubernetes' own end-to-end tests of scheduling, with mooring and with kube-scheduler.

Each scheduler is the only one of a new control plane with kwok for kubelets. `not_applicable.txt` names the
cases that cannot pass there, whatever the scheduler. The exit code is 1 when mooring fails another one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.laboratories.e2e.build import KUBERNETES_VERSION
from tests.laboratories.e2e.control_plane import GROUP_GATES
from tests.laboratories.e2e.whole_schedulers import SCHEDULERS
from tests.laboratories.upstream.nodes_at_work import NodesAtWork
from tests.laboratories.upstream.reasons import read_reasons
from tests.laboratories.upstream.suite import FOCUS, Outcome, play

NOT_APPLICABLE = Path(__file__).parent / "not_applicable.txt"
MOORING = "mooring"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--focus", default=FOCUS, metavar="REGEX", help="the cases to run, by their names")
    parser.add_argument("--only", choices=SCHEDULERS, help="run them with one of the two schedulers")
    arguments = parser.parse_args()
    names = [arguments.only] if arguments.only else list(SCHEDULERS)
    found = {name: _played(name, arguments.focus) for name in names}
    reasons = read_reasons(NOT_APPLICABLE)
    _show(found, reasons)
    failed = [case for case, outcome in found.get(MOORING, {}).items() if outcome.result == "failed"]
    return int(any(case not in reasons for case in failed))


def _played(scheduler: str, focus: str) -> dict[str, Outcome]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        Progress(*columns, console=Console(stderr=True), transient=True) as bar,
        tempfile.TemporaryDirectory() as folder,
        NodesAtWork(Path(folder)) as plane,
        SCHEDULERS[scheduler](plane, Path(folder), GROUP_GATES),
    ):
        task = bar.add_task(scheduler, total=None)
        return play(
            plane.kubeconfig("admin"),
            Path(folder),
            focus,
            lambda done, total: bar.update(task, completed=done, total=total or None),
        )


def _show(found: dict[str, dict[str, Outcome]], reasons: dict[str, str]) -> None:
    console = Console(width=None if sys.stdout.isatty() else 200)
    table = Table("case", *found, "", box=None, pad_edge=False)
    for case in sorted({case for outcomes in found.values() for case in outcomes}):
        cells = [_cell(outcomes.get(case), case in reasons) for outcomes in found.values()]
        table.add_row(escape(case), *cells, escape(reasons.get(case, "")))
    table.add_section()
    for result in ("passed", "failed", "not applicable", "skipped"):
        counts = [
            Counter(_result(o, c in reasons) for c, o in outcomes.items()) for outcomes in found.values()
        ]
        table.add_row(f"{KUBERNETES_VERSION}: {result}", *(str(count[result]) for count in counts), "")
    console.print(table)
    for name, outcomes in found.items():
        for case, outcome in outcomes.items():
            if _result(outcome, case in reasons) in ("failed", "skipped"):
                said = f"{name} {outcome.result}: {case}: {outcome.message}"
                console.print(said, markup=False, highlight=False, soft_wrap=True)


def _cell(outcome: Outcome | None, inapplicable: bool) -> str:
    if outcome is None:
        return ""
    return f"{_result(outcome, inapplicable)} {outcome.seconds:.0f} s"


def _result(outcome: Outcome, inapplicable: bool) -> str:
    return "not applicable" if inapplicable and outcome.result == "failed" else outcome.result


if __name__ == "__main__":
    sys.exit(main())
