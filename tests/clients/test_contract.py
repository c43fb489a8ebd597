"""The contract suite: what its judge finds, what its cases cover, and the clients that play it."""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest

from mooring.client_check.cases import cases
from mooring.client_check.playing import CasePlayer, Played, faults
from mooring.client_check.scripted import METHODS
from mooring_client.v1.errors_pb2 import ErrorReason
from tests.cli.commands import call, serving
from tests.clients.building import CLIENTS, built

ROOT = Path(__file__).parents[2]
CASES = {case.name: case for case in cases()}
REPEATS = json.loads((ROOT / "clients/contract/repeats.json").read_text())
DRIVER = str(ROOT / "clients/python/driver")


def test_every_reason_has_a_rule() -> None:
    reasons = {name.removeprefix("ERROR_REASON_") for name in dict(ErrorReason.items())} - {"UNSPECIFIED"}
    assert REPEATS.keys() == reasons


def test_names_are_unique_and_methods_exist() -> None:
    assert [name for name, count in Counter(case.name for case in cases()).items() if count > 1] == []
    served = {entry.method for case in CASES.values() for step in case.steps for entry in step.serve}
    assert served <= {method.name for method in METHODS.values()}


def test_every_rule_has_its_cases() -> None:
    failing = {
        str(entry.fail.reason)
        for case in CASES.values()
        for step in case.steps
        for entry in step.serve
        if entry.fail
    }
    assert REPEATS.keys() <= failing


@pytest.fixture(scope="module")
def played() -> Iterator[dict[str, Played]]:
    """Yield the results of some cases with the Python client."""
    names = (
        "schedule-template",
        "filter-epoch-of-the-answer",
        "repeat-always (OVERLOADED, RESOURCE_EXHAUSTED)",
        "repeat-reset-frame (CANCEL)",
    )
    with CasePlayer([DRIVER]) as stage:
        yield {name: stage.played(CASES[name]) for name in names}


def test_the_judge_finds_nothing_in_what_is_right(played: dict[str, Played]) -> None:
    assert {name: list(faults(CASES[name], each)) for name, each in played.items()} == {
        name: [] for name in played
    }


def changed(played: Played, path: str, value: Any) -> Played:
    """Return the played case with another value at a path such as ``steps.0.printed``; None removes a
    member.
    """
    document = msgspec.to_builtins(deepcopy(played))
    *way, last = (int(key) if key.isdigit() else key for key in path.split("."))
    inner: Any = document
    for step in way:
        inner = inner[step]
    if value is None and isinstance(inner, list):
        inner.pop(int(last))
    else:
        inner[last] = value
    return msgspec.convert(document, Played)


SCHEDULE, FILTER, REPEAT = (
    "schedule-template",
    "filter-epoch-of-the-answer",
    "repeat-always (OVERLOADED, RESOURCE_EXHAUSTED)",
)
WRONG = "arrived at the server, which should not be"
EXTRA = {"method": "ListNodes", "at": "server", "deadline": True, "request": {}}


