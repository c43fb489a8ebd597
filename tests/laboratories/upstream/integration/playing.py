"""One run of a package's tests, and what came of its cases."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from mooring.framework.releases import FEATURE_GATES
from tests.laboratories.e2e.build import BIN, kubernetes
from tests.laboratories.upstream.integration.build import MODULE, SUITE, binary
from tests.laboratories.upstream.suite import Outcome
from tests.process import environment

MOORING = "mooring"
COMMANDS = {
    "kube-scheduler": [str(kubernetes("kube-scheduler"))],
    MOORING: [str(Path(sys.executable).parent / "mooring"), "scheduler"],
}
"""The commands that replace the scheduler; each gets a configuration and the gates that the case has set."""

_NOT_FOLLOWED = {
    MOORING: "\n".join(f"{name}: {gate.lacking}" for name, gate in FEATURE_GATES.items() if gate.lacking)
}
"""The gates for which a case is not applicable, each with the reason, by line."""

NOT_APPLICABLE = "not applicable"
_STARTED = "scheduler process: started"
_REJECTED = "scheduler process: it ended"
_REFUSED = "NOT APPLICABLE: "
_FATAL = re.compile(r"^F\d{4} [^]]*\] (?P<why>.*)", re.MULTILINE)
"""Texts after which a process of tests ends at once."""

_UNHEALTHY = re.compile(
    r"test_server\.go:\d+: context deadline exceeded|failed to wait for /healthz[^\n]*|could not start etcd"
)
"""The text of a case without an etcd or an API server."""

NOT_STARTED = "not started"
ATTEMPTS = 3
"""Attempts at a test whose cases had no API server. The outcome of a case that ran counts."""

MAX_MESSAGE = 200
"""Characters of a message."""

_TEST = re.compile(r"^func (Test(?!Main\()\w+)\(\w+ \*testing\.T\)", re.MULTILINE)

_ENDED = {"pass": "passed", "fail": "failed", "skip": "skipped"}


@dataclass
class _Case:
    result: str = "failed"
    seconds: float = 0.0
    output: list[str] = field(default_factory=list)


def play(package: str, scheduler: str, focus: str, directory: Path) -> dict[str, Outcome]:
    """Run a package's cases with a scheduler.

    Args:
        package: A folder of the suite.
        scheduler: One of ``COMMANDS``.
        focus: A regular expression, as ``go test -run`` takes it; "" = all.
        directory: For the logs: the tests' own, and the scheduler's.

    Returns:
        By the case's name, after its package. A test that has subtests is not a case.
    """
    found: dict[str, Outcome] = {}
    for test in each_test_of(MODULE / SUITE / package, focus):
        for _ in range(ATTEMPTS):
            ran = {case: outcome for case, outcome in found.items() if outcome.result != NOT_STARTED}
            played = _attempt(package, scheduler, test, directory)
            found = {**played, **ran}
            if all(outcome.result != NOT_STARTED for outcome in played.values()):
                break
    return found


def each_test_of(folder: Path, focus: str) -> list[str]:
    """Return what ``go test -run`` takes for each test of a package of whose name ``focus`` is a part.

    Each gets a process of its own, as one whose API server doesn't start ends its process.
    """
    wanted, *subtests = focus.split("/")
    sources = [file.read_text() for file in sorted(folder.glob("*_test.go"))]
    names = [name for source in sources for name in _TEST.findall(source) if re.search(wanted, name)]
    return ["/".join([f"^{name}$", *subtests]) for name in names]


def _attempt(package: str, scheduler: str, test: str, directory: Path) -> dict[str, Outcome]:
    name = binary(package).stem
    extra = {
        "PATH": f"{BIN}:{environment()['PATH']}",
        "SCHEDULER_COMMAND": shlex.join(COMMANDS[scheduler]),
        "SCHEDULER_LACKS": _NOT_FOLLOWED.get(scheduler, ""),
        "SCHEDULER_LOG": str(directory / f"{name}-{scheduler}.log"),
    }
    played = "go", "tool", "test2json", "-t", str(binary(package)), "-test.v=test2json", "-test.timeout=1h"
    log = directory / f"{name}-{scheduler}-{test.split('$', maxsplit=1)[0].strip('^')}.json"
    with log.open("wb") as output:
        subprocess.run(
            [*played, f"-test.run={test}"],
            cwd=MODULE / SUITE / package,
            env=environment(extra),
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    return {f"{package}: {case}": outcome for case, outcome in outcomes(log.read_text().splitlines()).items()}


def outcomes(lines: Iterable[str]) -> dict[str, Outcome]:
    """Return the outcomes of the cases in the lines of test2json; a case is a test without subtests."""
    cases = _cases(lines)
    return {name: _outcome(name, cases) for name in cases if not _has_subtests(name, cases)}


def _cases(lines: Iterable[str]) -> dict[str, _Case]:
    cases: defaultdict[str, _Case] = defaultdict(_Case)
    for line in lines:
        event = json.loads(line) if line.startswith("{") else {}
        if not event.get("Test"):
            continue
        case = cases[event["Test"]]
        if event["Action"] in _ENDED:
            case.result, case.seconds = _ENDED[event["Action"]], event["Elapsed"]
        case.output.append(event.get("Output", ""))
    return dict(cases)


def _has_subtests(name: str, cases: dict[str, _Case]) -> bool:
    return any(other.startswith(f"{name}/") for other in cases)


def _outcome(name: str, cases: dict[str, _Case]) -> Outcome:
    case = cases[name]
    said = "".join(case.output)
    # A scheduler that a test starts for all of its cases says so while any of them runs.
    test = name.split("/", maxsplit=1)[0]
    started = any(_STARTED in line for other in cases if _is_of(other, test) for line in cases[other].output)
    if _REFUSED in said:
        return Outcome(NOT_APPLICABLE, case.seconds, said.split(_REFUSED, 1)[1].splitlines()[0])
    if case.result == "skipped":
        return Outcome("skipped", case.seconds, "by the case itself")
    if why := _not_started(said):
        return Outcome(NOT_STARTED, case.seconds, why[:MAX_MESSAGE])
    if fatal := _FATAL.search(said):
        return Outcome("failed", case.seconds, f"the tests' process ended: {fatal['why']}"[:MAX_MESSAGE])
    if not started:
        return Outcome(NOT_APPLICABLE, case.seconds, "runs no scheduler, or steps one in Go")
    return Outcome(case.result, case.seconds, _why(said) if case.result == "failed" else "")


def _is_of(case: str, test: str) -> bool:
    return case == test or case.startswith(f"{test}/")


def _not_started(output: str) -> str:
    """Return why there was no API server for a case; "" = there was one, or a scheduler ran."""
    if _STARTED in output:
        return ""
    fatal, unhealthy = _FATAL.search(output), _UNHEALTHY.search(output)
    if fatal is not None:
        return f"the tests' process ended: {fatal['why']}"
    return "" if unhealthy is None else unhealthy[0]


def _why(output: str) -> str:
    lines = [" ".join(line.split()) for line in output.splitlines()]
    return next((line for line in lines if "_test.go:" in line or _REJECTED in line), lines[-1])[:MAX_MESSAGE]
