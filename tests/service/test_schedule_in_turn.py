"""Many pods in one step: the same answer, reservations, changes and metrics as pod by pod."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.framework import SUCCESS, CycleState, Part, Pod, ReservePlugin, Status
from mooring.framework.cacheable import CacheablePlugin, Dependencies
from mooring.runtime.cycle.choice import PlacedColumns
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.service.scheduling.committing import Committing
from mooring.service.scheduling.dry_run import DryRun
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.nodes_pb2 import NODE_FORM_INDICES, AllNodes, NodeSelection
from tests.examples import examples
from tests.runtime.test_cached_equals_full import TEMPLATES, ZONE
from tests.service.backends import World, configuration, direct, profile, world
from tests.service.test_schedule import batch, chosen, columns, verdicts

POD_KINDS: dict[str, dict[str, Any]] = {
    **TEMPLATES,
    "too large": {"requests": {"cpu": "99"}},
    "gated": {"spec": {"schedulingGates": [{"name": "later"}]}},
    "with a claim": {"spec": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}]}},
}
NODES = [
    make_node(f"n{at}", labels={ZONE: f"z{at % 2}"}, allocatable={"cpu": "4", "memory": "9Gi", "pods": 5})
    for at in range(4)
]
COUNTED = (
    "mooring_dry_runs_total",
    "mooring_schedule_attempts_total",
    "mooring_scheduling_attempt_duration_seconds_count",
    "mooring_scheduling_algorithm_duration_seconds_count",
)

Known = tuple[int, str]


@st.composite
def requests(draw: st.DrawFn) -> tuple[list[str], list[int], list[Known]]:
    """Templates, the template of each pod, and what a source has of some pods."""
    names = draw(st.lists(st.sampled_from(sorted(POD_KINDS)), min_size=1, max_size=3))
    runs = st.tuples(st.integers(0, len(names) - 1), st.integers(1, 8))
    indices = [index for index, count in draw(st.lists(runs, min_size=1, max_size=3)) for _ in range(count)]
    known = st.tuples(st.integers(0, 12), st.sampled_from(("waits", "has a node", "is another", "leaves")))
    return names, indices, draw(st.lists(known, max_size=3, unique_by=lambda one: one[0]))


def delivered(names: Sequence[str], indices: Sequence[int], known: Sequence[Known]) -> list[Pod]:
    pods = []
    for at, what in known:
        if at < len(indices):
            kind = POD_KINDS[names[indices[at]]]
            metadata = {"uid": f"other-{at}" if what == "is another" else f"p{at}"}
            if what == "leaves":
                metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            placed = {"node": "n1"} if what == "has a node" else {}
            pods.append(make_pod(f"p{at}", metadata=metadata, **placed, **kind))
    return pods


def what_becomes_of(w: World, request: pb.ScheduleRequest) -> tuple[object, ...]:
    """Return the answer, and what the call left behind."""
    since = w.state.version
    with direct(w.backend) as stubs:
        answer = stubs.scheduling.Schedule(request)
    reservations = [w.backend.committer.reservations.find_reservation(uid) for uid in request.pods.uids]
    counted = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for metric in w.backend.metrics.registry.collect()
        for sample in metric.samples
        if sample.name in COUNTED or ("Reserve" in sample.labels.values() and "total" in sample.name)
    }
    kept = [one and (one.commit.pod, one.commit.node_name, one.stage, one.owner) for one in reservations]
    return answer, kept, w.state.changes_since(since), w.state.snapshot.pods.records, counted


@examples(80)
@given(requests(), st.sampled_from((pb.COMMIT_MODE_DRY_RUN, pb.COMMIT_MODE_RESERVE)))
def test_places_are_those_of_one_pod_after_the_other(
    asked: tuple[list[str], list[int], list[Known]], mode: pb.CommitMode.ValueType
) -> None:
    names, indices, _ = asked
    uids = [f"p{at}" for at in range(len(indices))]
    request = batch(
        *(make_pod("template", **POD_KINDS[name]) for name in names),
        pods=pb.PodColumns(template_indices=indices, uids=uids, names=uids),
        commit_mode=mode,
        seed=7,
    )
    found = []
    for alone in (False, True):
        with pytest.MonkeyPatch.context() as patch, world(*NODES, *delivered(*asked)) as w:
            if alone:
                patch.setattr(Committing, "_decide_some", lambda *_: 0)
                patch.setattr(DryRun, "_decide_some", lambda *_: 0)
                patch.setattr(DryRun, "decide_at_once", lambda *_: None)
            found.append(what_becomes_of(w, request))
    assert found[0] == found[1]


def test_indices_are_of_the_moment_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    request = batch(
        make_pod("template", requests={"cpu": "1"}),
        pods=columns(4),
        commit_mode=pb.COMMIT_MODE_RESERVE,
        nodes=NodeSelection(all=AllNodes(), answer_form=NODE_FORM_INDICES),
    )
    with world(*NODES) as w, direct(w.backend) as stubs:
        committer, before = w.backend.committer, w.state.snapshot.nodes.names
        place = committer.place_reserved_in_turn

        def come_and_go(*args: Any, **named: Any) -> PlacedColumns:
            choices = place(*args, **named)
            if choices:
                w.put(NODES[3])
                w.put(*NODES[2:])
                w.put(*NODES)
            return choices

        monkeypatch.setattr(committer, "place_reserved_in_turn", come_and_go)
        answer = stubs.scheduling.Schedule(request)
        reserved = map(committer.reservations.find_reservation, request.pods.uids)
        names = w.state.snapshot.nodes.names
    assert names != before
    assert answer.nodes.indices.node_epoch == w.state.snapshot.nodes.epoch
    nodes = [names[index] for index in answer.nodes.indices.indices]
    assert nodes == [one and one.commit.node_name for one in reserved]


def test_a_place_that_a_plugin_rejects_is_free_again() -> None:
    class Rejecting(ReservePlugin[None], CacheablePlugin):
        name = "Rejecting"

        def dependencies(self, pod: Pod) -> Dependencies:
            return Dependencies(signature=(), parts=Part.NONE)

        def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            return Status.unschedulable("no") if pod.metadata.uid in ("p1", "p4") else SUCCESS

        def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
            """Nothing was kept."""

    pods = pb.PodColumns(template_indices=[0] * 6, uids=[f"p{at}" for at in range(6)])
    request = batch(make_pod("template"), pods=pods, commit_mode=pb.COMMIT_MODE_RESERVE)
    node = make_node("small", allocatable={"cpu": "1", "pods": 4})
    document = configuration(profile("Rejecting", "NodeResourcesFit"))
    with world(node, plugins=[Rejecting], document=document) as w, direct(w.backend) as stubs:
        before = w.state.version
        answer = stubs.scheduling.Schedule(request)
        assert [bool(name) for name in chosen(answer)] == [True] * 6
        rejected = [at for at, verdict in enumerate(verdicts(answer)) if verdict == "UNSCHEDULABLE"]
        assert rejected == [1, 4]
        assert w.state.snapshot.pods.classes.uids_on(0) == ["p0", "p2", "p3", "p5"]
        assert len(w.backend.committer.reservations) == 4
        # Six came and two left; no caller sees a pod that is decided before another's place was rejected.
        assert w.state.version == before + 8


def test_plain_pods_are_reserved_in_one_step_for_their_owner() -> None:
    with world(*NODES) as w:
        template = make_pod("template", requests={"cpu": "10m"}), w.backend.engine.profile()
        names = [f"p{at}" for at in range(9)]
        place = w.backend.committer.place_reserved_in_turn
        placed = place([template], [0] * 9, names, names, seed=1, owner="somebody")
        found = [w.backend.committer.reservations.find_reservation(uid) for uid in names]
        assert [one and (one.commit.pod.metadata.uid, one.commit.node_name, one.owner) for one in found] == [
            (uid, choice.node_name, "somebody") for uid, choice in zip(names, placed, strict=True)
        ]
        assert found == [w.backend.committer.reservations.find_reservation(uid) for uid in names]
        assert not place([template], [0] * 9, names, names, seed=1, owner="somebody")
        w.backend.committer.reservations.lock_pod("q1", NoDeadline())
        assert len(place([template], [0] * 3, ["q0", "q1", "q2"], ["q0", "q1", "q2"])) == 1


@pytest.mark.parametrize(
    ("indices", "slots"), [([0], 0), ([0, 0, 0], 0), ([0, 0, 1, 0], 1)], ids=["a pod", "a batch", "a plugin"]
)
def test_pods_for_which_no_plugin_is_called_are_reserved_without_a_slot(
    indices: list[int], slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first pod on for which one has to be called, they are reserved in a slot."""
    claims = POD_KINDS["with a claim"]
    with world(*NODES) as w, direct(w.backend) as stubs:

        def reserve(prefix: str, some: Sequence[int]) -> pb.ScheduleResponse:
            names = [f"{prefix}{at}" for at in range(len(some))]
            pods = pb.PodColumns(template_indices=some, uids=names, names=names)
            templates = make_pod("plain", requests={"cpu": "10m"}), make_pod("claims", **claims)
            request = batch(*templates, pods=pods, commit_mode=pb.COMMIT_MODE_RESERVE)
            answer: pb.ScheduleResponse = stubs.scheduling.Schedule(request)
            return answer

        # Five pods are one a node, and then what nodes are like that have two is known.
        for use in range(5):
            reserve(f"use-{use}-", [0])
        run = Mock(wraps=w.backend.commit_slots.run)
        monkeypatch.setattr(w.backend.commit_slots, "run", run)
        answer = reserve("p", indices)
        assert run.call_count == slots
        assert [bool(name) for name in chosen(answer)] == [not index for index in indices]
        kept = [w.backend.committer.reservations.find_reservation(f"p{at}") for at in range(len(indices))]
        assert [one is not None for one in kept] == [not index for index in indices]
