"""ClusterService: the state, shown and fed."""

from __future__ import annotations

from contextlib import suppress

import grpc
import numpy as np
from google.protobuf.timestamp_pb2 import Timestamp

from mooring.framework import Int32s, Node, NodeTable
from mooring.framework.errors import FailedPreconditionError, InvalidArgumentError
from mooring.framework.handle import address_of
from mooring.framework.label_selector import LabelMatcher
from mooring.framework.objects import Pod
from mooring.framework.sources import SourceStatus
from mooring.service.backend import Backend, PushReceiver
from mooring.service.calls import audit
from mooring.service.calls.access import client_name
from mooring.service.wire.columns import put
from mooring.service.wire.decision_messages import timestamp
from mooring.service.wire.node_names import fill_names, names_of
from mooring.service.wire.objects import known_node, known_pod, label_matcher, manifest_of, pod_reference
from mooring_client.v1 import cluster_service_pb2 as pb
from mooring_client.v1 import nodes_pb2, objects_pb2
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceServicer


class ClusterServicer(ClusterServiceServicer):
    """Answers from one backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def GetClusterInfo(
        self, request: pb.GetClusterInfoRequest, context: grpc.ServicerContext
    ) -> pb.GetClusterInfoResponse:
        backend = self._backend
        state = backend.engine.state
        started = Timestamp()
        started.FromDatetime(backend.start_time)
        configuration = backend.configurations()[-1]
        leader = backend.leadership.leader()
        # Counts are kept as objects come and read without the state's lock: a flood of these questions, as
        # behind /readyz of adapters, holds up no decision.
        return pb.GetClusterInfoResponse(
            provenance=self._provenance(),
            synced=backend.synced(),
            node_count=len(state.snapshot.nodes),
            pod_count=len(state.snapshot.pods),
            pending_pod_count=state.snapshot.pods.pending_count,
            sources=[_source(source) for source in backend.sources()],
            kube_version=backend.kube_version,
            server_version=backend.server_version,
            start_time=started,
            api_server_connected=backend.api_server_connected,
            leads=backend.leadership.is_leader(),
            leader=leader,
            leader_address=address_of(leader),
            configuration_time=timestamp(configuration.begin),
        )

    def ListNodes(self, request: pb.ListNodesRequest, context: grpc.ServicerContext) -> pb.ListNodesResponse:
        self._backend.require_synced()
        if request.form not in nodes_pb2.NodeForm.values():
            raise InvalidArgumentError.at("form", f"{request.form} is not a NodeForm")
        if request.label_selector and request.HasField("since_epoch"):
            raise InvalidArgumentError.at("label_selector", "is given together with since_epoch")
        matcher = label_matcher(request.label_selector, "label_selector")
        state = self._backend.engine.state
        table = state.snapshot.nodes
        with state.lock:
            complete = (
                not request.HasField("since_epoch")
                or not table.first_epoch <= request.since_epoch <= table.epoch
            )
            changed = np.ones(table.capacity, np.bool_) if complete else table.row_epoch > request.since_epoch
            rows = np.flatnonzero(changed & table.alive).astype(np.int32)
            if not matcher.empty:
                rows = np.array([row for row in rows.tolist() if _has_labels(table, row, matcher)], np.int32)
            response = pb.ListNodesResponse(
                provenance=self._provenance(), complete=complete, nodes=_names(table, rows, request.form)
            )
        put(response, "indices", rows)
        if not complete:
            # A row that was given out for the first time is among them: only its new node is news.
            put(response, "removed_indices", np.flatnonzero(changed))
        return response

    def ListPendingPods(
        self, request: pb.ListPendingPodsRequest, context: grpc.ServicerContext
    ) -> pb.ListPendingPodsResponse:
        self._backend.require_synced()
        provenance = self._provenance()
        # Few of a cluster's pods are pending; records are kept as they are, so no decision has to wait.
        pending = self._backend.engine.state.snapshot.pods.pending()
        matcher = label_matcher(request.label_selector, "label_selector")
        wanted = (
            pod
            for pod in pending
            if request.namespace in ("", pod.metadata.namespace) and matcher.matches(pod.metadata.labels)
        )
        return pb.ListPendingPodsResponse(provenance=provenance, pods=map(_pending, wanted))

    def GetObject(self, request: pb.GetObjectRequest, context: grpc.ServicerContext) -> pb.GetObjectResponse:
        self._backend.require_synced()
        state = self._backend.engine.state
        item: Node | Pod
        if request.kind == "Node":
            item = known_node(state, request.name)
        elif request.kind == "Pod":
            reference = objects_pb2.PodReference(namespace=request.namespace, name=request.name)
            item = known_pod(state, reference, "")
        else:
            raise InvalidArgumentError.at("kind", f"must be Node or Pod, got {request.kind!r}")
        document = objects_pb2.KubernetesObject(json=manifest_of(item))
        return pb.GetObjectResponse(provenance=self._provenance(), object=document)

    def PushObjects(
        self, request: pb.PushObjectsRequest, context: grpc.ServicerContext
    ) -> pb.PushObjectsResponse:
        client = client_name(context)
        result = self._pushes().push_objects(request, client)
        if result.applied_count:
            audit.pushed("PushObjects", client, request.source, f"{result.applied_count} events")
        return pb.PushObjectsResponse(
            provenance=self._provenance(),
            next_sequence=result.next_sequence,
            applied_count=result.applied_count,
            warnings=result.warnings,
        )

    def RemoveSource(
        self, request: pb.RemoveSourceRequest, context: grpc.ServicerContext
    ) -> pb.RemoveSourceResponse:
        client = client_name(context)
        self._pushes().remove_source(request, client)
        audit.pushed("RemoveSource", client, request.source, "removed")
        return pb.RemoveSourceResponse(provenance=self._provenance())

    def _pushes(self) -> PushReceiver:
        if self._backend.pushes is None:
            raise FailedPreconditionError(
                "this server takes no pushed objects; start it with --source push", reason="PUSH_DISABLED"
            )
        return self._backend.pushes

    def _provenance(self) -> objects_pb2.Provenance:
        state = self._backend.engine.state
        return self._backend.provenance(state.version, state.snapshot.nodes.epoch)


def _has_labels(table: NodeTable, row: int, matcher: LabelMatcher) -> bool:
    node = table.nodes[row]
    return node is not None and matcher.matches(node.metadata.labels)


def _source(source: SourceStatus) -> pb.SourceInfo:
    return pb.SourceInfo(
        name=source.name,
        synced=source.synced,
        node_count=source.node_count,
        pod_count=source.pod_count,
        session=source.session,
        next_sequence=source.next_sequence,
        error=source.error,
        staleness_seconds=source.staleness,
    )


def _names(table: NodeTable, rows: Int32s, form: nodes_pb2.NodeForm.ValueType) -> nodes_pb2.NodeList | None:
    if form == nodes_pb2.NODE_FORM_INDICES:
        return None
    answer = nodes_pb2.NodeList()
    fill_names(answer, names_of(table, rows), joined=form == nodes_pb2.NODE_FORM_JOINED_NAMES)
    return answer


def _pending(pod: Pod) -> pb.PendingPod:
    meta = pod.metadata
    message = pb.PendingPod(
        pod=pod_reference(pod),
        labels=meta.labels,
        unschedulable=any(
            each.type == "PodScheduled" and each.status == "False" and each.reason == "Unschedulable"
            for each in pod.status.conditions
        ),
    )
    if meta.controller is not None:
        message.controller_kind, message.controller_name = meta.controller.kind, meta.controller.name
    # Manifests may have anything there.
    with suppress(ValueError):
        message.creation_time.FromJsonString(meta.creation_timestamp or "")
    return message
