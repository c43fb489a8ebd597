from __future__ import annotations

import inspect
from types import ModuleType

import pytest

from mooring.app.options import EngineOptions
from mooring.plugin_check import playing
from mooring.plugin_check.playing import played
from mooring.plugin_check.source import KEEP_IN_STATE
from mooring.plugin_check.subject import Subject
from mooring.testing import make_node, make_pod
from tests.plugin_check import honest_rules, impure_rules, wrong_rules
from tests.plugin_check.test_source import named_lines


def subject(module: ModuleType, name: str) -> Subject:
    return Subject.named(f"{module.__name__}:{name}", {}, EngineOptions())


@pytest.mark.parametrize(
    ("lie", "name", "fault"),
    [
        pytest.param("clock", "Clock", "reads the clock", id="clock"),
        pytest.param("clock", "Date", "reads the clock", id="date"),
        pytest.param("random", "Dice", "reads random numbers", id="random numbers"),
        pytest.param("counter", "Counter", "when it is called again", id="counter on self"),
        pytest.param("global", "Global", "when it is called again", id="global"),
        pytest.param("closure", "Closure", "when it is called again", id="closure"),
        pytest.param("file", "File", "reads a file", id="file"),
        pytest.param("environment", "Environment", "reads the environment", id="environment"),
        pytest.param(
            "address", "Address", "reads a number that differs between processes", id="id of an object"
        ),
        pytest.param("hash", "Hash", "reads a number that differs between processes", id="hash"),
        pytest.param("network", "Network", "reads the network", id="network"),
        pytest.param("memory", "Memory", "than a new object of the class", id="set on self"),
        pytest.param("object", "Boxed", "in another order", id="object that changes"),
    ],
)
def test_each_kind_of_lie_is_caught_by_calls_as_well_as_by_its_text(lie: str, name: str, fault: str) -> None:
    assert named_lines(vars(impure_rules)[name]), lie
    first, *_ = played(subject(impure_rules, name))
    assert fault in first.fault
    assert first.place.rpartition(":")[0] == impure_rules.__file__


def test_a_read_outside_is_stopped_before_it_comes_about(monkeypatch: pytest.MonkeyPatch) -> None:
    def called(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr("socket.create_connection", called)
    (only,) = played(subject(impure_rules, "Network"))
    assert only.place.endswith(f":{max(named_lines(impure_rules.Network))}")


def test_what_the_text_does_not_show_is_caught_by_a_call() -> None:
    assert named_lines(wrong_rules.Late) == set()
    (found,) = played(subject(wrong_rules, "Late"))
    assert found.fault == "reads the network (gethostname)"


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        pytest.param("Raises", playing.ANY_VALUE, id="raises on some nodes"),
        pytest.param("Gpus", playing.ANY_VALUE, id="a resource that no node offers"),
        pytest.param("NoStatus", playing.STATUSES, id="no status"),
        pytest.param("Marks", playing.READ_ONLY, id="changes the pod"),
        pytest.param("MarksPurely", playing.READ_ONLY, id="changes the pod, though pure"),
        pytest.param("Sets", playing.READ_ONLY, id="sets a field"),
        pytest.param("TooMuch", playing.IN_RANGE, id="score out of range"),
        pytest.param("Float", playing.IN_RANGE, id="score is no int"),
        pytest.param("Again", KEEP_IN_STATE, id="another answer each time"),
        pytest.param("First", playing.ORDER, id="order of nodes"),
        pytest.param("Identity", playing.OBJECTS, id="identity of objects"),
        pytest.param("Shared", playing.SHARED, id="threads"),
        pytest.param("Stale", KEEP_IN_STATE, id="keeps what has changed"),
        pytest.param("Undeclared", playing.DECLARED, id="declares too little"),
        pytest.param("Blind", playing.DECLARED, id="declares no other objects"),
        pytest.param("NotTold", playing.ADD_POD, id="preemption"),
        pytest.param("Unprepared", playing.ANY_VALUE, id="preemption raises"),
        pytest.param("Asleep", playing.HINTS, id="missing event"),
    ],
)
def test_a_wrong_answer_is_told_with_what_to_do(name: str, remedy: str) -> None:
    found = played(subject(wrong_rules, name))
    assert {each.remedy for each in found} == {remedy}, found
    assert {each.place.rpartition(":")[0] for each in found} == {wrong_rules.__file__}


def test_a_failure_names_the_line_that_raised() -> None:
    (found,) = played(subject(wrong_rules, "Raises"))
    line = int(found.place.rpartition(":")[2])
    assert "# raises" in inspect.getsource(wrong_rules).splitlines()[line - 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["Label", "CountPerRack", "Free", "Shuffled", "Parsed", "Columns", "Few", "Tenant", "Cool"]
)
def test_nothing_is_said_of_an_honest_rule(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "SEEDS", (1,))
    assert played(subject(honest_rules, name)) == []


def test_a_dump_shows_what_made_up_clusters_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "SEEDS", (1,))
    hidden = subject(wrong_rules, "Hidden")
    assert played(hidden) == []
    (found,) = played(hidden, [make_node("n0", labels={"rack-id": "7"}), make_pod("p0")])
    assert "200" in found.fault
