"""`mooring config check --extenders FILE --probe` calls each extender as kube-scheduler will call it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from mooring.app.probing import Probed
from tests.scheduler.extenders import http_extender

from .commands import Result, call, write_config

GOOD = {"filter": {"NodeNames": []}, "prioritize": []}


def checked(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *extenders: dict[str, Any],
    flags: tuple[str, ...] = (),
) -> Result:
    ours = write_config(tmp_path / "mooring.yaml", {"schedulerName": "default"})
    theirs = write_config(tmp_path / "theirs.yaml", {"schedulerName": "default"}, extenders=list(extenders))
    return call(capsys, "config", "check", "--extenders", theirs, "--probe", *flags, ours)


def stanza(url: str, **fields: Any) -> dict[str, Any]:
    verbs = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 1}
    return {"urlPrefix": url, "nodeCacheCapable": True, **verbs, **fields}


def test_each_verb_is_asked_that_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with http_extender(GOOD) as there:
        found = checked(tmp_path, capsys, stanza(there.url, bindVerb="bind", preemptVerb="preempt"))
    assert found.code == 0, found.err
    assert [verb for verb, _ in there.requests] == ["filter", "prioritize"]
    said = [line.partition(": answered in ")[0] for line in found.out.splitlines()]
    assert said == ["extenders[0].filterVerb", "extenders[0].prioritizeVerb", "ok"]


@pytest.mark.parametrize(
    ("answers", "field", "fault"),
    [
        pytest.param({**GOOD, "filter": 404}, "filterVerb", "code 404", id="not served"),
        pytest.param({**GOOD, "prioritize": b"<html>"}, "prioritizeVerb", "unreadable body", id="not JSON"),
        pytest.param(
            {**GOOD, "filter": {"Error": "no such pod"}}, "filterVerb", "no such pod", id="an error"
        ),
    ],
)
def test_what_is_no_answer_is_a_fault_of_its_field(
    answers: dict[str, Any], field: str, fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with http_extender(GOOD) as well, http_extender(answers) as there:
        found = checked(tmp_path, capsys, stanza(well.url), stanza(there.url))
    assert found.code == 1
    (line,) = [line for line in found.complaints if "extenders[" in line]
    assert f"extenders[1].{field}: " in line
    assert fault in line
    assert "theirs.yaml:" in line


def test_who_does_not_listen_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with http_extender(GOOD) as there:
        pass
    found = checked(tmp_path, capsys, stanza(there.url))
    assert found.code == 1
    assert found.err.count("Connection refused") == 2


def test_an_answer_that_comes_late_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def slowly(_: object) -> object:
        time.sleep(0.9)
        return GOOD["filter"]

    with http_extender({"filter": slowly}) as there:
        late = stanza(there.url, prioritizeVerb="", httpTimeout="1100ms")
        found = checked(tmp_path, capsys, late)
    assert "filterVerb: " in found.err
    assert ("late under load" in found.err) == (found.code == 0)


@pytest.mark.parametrize(
    ("seconds", "fault", "slow"),
    [(0.75, "", False), (0.76, "", True), (0.76, "refused", False)],
    ids=["in time", "nearly too late", "no answer"],
)
def test_three_quarters_of_the_time_are_slow(seconds: float, fault: str, *, slow: bool) -> None:
    assert Probed("extenders[0].filterVerb", seconds, 1.0, fault).slow is slow


def test_it_has_to_know_whom_to_ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours = write_config(tmp_path / "mooring.yaml", {"schedulerName": "default"})
    found = call(capsys, "config", "check", "--probe", ours)
    assert (found.code, "--probe: needs --extenders" in found.err) == (1, True)
