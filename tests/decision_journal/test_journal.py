"""The journal of decisions: numbers, budget, and who reads it while others write."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from typing import Any

import grpc
import pytest
from msgspec.structs import replace

from mooring.app.options import DecisionOptions
from mooring.decisions.filters import DecisionFilter
from mooring.decisions.journal import BATCH_ROW_BYTES, RECORD_BYTES, DecisionJournal
from mooring.decisions.pod_sizes import PodSizes
from mooring.decisions.reasons import MOST_CHARACTERS, MOST_REASONS, why_of_status
from mooring.decisions.records import (
    BatchRecord,
    DecisionKind,
    DecisionResult,
    Details,
    Record,
    Why,
)
from mooring.framework import Code, Pod, Status
from mooring.framework.label_selector import parsed
from mooring.runtime.profiles.profile import Profile
from mooring.serving.access.access import CurrentCall, for_call
from mooring.serving.access.clients import Client
from mooring.testing import make_node, make_pod
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.nodes_pb2 import AllNodes, NodeNames, NodeSelection
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.service.backends import listening, sent, world

OWN_CONNECTION = [("grpc.use_local_subchannel_pool", 1)]

REJECTED = Why(Code.UNSCHEDULABLE, reasons=("full",), message="0/1", plugins=("Fit",))


@cache
def profile() -> Profile:
    with world() as w:
        return w.backend.engine.profile()


def record(
    name: str,
    *,
    node: str = "",
    pod: Pod | None = None,
    kind: DecisionKind = DecisionKind.SCHEDULE,
    **where: str,
) -> Record:
    rejected = Details(DecisionResult.UNSCHEDULABLE, REJECTED)
    return Record(
        time=1.5,
        began=1.0,
        kind=kind,
        seed=0,
        pod=pod or make_pod("template", **where),
        profile_key="c/p",
        name=name,
        uid=f"u-{name}",
        node=node,
        written=None if node else rejected,
    )


def batch(*names: str, **labels: str) -> BatchRecord:
    numbers = list(range(len(names)))
    return BatchRecord(
        time=1.5,
        began=1.0,
        kind=DecisionKind.DRY_RUN,
        seed=0,
        templates=[(make_pod("template", labels=labels), profile())],
        indices=[0] * len(names),
        names=names,
        uids=[f"u-{name}" for name in names],
        nodes=[f"n{number}" for number in numbers],
        totals=numbers,
        ties=numbers,
        evaluated=numbers,
        feasible=numbers,
        versions=[7],
        node_epoch=1,
    )


def names(journal: DecisionJournal, after: int, limit: int = 100, **where: Any) -> list[str]:
    found = journal.after(after, limit, DecisionFilter(**where)).decisions
    return [one.name for _, one in found]


def test_decisions_are_numbered_in_order_whether_alone_or_in_a_batch() -> None:
    journal = DecisionJournal()
    assert (journal.first, journal.last) == (1, 0)
    for entry in (record("a"), batch("b", "c"), record("d")):
        journal.add(entry)
    assert (journal.first, journal.last) == (1, 4)
    assert [journal.find(seq).name for seq in (1, 2, 3, 4)] == ["a", "b", "c", "d"]  # type: ignore[union-attr]
    assert journal.find(0) is journal.find(5) is None
    assert [journal.find(seq).details.earlier for seq in (2, 3)] == [0, 1]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("after", "limit", "expected", "looked"),
    [
        pytest.param(0, 100, ["a", "b", "c", "d"], 4, id="all"),
        pytest.param(2, 100, ["c", "d"], 4, id="from within a batch"),
        pytest.param(0, 2, ["a", "b"], 2, id="up to the limit, within a batch"),
        pytest.param(4, 100, [], 4, id="nothing new"),
        pytest.param(9, 100, [], 4, id="of another start"),
    ],
)
def test_what_comes_after_a_number(after: int, limit: int, expected: list[str], looked: int) -> None:
    journal = DecisionJournal()
    for entry in (record("a"), batch("b", "c"), record("d")):
        journal.add(entry)
    found, at, missed = journal.after(after, limit)
    assert ([one.name for _, one in found], at, missed) == (expected, looked, 0)


@pytest.mark.parametrize(
    ("after", "before", "expected", "looked"),
    [
        pytest.param(1, 4, ["b", "c"], 3, id="between"),
        pytest.param(2, 3, [], 2, id="nothing between"),
        pytest.param(3, 2, [], 3, id="the other way round"),
        pytest.param(0, 0, [], 0, id="before the first"),
    ],
)
def test_what_comes_between_two_numbers(after: int, before: int, expected: list[str], looked: int) -> None:
    journal = DecisionJournal()
    for entry in (record("a"), batch("b", "c"), record("d")):
        journal.add(entry)
    found, at, missed = journal.after(after, 100, before=before)
    assert ([one.name for _, one in found], at, missed) == (expected, looked, 0)


@pytest.mark.parametrize(
    ("limit", "before", "expected"),
    [
        pytest.param(100, None, ["a", "b", "c", "d"], id="all"),
        pytest.param(2, None, ["c", "d"], id="the newest two, one of a batch"),
        pytest.param(2, 3, ["a", "b"], id="before one of a batch"),
        pytest.param(2, 1, [], id="before the first"),
    ],
)
def test_the_newest_come_in_order(limit: int, before: int | None, expected: list[str]) -> None:
    journal = DecisionJournal()
    for entry in (record("a"), batch("b", "c"), record("d")):
        journal.add(entry)
    assert [one.name for _, one in journal.newest(limit, None, before)] == expected


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        pytest.param(0, ["tied"], id="tied"),
        pytest.param(9, ["tied"], id="too far"),
        pytest.param(10, ["tied", "second"], id="the next one is as near"),
    ],
)
def test_close_decisions_are_those_that_another_node_nearly_won(most: int, expected: list[str]) -> None:
    journal = DecisionJournal()
    tied = replace(record("tied", node="a"), ties=2)
    near = Details(runner_up="b", runner_up_total=40)
    second = replace(record("second", node="a"), total=50, ties=1, written=near)
    for entry in (tied, second, replace(record("unknown", node="a"), ties=1, total=50), record("none")):
        journal.add(entry)
    assert names(journal, 0, max_margin=most) == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        pytest.param({"pod": "c"}, ["c"], id="pod"),
        pytest.param({"uid": "u-b"}, ["b"], id="uid"),
        pytest.param({"namespace": "other"}, ["e"], id="namespace"),
        pytest.param({"node": "n0"}, ["b"], id="node, of a batch"),
        pytest.param({"node": "n9"}, ["d"], id="node, of one"),
        pytest.param({"results": {DecisionResult.UNSCHEDULABLE}}, ["a", "e"], id="result"),
        pytest.param({"rejecting_plugin": "Fit"}, ["a", "e"], id="rejecting plugin"),
        pytest.param({"kinds": {DecisionKind.BIND}}, [], id="kind"),
        pytest.param({"profile": "p", "pod": "d"}, ["d"], id="two at once"),
        pytest.param({"profile": "q"}, [], id="profile"),
        pytest.param({"labels": parsed("app=web")}, ["b", "c"], id="labels, of a batch"),
        pytest.param({"labels": parsed("!app")}, ["a", "d", "e"], id="labels, of one"),
    ],
)
def test_a_filter_lets_through_what_agrees(where: dict[str, Any], expected: list[str]) -> None:
    journal = DecisionJournal()
    for entry in (
        record("a"),
        batch("b", "c", app="web"),
        record("d", node="n9"),
        record("e", namespace="other"),
    ):
        journal.add(entry)
    assert names(journal, 0, **where) == expected


def test_the_oldest_go_when_the_budget_is_used_up() -> None:
    pod = make_pod("template")
    each = RECORD_BYTES + PodSizes().size([pod])
    journal = DecisionJournal(10 * each)
    for number in range(1, 1_001):
        journal.add(record(f"p{number}", pod=pod))
        assert journal.size <= 10 * each
    assert journal.last == 1_000
    assert 970 <= journal.first <= 994
    assert journal.find(journal.first - 1) is None
    assert names(journal, 0) == [f"p{number}" for number in range(journal.first, 1_001)]


def test_what_was_forgotten_is_missed_once() -> None:
    journal = DecisionJournal(10 * (RECORD_BYTES + PodSizes().size([make_pod("template")])))
    after, seen, missed = 0, 0, 0
    for number in range(200):
        journal.add(record(f"p{number}"))
        if number % 40 == 39:
            found, after, more = journal.after(after, 3)
            seen, missed = seen + len(found), missed + more
    rest = journal.after(after, 1_000)
    assert missed > 0
    assert seen + missed + len(rest.decisions) + rest.missed == journal.last == 200


def test_large_pods_leave_room_for_fewer_decisions() -> None:
    small, large = (make_pod("p", metadata={"annotations": {"a": "x" * size}}) for size in (10, 20_000))
    kept = []
    for pod in (small, large):
        journal = DecisionJournal(10 << 20)
        for number in range(20_000):
            journal.add(record(f"p{number}", pod=pod))
        kept.append(journal.last + 1 - journal.first)
    assert kept[0] > 5_000
    assert 0 < kept[1] < 500


def test_many_reasons_count() -> None:
    journal, spoken = DecisionJournal(), record("a")
    journal.add(spoken)
    before = journal.size
    reasons = tuple(f"reason {number}" for number in range(1_000))
    spoken.own_details().why = Why(Code.UNSCHEDULABLE, reasons=reasons)
    journal.add(spoken)
    assert journal.size - before > 100_000


def test_a_decision_keeps_some_of_very_many_reasons() -> None:
    said = Status.unschedulable(*(f"Insufficient a.b/r{at}" for at in range(30_000)))
    why = why_of_status(said)
    assert why.reasons == said.reasons[:MOST_REASONS]
    assert why.message == said.message[:MOST_CHARACTERS]


def tiny(name: str, kind: DecisionKind) -> Record:
    return record(name, node="n", pod=Pod(), kind=kind)


@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param((DecisionKind.DRY_RUN,), id="dry runs"),
        pytest.param((DecisionKind.FILTER, DecisionKind.SCORE, DecisionKind.PREEMPT), id="questions"),
        pytest.param((DecisionKind.DRY_RUN, DecisionKind.FILTER), id="both"),
    ],
)
def test_questions_push_out_no_commits_that_take_less(kinds: tuple[DecisionKind, ...]) -> None:
    journal = DecisionJournal(budget=200 * RECORD_BYTES)
    commits = [f"commit-{at}" for at in range(12)]
    for name in commits:
        journal.add(tiny(name, DecisionKind.BIND))
    for at in range(1_000):
        journal.add(tiny(f"asked-{at}", kinds[at % len(kinds)]))
    kept = names(journal, 0, 1_000)
    assert [name for name in kept if name in commits] == commits
    assert kept[-1] == "asked-999"
    assert journal.size <= 200 * RECORD_BYTES
    assert len(journal) == len(kept) > 2 * len(commits)


def calls_of(peer: str) -> CurrentCall:
    return CurrentCall(Client(peer=peer))


@pytest.mark.parametrize(
    ("asked", "others"),
    [
        pytest.param(lambda name: tiny(name, DecisionKind.DRY_RUN), 1, id="dry runs"),
        pytest.param(lambda name: tiny(name, DecisionKind.FILTER), 1, id="other questions"),
        pytest.param(lambda name: tiny(name, DecisionKind.SCHEDULE), 1, id="commits"),
        pytest.param(lambda name: batch(*[name] * 30), 1, id="batches"),
        pytest.param(lambda name: tiny(name, DecisionKind.DRY_RUN), 5, id="five clients with as much"),
    ],
)
def test_a_client_pushes_out_no_decisions_of_one_that_has_less(
    asked: Callable[[str], Record | BatchRecord], others: int
) -> None:
    journal = DecisionJournal(budget=200 * RECORD_BYTES)
    mine = [f"mine-{at}" for at in range(12)]
    for at in range(1_200):
        for_call(calls_of(f"greedy {at % others}"), journal.add, asked(f"asked-{at}"))
        if at % 100 == 0:
            for_call(calls_of("modest"), journal.add, tiny(mine[at // 100], asked("").kind))
    kept = names(journal, 0, 10_000)
    assert [name for name in kept if name in mine] == mine
    assert kept[-1] == "asked-1199"
    assert journal.size <= 200 * RECORD_BYTES
    assert len(journal) == len(kept) > 100
    seen = [journal.find(seq) for seq in range(1, journal.last + 1)]
    assert [found.name for found in seen if found is not None] == kept


@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param(NodeSelection(all=AllNodes()), id="in the thread of the call"),
        pytest.param(NodeSelection(names=NodeNames(names=["n"])), id="in a slot"),
    ],
)
def test_calls_are_noted_for_the_client_of_their_connection(nodes: NodeSelection) -> None:
    templates = [pb.PodTemplate(pod=sent(make_pod("p", requests={"cpu": "1m"})))]
    node = make_node("n", allocatable={"cpu": "64", "memory": "256Gi", "pods": "250"})
    budget = DecisionOptions(journal=400 * BATCH_ROW_BYTES)
    with world(node, remembering=budget) as w, listening(w.backend) as address, ExitStack() as both:
        modest, greedy = (
            SchedulingServiceStub(both.enter_context(grpc.insecure_channel(address, OWN_CONNECTION)))
            for _ in range(2)
        )
        alone = pb.PodColumns(template_indices=[0], names=["modest"], uids=["u"])
        for _ in range(5):
            modest.Schedule(pb.ScheduleRequest(templates=templates, pods=alone, nodes=nodes))
        some = [f"greedy-{at}" for at in range(20)]
        batch = pb.PodColumns(template_indices=[0] * 20, names=some, uids=some)
        for _ in range(100):
            greedy.Schedule(pb.ScheduleRequest(templates=templates, pods=batch, nodes=nodes))
        assert w.backend.decisions is not None
        kept = names(w.backend.decisions.journal, 0, 10_000)
    assert kept.count("modest") == 5
    assert 20 < len(kept) < 2_000


def test_each_sort_keeps_its_newest_when_all_have_too_many() -> None:
    journal = DecisionJournal(budget=600 * RECORD_BYTES)
    sorts = (DecisionKind.SCHEDULE, DecisionKind.DRY_RUN, DecisionKind.FILTER)
    for at in range(3_000):
        journal.add(tiny(f"{at}", sorts[at // 100 % 3]))
    kept = [record.kind for _, record in journal.after(0, 1_000).decisions]
    assert all(0.2 < kept.count(sort) / len(kept) < 0.5 for sort in sorts)


def test_what_was_forgotten_in_between_is_missed() -> None:
    journal = DecisionJournal(budget=40 * RECORD_BYTES)
    for at in range(300):
        journal.add(tiny(f"{at}", DecisionKind.BIND if at % 100 == 0 else DecisionKind.DRY_RUN))
    found, looked, missed = journal.after(0, 1_000)
    numbers = [number for number, _ in found]
    assert numbers == sorted(numbers)
    assert {1, 101, 201, 300} <= set(numbers)
    assert (looked, len(found) + missed) == (300, 300)
    gone = next(number for number in range(2, 101) if number not in numbers)
    assert journal.find(gone) is None
    assert journal.find(101).name == "100"  # type: ignore[union-attr]


def test_a_batch_that_is_larger_than_half_the_budget_is_counted_and_not_kept() -> None:
    pod_bytes = PodSizes().size([make_pod("template")])
    journal = DecisionJournal(2 * (pod_bytes + 3 * BATCH_ROW_BYTES))
    journal.add(batch("a", "b"))
    journal.add(batch("c", "d", "e", "f"))
    assert (journal.first, journal.last, journal.dropped) == (1, 2, 4)


def test_noting_waits_for_nobody_who_reads() -> None:
    journal = DecisionJournal()
    with journal._lock:
        for number in range(1_000):
            journal.add(record(f"p{number}"))
    assert (journal.first, journal.last) == (1, 1_000)


def test_a_record_is_found_by_itself() -> None:
    journal, other = DecisionJournal(20 * RECORD_BYTES), record("never noted")
    records = [record(f"p{number}") for number in range(100)]
    for each in records:
        journal.add(each)
    assert journal.number_of(records[-1]) == 100
    assert journal.number_of(records[0]) is journal.number_of(other) is None


def test_whoever_reads_while_others_write_misses_nothing_that_is_kept() -> None:
    journal = DecisionJournal()

    def add() -> None:
        for _ in range(500):
            journal.add(batch("a", "b", "c"))

    writers = [threading.Thread(target=add) for _ in range(3)]
    for writer in writers:
        writer.start()
    seen, at = [], 0
    while at < 4_500:
        found, at, _ = journal.after(at, 100)
        seen += [seq for seq, _ in found]
    for writer in writers:
        writer.join()
    assert seen == list(range(1, 4_501))
