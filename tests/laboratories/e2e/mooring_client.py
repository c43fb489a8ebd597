"""mooring's gRPC API as the tests use it: push what the API server has, ask, bind."""

import json
import uuid
from types import TracebackType
from typing import Self

import grpc

from mooring_client.v1 import cluster_service_pb2 as cluster
from mooring_client.v1 import cluster_service_pb2_grpc as cluster_grpc
from mooring_client.v1 import nodes_pb2 as nodes
from mooring_client.v1 import objects_pb2 as objects
from mooring_client.v1 import scheduling_service_pb2 as scheduling
from mooring_client.v1 import scheduling_service_pb2_grpc as scheduling_grpc

from .api import Api, Manifest

_SECONDS = 10.0


class MooringClient:
    """A channel to one server, closed at the end of its `with` block."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.insecure_channel(address)
        self.cluster = cluster_grpc.ClusterServiceStub(self._channel)
        self.scheduling = scheduling_grpc.SchedulingServiceStub(self._channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._channel.close()

    def push(self, api: Api) -> None:
        """Make the API server's nodes and pods the whole state of the server."""
        begin, end = cluster.SnapshotBegin(), cluster.SnapshotEnd()
        events = [cluster.PushEvent(snapshot_begin=begin)]
        for kind, manifests in (("Node", api.nodes()), ("Pod", api.pods())):
            if manifests:
                encoded = [objects.KubernetesObject(json=json.dumps(item).encode()) for item in manifests]
                events.append(cluster.PushEvent(put=cluster.PutObjects(kind=kind, objects=encoded)))
        events.append(cluster.PushEvent(snapshot_end=end))
        request = cluster.PushObjectsRequest(
            source="e2e", session=uuid.uuid4().hex, first_sequence=1, events=events
        )
        answer = self.cluster.PushObjects(request, timeout=_SECONDS)
        assert answer.applied_count == len(events)

    def schedule(
        self, pod: Manifest, mode: scheduling.CommitMode.ValueType = scheduling.COMMIT_MODE_DRY_RUN
    ) -> scheduling.ScheduleResponse:
        """Schedules one pod that the server knows, with ties."""
        source = objects.PodSource(reference=reference(pod))
        request = scheduling.ScheduleRequest(
            templates=[scheduling.PodTemplate(pod=source)],
            nodes=nodes.NodeSelection(all=nodes.AllNodes()),
            commit_mode=mode,
            include_ties=True,
        )
        return self.scheduling.Schedule(request, timeout=_SECONDS)

    def preferred(self, pod: Manifest) -> list[str]:
        """Return the nodes with the highest total for a pod that the server knows."""
        answer = self.schedule(pod)
        assert answer.verdicts[answer.pod_verdicts[0]].code == 1, answer.verdicts
        return sorted(answer.ties[0].names.names)

    def bind(self, pod: Manifest, node: str) -> scheduling.CommitOutcome.ValueType:
        """Bind the pod; return the BindOutcome, raise grpc.RpcError."""
        request = scheduling.BindRequest(pod=reference(pod), node=node)
        return self.scheduling.Bind(request, timeout=_SECONDS).outcome


def reference(pod: Manifest) -> objects.PodReference:
    """Return the pod by namespace, name and UID."""
    metadata = pod["metadata"]
    return objects.PodReference(namespace=metadata["namespace"], name=metadata["name"], uid=metadata["uid"])
