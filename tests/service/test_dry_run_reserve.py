"""A dry run of several pods hands out each device and each volume once, as RESERVE does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.app.options import DecisionOptions, EngineOptions
from mooring.app.replay import replay_of
from mooring.cluster.decoding import from_manifest
from mooring.framework import CycleState, Pod, ReservePlugin, Status
from mooring.plugins.dynamic_resources.plugin import DynamicResources
from mooring.replay.again import Compared, Ending
from mooring.testing.builders import Manifest, make_node, make_pod
from mooring_client.v1 import decision_service_pb2 as decision_pb
from mooring_client.v1 import nodes_pb2
from mooring_client.v1 import scheduling_service_pb2 as pb
from tests.laboratories.histories.over_grpc import decision_at
from tests.plugins import storage
from tests.plugins.test_dynamic_resources import claim, device_class, slice_of
from tests.recordings.recorded import REMEMBERED, recorder_of
from tests.runtime.test_group_claims import GROUP_GATES, VERSION
from tests.runtime.test_group_cycle import IN_GROUP, group
from tests.service.backends import as_json, configuration, direct, world
from tests.service.test_schedule import batch, chosen

GPU = "example.com/gpu"
DRY_RUN, RESERVE = pb.COMMIT_MODE_DRY_RUN, pb.COMMIT_MODE_RESERVE
NODE = make_node("n1")
ONE_DEVICE = slice_of("n1", {})
LOCAL = storage.storage_class("local", provisioner="kubernetes.io/no-provisioner")


def claiming(name: str, claimed: str, **spec: Any) -> Pod:
    wanted = [{"name": "d", "resourceClaimName": claimed}]
    return make_pod(name, spec={"resourceClaims": wanted, **spec})


CASES: dict[str, tuple[list[Manifest], list[Pod]]] = {
    "dry-run-claims": (
        [device_class(), ONE_DEVICE, claim("ca"), claim("cb")],
        [claiming("a", "ca"), claiming("b", "cb")],
    ),
    "dry-run-extended-resource": (
        [device_class(extendedResourceName=GPU), ONE_DEVICE],
        [make_pod(name, requests={GPU: "1"}) for name in "ab"],
    ),
    "dry-run-local-volume": (
        [
            LOCAL,
            storage.volume(storageClassName="local", csi=None, local={"path": "/d"}),
            storage.claim("va", storage_class="local"),
            storage.claim("vb", storage_class="local"),
        ],
        [storage.pod_using(f"v{name}", name=name) for name in "ab"],
    ),
}


def cluster(case: str) -> list[Any]:
    return [NODE, *map(from_manifest, CASES[case][0])]


CLAIMS = "dry-run-claims"


@pytest.mark.parametrize("case", CASES)
def test_two_pods_in_one_call_get_it_once(case: str) -> None:
    with world(*cluster(case)) as w, direct(w.backend) as stubs:
        answers = [
            stubs.scheduling.Schedule(batch(*CASES[case][1], commit_mode=mode, seed=1))
            for mode in (DRY_RUN, RESERVE)
        ]
    dry, reserved = ([decision_at(answer, at) for at in range(2)] for answer in answers)
    assert dry == reserved
    assert chosen(answers[0]) == ["n1", ""]


@pytest.mark.parametrize("case", CASES)
def test_so_they_do_where_nodes_are_sent_along(case: str) -> None:
    sent = nodes_pb2.InlineNodes(nodes=[as_json(make_node("n1", labels={"sent": "along"}))])
    request = batch(*CASES[case][1], nodes=nodes_pb2.NodeSelection(inline=sent))
    with world(*cluster(case)) as w, direct(w.backend) as stubs:
        assert chosen(stubs.scheduling.Schedule(request)) == ["n1", ""]


def test_a_dry_run_takes_nothing_from_the_next_call() -> None:
    with world(*cluster(CLAIMS)) as w, direct(w.backend) as stubs:
        request, version = batch(*CASES[CLAIMS][1]), w.state.version
        first, second = (stubs.scheduling.Schedule(request) for _ in range(2))
        assert w.state.version == version
    assert chosen(first) == chosen(second)


def test_what_reserve_says_is_said_of_the_pod_and_the_next_one_is_decided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reserve = DynamicResources.reserve

    def rejecting(self: DynamicResources, state: CycleState, pod: Pod, node_name: str) -> Status:
        rejected = pod.metadata.name == "a"
        return Status.unschedulable("gone by now") if rejected else reserve(self, state, pod, node_name)

    monkeypatch.setattr(DynamicResources, "reserve", rejecting)
    with world(*cluster(CLAIMS)) as w, direct(w.backend) as stubs:
        answers = [
            stubs.scheduling.Schedule(batch(*CASES[CLAIMS][1], commit_mode=mode))
            for mode in (DRY_RUN, RESERVE)
        ]
    dry, reserved = ([decision_at(answer, at) for at in range(2)] for answer in answers)
    assert dry == reserved
    assert "gone by now" in str(dry[0])
    assert dry[1][0] == "n1"


def test_reserve_of_other_plugins_is_not_called() -> None:
    called: list[str] = []

    class Remembering(ReservePlugin[None]):
        name = "Remembering"

        def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            called.append(pod.metadata.name)
            return Status()

        def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
            called.append(f"not {pod.metadata.name}")

    document = configuration({"plugins": {"multiPoint": {"enabled": [{"name": "Remembering"}]}}})
    with (
        world(*cluster(CLAIMS), plugins=[Remembering], document=document) as w,
        direct(w.backend) as stubs,
    ):
        assert chosen(stubs.scheduling.Schedule(batch(*CASES[CLAIMS][1]))) == ["n1", ""]
        assert not called
        stubs.scheduling.Schedule(batch(*CASES[CLAIMS][1], commit_mode=RESERVE))
    assert called == ["a"]


def groups_of_one() -> tuple[list[Any], list[pb.GroupToSchedule]]:
    """Return two groups, each of a pod that claims a device."""
    objects: list[Any] = []
    asked = []
    for name, claimed in (("g", "ca"), ("h", "cb")):
        one = group(1)
        objects.append(replace(one, metadata=replace(one.metadata, name=name, uid=name)))
        spec = {**IN_GROUP, "schedulingGroup": {"podGroupName": name}}
        objects.append(claiming(f"pod-{name}", claimed, **spec))
        asked.append(pb.GroupToSchedule(namespace="default", name=name))
    return objects, asked


@pytest.mark.parametrize("mode", [DRY_RUN, RESERVE], ids=["dry-run", "reserve"])
def test_groups_of_one_call_get_it_once(mode: pb.CommitMode.ValueType) -> None:
    objects, asked = groups_of_one()
    request = pb.ScheduleGroupsRequest(groups=asked, commit_mode=mode)
    with (
        world(*cluster(CLAIMS), *objects, gates=GROUP_GATES, version=VERSION) as w,
        direct(w.backend) as stubs,
    ):
        answers = stubs.scheduling.ScheduleGroups(request).groups
    assert [[pod.node for pod in answer.pods] for answer in answers] == [["n1"], [""]]


def test_the_decision_about_the_second_pod_is_explained_as_it_was() -> None:
    with world(*cluster(CLAIMS), remembering=DecisionOptions()) as w, direct(w.backend) as stubs:
        stubs.scheduling.Schedule(batch(*CASES[CLAIMS][1]))
        answers = [stubs.decisions.ExplainAt(decision_pb.ExplainAtRequest(seq=seq)) for seq in (1, 2)]
    assert [answer.decision.node for answer in answers] == ["n1", ""]
    assert all(answer.agrees for answer in answers)


def test_a_recording_of_it_comes_out_the_same(tmp_path: Path) -> None:
    with (
        world(*cluster(CLAIMS), remembering=REMEMBERED) as w,
        recorder_of(w, tmp_path),
        direct(w.backend) as stubs,
    ):
        for _ in range(2):
            stubs.scheduling.Schedule(batch(*CASES[CLAIMS][1]))
    replay = replay_of(tmp_path, EngineOptions(kube_version=""), seed=None)
    steps = [step for step in replay.steps() if isinstance(step, Compared)]
    assert [step.message.node for step in steps] == ["n1", ""] * 2
    assert {step.ending for step in steps} == {Ending.SAME}
