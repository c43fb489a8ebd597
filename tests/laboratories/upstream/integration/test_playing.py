"""Lines of test2json about cases that ran against another program, and about those that did not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.laboratories.upstream.integration.playing import (
    NOT_APPLICABLE,
    NOT_STARTED,
    each_test_of,
    outcomes,
)
from tests.laboratories.upstream.suite import Outcome

STARTED = "scheduler process: started\n"
FATAL = 'F1126 01:37:52.621892   17085 hooks.go:203] PostStartHook "priority" failed: timed out\n'


def lines(ended: str, *output: str) -> list[str]:
    said = [{"Action": "output", "Test": "TestCase", "Output": each} for each in output]
    return [json.dumps(each) for each in [*said, {"Action": ended, "Test": "TestCase", "Elapsed": 2.5}]]


@pytest.mark.parametrize(
    ("ended", "output", "outcome"),
    [
        pytest.param("pass", [STARTED], Outcome("passed", 2.5), id="it passed"),
        pytest.param(
            "fail",
            [STARTED, "    some_test.go:12: no node\n"],
            Outcome("failed", 2.5, "some_test.go:12: no node"),
            id="it failed",
        ),
        pytest.param(
            "fail",
            ["NOT APPLICABLE: plugins in Go\n"],
            Outcome(NOT_APPLICABLE, 2.5, "plugins in Go"),
            id="no process can be asked",
        ),
        pytest.param(
            "pass",
            ["ok\n"],
            Outcome(NOT_APPLICABLE, 2.5, "runs no scheduler, or steps one in Go"),
            id="no scheduler ran",
        ),
        pytest.param(
            "fail",
            ["I1126 01:37:51.0 1 a.go:1] on its way\n", FATAL],
            Outcome(
                NOT_STARTED, 2.5, 'the tests\' process ended: PostStartHook "priority" failed: timed out'
            ),
            id="the API server did not start",
        ),
        pytest.param(
            "fail",
            ["    test_server.go:252: context deadline exceeded\n"],
            Outcome(NOT_STARTED, 2.5, "test_server.go:252: context deadline exceeded"),
            id="the API server was not healthy",
        ),
        pytest.param(
            "fail",
            [STARTED, FATAL],
            Outcome("failed", 2.5, 'the tests\' process ended: PostStartHook "priority" failed: timed out'),
            id="the process ended after the scheduler was started",
        ),
    ],
)
def test_what_came_of_a_case(ended: str, output: list[str], outcome: Outcome) -> None:
    assert outcomes(lines(ended, *output)) == {"TestCase": outcome}


@pytest.mark.parametrize(
    ("focus", "tests"),
    [
        pytest.param("", ["^TestTaints$", "^TestBinding$"], id="all"),
        pytest.param("Taint", ["^TestTaints$"], id="a part of the name"),
        pytest.param("TestB/twice", ["^TestBinding$/twice"], id="some of its subtests"),
        pytest.param("Nothing", [], id="none"),
    ],
)
def test_each_test_of_a_package_is_run_by_itself(tmp_path: Path, focus: str, tests: list[str]) -> None:
    (tmp_path / "a_test.go").write_text(
        "func TestMain(m *testing.M) {}\nfunc TestTaints(t *testing.T) {\nfunc helper(t *testing.T) {}\n"
    )
    (tmp_path / "b_test.go").write_text("func TestBinding(t *testing.T) {}\n")
    (tmp_path / "b.go").write_text("func TestNone(t *testing.T) {}\n")
    assert each_test_of(tmp_path, focus) == tests


def test_a_scheduler_that_a_test_starts_for_all_of_its_cases_runs_for_each() -> None:
    said = [
        {"Action": "output", "Test": "TestCase/first", "Output": STARTED},
        {"Action": "pass", "Test": "TestCase/first", "Elapsed": 2.5},
        {"Action": "pass", "Test": "TestCase/second", "Elapsed": 0.5},
        {"Action": "pass", "Test": "TestCase", "Elapsed": 3.0},
    ]
    passed = {"TestCase/first": Outcome("passed", 2.5), "TestCase/second": Outcome("passed", 0.5)}
    assert outcomes(map(json.dumps, said)) == passed
