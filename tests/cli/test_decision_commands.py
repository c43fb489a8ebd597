"""`mooring decisions`, `why-pending` and `explain --attempt`: what a server remembers of its decisions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mooring.cli import remote
from mooring.cluster.kinds import Put
from mooring.decisions.listed_pod import ListedPod
from mooring.framework import Pod
from mooring.testing import make_node, make_pod
from mooring_client.v1 import decision_service_pb2 as pb_decisions
from mooring_client.v1 import scheduling_service_pb2 as pb
from tests.cli.commands import call
from tests.service.backends import direct, listening, sent, world

STRANGE = "<b>\x1b[31m"
"""A name that a terminal must not take for more than a name."""


def pod(name: str, cpu: str) -> Pod:
    return make_pod(name, requests={"cpu": cpu}, labels={"cpu": cpu}, metadata={"uid": f"u-{name}"})


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Yield the address of a server that has decided about four pods."""
    room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    with world(*(make_node(name, allocatable=room) for name in ("n1.example", "n2.example"))) as w:
        with direct(w.backend) as stubs:
            for each in (pod("web", "1"), pod("big", "64"), pod("web", "2"), pod(STRANGE, "1")):
                request = pb.ScheduleRequest(templates=[pb.PodTemplate(pod=sent(each))])
                stubs.scheduling.Schedule(request)
        with listening(w.backend) as address:
            yield address


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        pytest.param([], [1, 2, 3, 4], id="all"),
        pytest.param(["--pod", "web"], [1, 3], id="pod"),
        pytest.param(["--pod", "pod/big"], [2], id="kind and name"),
        pytest.param(["-n", "other"], [], id="namespace"),
        pytest.param(["--result", "unschedulable"], [2], id="result"),
        pytest.param(["--plugin", "NodeResourcesFit"], [2], id="rejecting plugin"),
        pytest.param(["--limit", "2"], [3, 4], id="the newest"),
        pytest.param(["-A"], [1, 2, 3, 4], id="all namespaces"),
        pytest.param(["--margin", "0"], [1, 3, 4], id="tied"),
        pytest.param(["-l", "cpu=1"], [1, 4], id="labels"),
        pytest.param(["-l", "cpu notin (1, 2)"], [2], id="labels, by a set"),
        pytest.param(["-l", "cpu", "--pod", "web"], [1, 3], id="labels and pod"),
    ],
)
def test_decisions_are_listed_by_filter(
    capsys: pytest.CaptureFixture[str], server: str, flags: list[str], expected: list[int]
) -> None:
    found = call(capsys, "decisions", "--server", server, "-o", "json", *flags)
    assert found.code == 0
    assert [each["seq"] for each in json.loads(found.out)] == expected


def test_nodes_are_named_as_tables_print_them(capsys: pytest.CaptureFixture[str], server: str) -> None:
    def decided(node: str) -> list[int]:
        found = call(capsys, "decisions", "--server", server, "-o", "json", "--node", node)
        return [each["seq"] for each in found.document]

    assert sorted(decided("n1") + decided("n2")) == [1, 3, 4]
    assert (decided("n1"), decided("n2")) == (decided("n1.example"), decided("n2.example"))
    assert decided("gone") == []
    several = call(capsys, "decisions", "--server", server, "--node", "n")
    assert (several.code, several.err) == (
        1,
        "mooring: no node n: 2 names begin with it, n1.example, n2.example\n",
    )


def test_a_table_of_decisions_shows_names_as_text(capsys: pytest.CaptureFixture[str], server: str) -> None:
    found = call(capsys, "decisions", "--server", server)
    assert found.out.splitlines()[0].split() == ["SEQ", "TIME", "POD", "KIND", "RESULT", "NODE", "WHY"]
    assert "\x1b" not in found.out
    assert r"default/<b>\x1b[31m" in found.out
    assert "0/2 nodes are available: 2 Insufficient cpu." in found.out


def test_a_wide_table_says_more(capsys: pytest.CaptureFixture[str], server: str) -> None:
    found = call(capsys, "decisions", "--server", server, "--pod", "web", "-o", "wide", "--limit", "1")
    head, row = found.out.splitlines()
    assert head.split()[7:] == ["PROFILE", "ATTEMPT", "FEASIBLE", "TOOK"]
    assert row.split()[-3:-1] == ["default-scheduler", "2/2"]


def test_where_there_is_no_decision_it_is_said(capsys: pytest.CaptureFixture[str], server: str) -> None:
    found = call(capsys, "decisions", "--server", server, "--pod", "nobody")
    assert (found.code, found.out, found.err) == (
        0,
        "",
        "mooring: no decision was made yet, or none matches\n",
    )


def test_more_decisions_than_a_call_lists_are_asked_for_in_pages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], server: str
) -> None:
    monkeypatch.setattr("mooring.cli.decisions.PAGE", 2)
    for limit, expected in ((1, [4]), (3, [2, 3, 4]), (4, [1, 2, 3, 4]), (9, [1, 2, 3, 4])):
        found = call(capsys, "decisions", "--server", server, "-o", "json", "--limit", str(limit))
        assert [each["seq"] for each in json.loads(found.out)] == expected


