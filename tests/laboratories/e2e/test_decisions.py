"""The decisions of `mooring scheduler`, and the Events that it writes in a real control plane."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
import pytest

from mooring_client.v1 import decision_service_pb2 as pb
from mooring_client.v1 import scheduling_service_pb2 as scheduling_pb
from mooring_client.v1.decision_service_pb2_grpc import DecisionServiceStub
from mooring_client.v1.objects_pb2 import PodReference, PodSource
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.process import free_port, wait_until

from . import objects
from .api import Api
from .control_plane import ControlPlane
from .processes import MooringScheduler

pytestmark = pytest.mark.e2e

MINE = "mooring"
ALONE = {"profiles": [{"schedulerName": MINE}], "leaderElection": {"leaderElect": False}}
RESULTS = {
    "Scheduled": {pb.DECISION_RESULT_SCHEDULED},
    "FailedScheduling": {pb.DECISION_RESULT_UNSCHEDULABLE, pb.DECISION_RESULT_ERROR},
}


def containers(cpu: str) -> list[dict[str, Any]]:
    return [{"name": "main", "image": "registry.example/app:1", "resources": {"requests": {"cpu": cpu}}}]


def events(api: Api) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.items("/apis/events.k8s.io/v1/namespaces/default/events")
    return [event for event in found if event["reason"] in RESULTS]


def test_each_event_has_its_decision(control_plane: ControlPlane, tmp_path: Path) -> None:
    api = control_plane.api
    for number in range(5):
        api.create(objects.node(f"node-{number}"))
    address = f"127.0.0.1:{free_port()}"
    kubeconfig = control_plane.kubeconfig("mooring")
    running = MooringScheduler(tmp_path, kubeconfig, ALONE, f"--grpc-listen={address}")
    with running, grpc.insecure_channel(address) as channel:
        decisions = DecisionServiceStub(channel)
        for number in range(40):
            api.create(objects.pod(f"fits-{number}", schedulerName=MINE, containers=containers("100m")))
        for number in range(10):
            api.create(objects.pod(f"big-{number}", schedulerName=MINE, containers=containers("64")))
        api.create(objects.pod("picky", schedulerName=MINE, nodeSelector={"disk": "fast"}))
        wait_until(lambda: len(events(api)) >= 51, "an event of each pod")
        told = events(api)
        noted = decisions.ListDecisions(pb.ListDecisionsRequest(limit=1_000)).decisions
        for event in told:
            name = event["regarding"]["name"]
            own = [one for one in noted if one.pod.name == name and one.result in RESULTS[event["reason"]]]
            assert own, (name, event["reason"])
            assert own[0].pod.uid == event["regarding"]["uid"]
            if event["reason"] == "Scheduled":
                assert event["note"] == f"Successfully assigned default/{name} to {own[0].node}"
            else:
                assert event["note"] in {one.verdict.message for one in own}
        again = [decisions.ExplainAt(pb.ExplainAtRequest(seq=one.seq)) for one in noted]
        assert [list(one.differences) for one in again if not one.agrees] == []

        groups = decisions.SummarizeReasons(pb.SummarizeReasonsRequest()).groups
        assert {group.reason.reason: group.pod_count for group in groups} == {
            "Insufficient cpu": 10,
            "node(s) didn't match Pod's node affinity/selector": 1,
        }
        queue = decisions.ListQueue(pb.ListQueueRequest())
        waiting = {pod.pod.name: pod for pod in queue.pods}
        assert set(waiting) == {"picky", *(f"big-{number}" for number in range(10))}
        assert "Node/Add" in waiting["picky"].wakes[0].events
        assert waiting["picky"].last_seq == max(one.seq for one in noted if one.pod.name == "picky")

        scheduling = SchedulingServiceStub(channel)
        named = PodReference(namespace="default", name="fits-0")
        explained = scheduling.Explain(scheduling_pb.ExplainRequest(pod=PodSource(reference=named)))
        assert len(explained.nodes.names.names) == 5
        with pytest.raises(grpc.RpcError) as rejected:
            scheduling.Bind(scheduling_pb.BindRequest(pod=named, node="node-0"))
        assert rejected.value.code() is grpc.StatusCode.PERMISSION_DENIED