@pytest.mark.parametrize(
    ("name", "path", "value", "found"),
    [
        pytest.param(
            SCHEDULE,
            "steps.0.printed.result.0.node",
            "n2",
            'result[0].node: expected "n1", found "n2"',
            id="another node",
        ),
        pytest.param(SCHEDULE, "steps.0.printed.result.1", None, "result: expected [", id="a pod too few"),
        pytest.param(
            SCHEDULE,
            "steps.0.printed.result.0.total",
            "300.0",
            "result[0].total: expected 300",
            id="a number as text",
        ),
        pytest.param(SCHEDULE, "steps.0.printed", None, "no line with an object", id="silence"),
        pytest.param(
            SCHEDULE,
            "steps.0.received.0.request.pods.uids",
            ["u1"],
            "request of Schedule.pods.uids: expected",
            id="another request",
        ),
        pytest.param(
            SCHEDULE,
            "steps.0.received.0.deadline",
            False,
            "Schedule arrived without a deadline",
            id="no deadline",
        ),
        pytest.param(SCHEDULE, "ended", 1, "the driver ended with code 1", id="a bad end"),
        pytest.param(SCHEDULE, "ended", None, "the driver went on after the end of its input", id="no end"),
        pytest.param(SCHEDULE, "steps", [], "step 1 was not reached", id="no step"),
        pytest.param(
            FILTER, "steps.0.received.1", None, "ListNodes arrived 0 times, expected 1", id="a call too few"
        ),
        pytest.param(
            FILTER,
            "steps.0.received.1",
            {**EXTRA, "method": "Filter"},
            f"Filter {WRONG}",
            id="the wrong call",
        ),
        pytest.param(
            REPEAT,
            "steps.0.received.0",
            None,
            "OpenSession arrived 0 times, expected 1",
            id="repeated too seldom",
        ),
        pytest.param(REPEAT, "steps.0.received.1", EXTRA, f"ListNodes {WRONG}", id="a call between"),
    ],
)
def test_the_judge_finds(played: dict[str, Played], name: str, path: str, value: Any, found: str) -> None:
    wrong = list(faults(CASES[name], changed(played[name], path, value)))
    assert [fault for fault in wrong if found in fault], wrong


def test_a_driver_that_is_none() -> None:
    with CasePlayer([sys.executable, "-c", "print('hello')"]) as stage:
        assert list(faults(CASES[SCHEDULE], stage.played(CASES[SCHEDULE]))) == [
            "step 1, schedule: no line with an object"
        ]


def test_what_happened_is_judged_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    talk, report = tmp_path / "talk.json", tmp_path / "report.xml"
    wanted = ("conformance", "client", "--case", "schedule-template")
    assert call(capsys, *wanted, "--record", talk, "--", DRIVER).code == 0
    assert call(capsys, *wanted, "--judge", talk, "--junit", report).out == "1 of 1 cases passed\n"
    assert ET.parse(report).getroot().attrib["failures"] == "0"
    talk.write_text(talk.read_text().replace('"total":300', '"total":299'))
    again = call(capsys, *wanted, "--judge", talk, "--junit", report)
    assert again.code == 1
    assert "step 1, schedule: result[0].total: expected 300, found 299" in again.out
    assert ET.parse(report).getroot().attrib["failures"] == "1"
    found = json.loads(call(capsys, *wanted, "--judge", talk, "-o", "json").out)
    assert [len(case["faults"]) for case in found["cases"]] == [2]


def test_clients_are_in_five_languages() -> None:
    assert CLIENTS == ["go", "java", "python", "rust", "typescript"]


EXAMPLES = {
    "go": ("examples/first/main.go", ["go", "run", "./examples/first"]),
    "java": (
        "examples/First.java",
        ["sh", "-c", 'exec java -cp "target/classes:$(cat target/classpath)" examples/First.java $0'],
    ),
    "rust": ("examples/schedule.rs", ["cargo", "run", "--quiet", "--example", "schedule", "--"]),
    "typescript": ("examples/schedule.js", ["node", "examples/schedule.js"]),
}
"""The first example of each language, and how it is run."""


@pytest.mark.parametrize("client", EXAMPLES)
def test_the_page_shows_the_first_example(client: str) -> None:
    file, _ = EXAMPLES[client]
    page = (ROOT / "docs/client-in-ten-minutes.md").read_text()
    assert f"\n{(ROOT / 'clients' / client / file).read_text().strip()}\n```\n" in page


@pytest.mark.clients
@pytest.mark.parametrize(
    "client", [pytest.param(client, marks=pytest.mark.xdist_group(client)) for client in CLIENTS]
)
def test_a_client_plays_the_suite(client: str) -> None:
    folder = built(client)
    done = subprocess.run(
        [sys.executable, "-m", "mooring", "conformance", "client", "--", folder / "driver"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    if client in EXAMPLES:
        with serving() as started:
            command = [*EXAMPLES[client][1], started.address("grpc")]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert re.fullmatch(r"web-1 worker-\w+ *\nweb-2 worker-\w+ *\n", done.stdout), done.stderr
