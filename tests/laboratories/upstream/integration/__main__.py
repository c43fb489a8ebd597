"""``make upstream SUITE=integration``: Kubernetes' integration tests, with a process as scheduler.

A case counts if it ran against the process. A case that needs the scheduler in Go is not applicable: the
reason is found at run time, or is in ``not_applicable.txt``. The exit code is 1 if mooring fails another
case, or if there was no API server for one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.laboratories.e2e.build import KUBERNETES_VERSION
from tests.laboratories.upstream.integration.build import build, packages, prepare
from tests.laboratories.upstream.integration.playing import (
    COMMANDS,
    MOORING,
    NOT_APPLICABLE,
    NOT_STARTED,
    play,
)
from tests.laboratories.upstream.reasons import read_reasons
from tests.laboratories.upstream.suite import Outcome

REASONS = Path(__file__).with_name("not_applicable.txt")


def main() -> int:
    arguments = _arguments()
    prepare()
    chosen = arguments.package or packages()
    names = [arguments.only] if arguments.only else list(COMMANDS)
    reasons = read_reasons(REASONS)
    directory = Path(tempfile.mkdtemp(prefix="integration-"))
    print(f"logs are in {directory}", flush=True)
    found: dict[str, dict[str, Outcome]] = {name: {} for name in names}
    for package in chosen:
        build(package)
        for name in names:
            played = play(package, name, arguments.focus, directory)
            found[name] |= {case: _judged(case, outcome, reasons) for case, outcome in played.items()}
            print(f"{package}: {name}: {_counts(found[name], package)}", flush=True)
    _show(found)
    results = {outcome.result for outcome in found.get(MOORING, {}).values()}
    return int(bool(results & {"failed", NOT_STARTED}))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--package", action="append", metavar="FOLDER", help="run these packages alone")
    parser.add_argument(
        "--focus", default="", metavar="REGEX", help="the cases to run, as go test -run has them"
    )
    parser.add_argument("--only", choices=COMMANDS, help="run them with one of the two schedulers")
    return parser.parse_args()


def _judged(case: str, outcome: Outcome, reasons: dict[str, str]) -> Outcome:
    if case in reasons and outcome.result == "failed":
        return Outcome(NOT_APPLICABLE, outcome.seconds, reasons[case])
    return outcome


def _counts(outcomes: dict[str, Outcome], package: str = "") -> str:
    prefix = f"{package}: " if package else ""
    counted = Counter(outcome.result for case, outcome in outcomes.items() if case.startswith(prefix))
    results = "passed", "failed", NOT_STARTED, NOT_APPLICABLE, "skipped"
    return ", ".join(f"{counted[result]} {result}" for result in results)


def _show(found: dict[str, dict[str, Outcome]]) -> None:
    for name, outcomes in found.items():
        for case, outcome in outcomes.items():
            if outcome.result != "passed":
                print(f"{name}: {outcome.result}: {case}: {outcome.message}")
    for name, outcomes in found.items():
        print(f"{KUBERNETES_VERSION}: {name}: {_counts(outcomes)}")


if __name__ == "__main__":
    sys.exit(main())