def test_a_table_of_decisions_fits_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ending = ".eu-central-1.compute.internal"
    names = [f"ip-10-1-13-{at}{ending}" for at in (12, 13)]
    found = pb_decisions.ListDecisionsResponse(
        decisions=[
            pb_decisions.Decision(seq=1, kind=pb_decisions.DECISION_KIND_SCHEDULE, node=names[0], total=454),
            pb_decisions.Decision(seq=2, node=names[1], total=9, runner_up_node=names[0], runner_up_total=8),
            pb_decisions.Decision(seq=3, kind=pb_decisions.DECISION_KIND_FILTER, evaluated_count=2),
        ]
    )
    monkeypatch.setattr(remote, "decide", lambda *_: found)
    lines = call(capsys, "decisions", columns=80).out.splitlines()
    assert lines[-1] == f"the names of nodes go on with {ending}"
    assert max(map(len, lines)) <= 80
    assert "ip-10-1-13-12" in lines[1]
    assert "1970-01-01 " in lines[1]
    assert "0 of 2 nodes are" in lines[-3]


def test_pending_pods_are_grouped_by_reason(capsys: pytest.CaptureFixture[str], server: str) -> None:
    found = call(capsys, "why-pending", "--server", server)
    assert found.code == 3
    assert "NodeResourcesFit: Insufficient cpu" in found.out
    [group] = json.loads(call(capsys, "why-pending", "--server", server, "-o", "json").out)
    assert (group["pods"], group["nodes"], group["examples"]) == (1, 2, ["default/big"])


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        pytest.param("big", 3, "above all NodeResourcesFit: Insufficient cpu (2 nodes)", id="pending"),
        pytest.param("web", 0, "pod default/web has node n", id="placed"),
        pytest.param("nobody", 1, "nothing is remembered of pod default/nobody", id="unknown"),
    ],
)
def test_one_pod_and_what_became_of_it(
    capsys: pytest.CaptureFixture[str], server: str, name: str, code: int, text: str
) -> None:
    found = call(capsys, "why-pending", name, "--server", server)
    assert (found.code, text in found.out + found.err) == (code, True), found


@pytest.mark.parametrize(
    ("attempt", "code", "text"),
    [
        pytest.param("-1", 0, "selected: ", id="the last one"),
        pytest.param("-2", 0, "selected: ", id="the one before"),
        pytest.param("-3", 1, "no decision about pod default/web is attempt -3", id="none"),
        pytest.param("0", 2, "is not a whole number other than 0", id="zero"),
    ],
)
def test_an_earlier_attempt_is_explained(
    capsys: pytest.CaptureFixture[str], server: str, attempt: str, code: int, text: str
) -> None:
    found = call(capsys, "explain", "web", "--attempt", attempt, "--server", server)
    assert (found.code, text in found.out + found.err) == (code, True), found


def test_an_earlier_attempt_needs_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    found = call(capsys, "explain", "web", "--attempt", "-1", "--manifests", "x")
    assert found.code == 2


@pytest.mark.parametrize(
    ("queued", "said"),
    [
        pytest.param(
            {"place": "unschedulable", "wakes": {"InterPodAffinity": ["AssignedPod/Add"]}, "swept": 3_723.0},
            "no change has woken it since; these may, if the plugin finds that they help: AssignedPod/Add "
            "(InterPodAffinity). Else the sweep tries it again at 01:02:03Z or up to 30 s later",
            id="queue-hint-namespace",
        ),
        pytest.param(
            {"place": "backoff", "ready": 60.0},
            "it is tried again at 00:01:00Z, when its backoff ends",
            id="backoff",
        ),
        pytest.param({"place": "active"}, "it is about to be tried again", id="active"),
        pytest.param(None, "", id="without a queue"),
    ],
)
def test_a_rejected_pod_that_fits_by_now_is_told_when_it_is_tried_again(
    queued: dict[str, Any] | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    waiting = pod("late", "2")
    listed = None if queued is None else [ListedPod(waiting, attempts=1, added=1.0, placed=2.0, **queued)]
    room = {"cpu": "1", "memory": "8Gi", "pods": "10"}
    queue = None if listed is None else lambda: listed
    with world(make_node("n1", allocatable=room), waiting, queue=queue) as w:
        with direct(w.backend) as stubs:
            stubs.scheduling.Schedule(pb.ScheduleRequest(templates=[pb.PodTemplate(pod=sent(waiting))]))
        with listening(w.backend) as address:
            before = call(capsys, "why-pending", "late", "--server", address).out
            w.state.apply("test", [Put(make_node("n2", allocatable={**room, "cpu": "4"}))])
            after = call(capsys, "why-pending", "late", "--server", address).out
    assert "fits now" not in before
    assert "fits now: n2 would take it" in after
    assert said in " ".join(after.split())
