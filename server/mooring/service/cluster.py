"""ClusterService: the state, shown and fed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

import grpc
import numpy as np
from google.protobuf.timestamp_pb2 import Timestamp

from mooring.audit.event import OK, AuditEvent, AuditKind
from mooring.framework import Int32s, Node, NodeTable
from mooring.framework.errors import FailedPreconditionError, InvalidArgumentError
from mooring.framework.handle import address_of
from mooring.framework.label_selector import EVERYTHING, LabelMatcher
from mooring.framework.objects import Pod
from mooring.framework.sources import SourceStatus
from mooring.service.backend import Backend, PushReceiver
from mooring.service.calls.audit import behind
from mooring.service.calls.pages import PAGE_BYTES, FoundList, ListPage, fill
from mooring.service.pod_list import find_pods, summary
from mooring.service.wire.columns import put
from mooring.service.wire.decision_messages import timestamp
from mooring.service.wire.node_names import fill_names, names_of
from mooring.service.wire.node_usage import UsageColumns, usage_of
from mooring.service.wire.objects import known_node, known_pod, label_matcher, manifest_of, pod_reference
from mooring.serving.access.access import asking_client
from mooring_client.v1 import cluster_service_pb2 as pb
from mooring_client.v1 import nodes_pb2, objects_pb2
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceServicer

NO_ROWS: Final = np.zeros(0, np.int32)

_NODE_BYTES: Final = 8
"""The bytes of a node in an answer besides its name."""


class _FoundNodes(NamedTuple):
    """The nodes of a list.

    Attributes:
        complete: Whether these are all nodes.
        removed: int32[R], the rows that changed; none if complete.
        usage: The resources that the nodes offer; None if the request does not include it.
    """

    provenance: objects_pb2.Provenance
    complete: bool
    names: Sequence[str]
    removed: Int32s
    usage: UsageColumns | None


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
        _check_form(request.form)
        if request.label_selector and request.HasField("since_epoch"):
            raise InvalidArgumentError.at("label_selector", "is given together with since_epoch")
        matcher = label_matcher(request.label_selector, "label_selector")
        since = request.since_epoch if request.HasField("since_epoch") else None
        page = self._backend.pages.page(request, lambda: self._nodes(since, matcher, request.include_usage))
        found, end = page.listing.head, _end_of_page(page)
        response = pb.ListNodesResponse(
            provenance=found.provenance,
            complete=found.complete,
            nodes=_names(found.names[page.start : end], request.form),
            next_page_token=self._backend.pages.next_token(page, end, request),
        )
        put(response, "indices", page.listing.items[page.start : end])
        if found.usage is not None:
            response.usage.CopyFrom(found.usage.message(page.start, end))
        if not page.start:
            put(response, "removed_indices", found.removed)
        return response

    def WatchNodes(
        self, request: pb.WatchNodesRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.WatchNodesResponse]:
        self._backend.require_synced()
        _check_form(request.form)
        table = self._backend.engine.state.snapshot.nodes
        since = request.since_epoch if request.HasField("since_epoch") else None
        while True:
            listing = self._nodes(since, EVERYTHING)
            yield from _pieces(listing, request.form)
            since = listing.head.provenance.node_epoch
            if not self._backend.streams.wait(partial(_has_changed, table, since), context):
                return

    def _nodes(
        self, since: int | None, matcher: LabelMatcher, with_usage: bool = False
    ) -> FoundList[_FoundNodes, int]:
        """Return the nodes with such labels, or what changed since an epoch if that is of this table."""
        state = self._backend.engine.state
        table = state.snapshot.nodes
        with state.lock:
            complete, changed = True, np.ones(table.capacity, np.bool_)
            if since is not None and table.first_epoch <= since <= table.epoch:
                complete, changed = False, table.row_epoch > since
            rows = np.flatnonzero(changed & table.alive).astype(np.int32)
            if not matcher.empty:
                rows = np.array([row for row in rows.tolist() if _has_labels(table, row, matcher)], np.int32)
            names, provenance = names_of(table, rows), self._provenance()
            usage = usage_of(table, rows) if with_usage else None
        # A row that was given out for the first time is among them: only its new node is news.
        removed = NO_ROWS if complete else np.flatnonzero(changed).astype(np.int32)
        head = _FoundNodes(provenance, complete, names, removed, usage)
        return FoundList(head, rows)  # type: ignore[arg-type]  # as a sequence

    def ListPendingPods(
        self, request: pb.ListPendingPodsRequest, context: grpc.ServicerContext
    ) -> pb.ListPendingPodsResponse:
        self._backend.require_synced()
        matcher = label_matcher(request.label_selector, "label_selector")
        page = self._backend.pages.page(request, lambda: self._pending_pods(request.namespace, matcher))
        response = pb.ListPendingPodsResponse(provenance=page.listing.head)
        end = fill(page, response.pods, _pending)
        response.next_page_token = self._backend.pages.next_token(page, end, request)
        return response

    def _pending_pods(self, namespace: str, matcher: LabelMatcher) -> FoundList[objects_pb2.Provenance, Pod]:
        # Records are kept as they are, so no decision has to wait.
        provenance, pending = self._provenance(), self._backend.engine.state.snapshot.pods.pending()
        return FoundList(
            provenance,
            [
                pod
                for pod in pending
                if namespace in ("", pod.metadata.namespace) and matcher.matches(pod.metadata.labels)
            ],
        )

    def ListPods(self, request: pb.ListPodsRequest, context: grpc.ServicerContext) -> pb.ListPodsResponse:
        self._backend.require_synced()
        pods = self._backend.engine.state.snapshot.pods
        page = self._backend.pages.page(request, lambda: find_pods(pods, request, self._provenance()))
        counts = page.listing.head
        response = pb.ListPodsResponse(
            provenance=counts.provenance,
            pod_count=len(page.listing.items),
            unplaced_count=counts.unplaced,
        )
        end = fill(page, response.pods, summary)
        response.next_page_token = self._backend.pages.next_token(page, end, request)
        return response

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
        result = self._pushes().push_objects(request, asking_client().name)
        if result.applied_count:
            self._pushed("PushObjects", request.source, f"{result.applied_count} events")
        return pb.PushObjectsResponse(
            provenance=self._provenance(),
            next_sequence=result.next_sequence,
            applied_count=result.applied_count,
            warnings=result.warnings,
        )

    def RemoveSource(
        self, request: pb.RemoveSourceRequest, context: grpc.ServicerContext
    ) -> pb.RemoveSourceResponse:
        self._pushes().remove_source(request, asking_client().name)
        self._pushed("RemoveSource", request.source, "removed")
        return pb.RemoveSourceResponse(provenance=self._provenance())

    def _pushed(self, call: str, source: str, message: str) -> None:
        """Record that the asking client changed the objects of a source."""
        backend, client = self._backend, asking_client()
        backend.audit.record(
            AuditEvent(
                kind=AuditKind.PUSH,
                call=call,
                who=client.name,
                behind=behind(client),
                peer=client.peer,
                source=source,
                version=backend.engine.state.version,
                outcome=OK,
                message=message,
            )
        )

    def _pushes(self) -> PushReceiver:
        if self._backend.pushes is None:
            raise FailedPreconditionError(
                "this server takes no pushed objects; start it with --source push", reason="PUSH_DISABLED"
            )
        return self._backend.pushes

    def _provenance(self) -> objects_pb2.Provenance:
        state = self._backend.engine.state
        return self._backend.provenance(state.version, state.snapshot.nodes.epoch)


def _has_changed(table: NodeTable, epoch: int) -> bool:
    return table.epoch != epoch


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
        silence_seconds=source.silence,
    )


def _names(names: Sequence[str], form: nodes_pb2.NodeForm.ValueType) -> nodes_pb2.NodeList | None:
    if form == nodes_pb2.NODE_FORM_INDICES:
        return None
    answer = nodes_pb2.NodeList()
    fill_names(answer, names, joined=form == nodes_pb2.NODE_FORM_JOINED_NAMES)
    return answer


def _check_form(form: nodes_pb2.NodeForm.ValueType) -> None:
    if form not in nodes_pb2.NodeForm.values():
        raise InvalidArgumentError.at("form", f"{form} is not a NodeForm")


def _end_of_page(page: ListPage[_FoundNodes, int]) -> int:
    """Return where the next page begins."""
    end = min(len(page.listing.items), page.start + page.most)
    if not page.bounded:
        return end
    head = page.listing.head
    usage_bytes = head.usage.node_bytes if head.usage is not None else 0
    return _end_within(head.names, page.start, end, _NODE_BYTES + usage_bytes)


def _end_within(names: Sequence[str], start: int, end: int, node_bytes: int = _NODE_BYTES) -> int:
    """Return how far the names from ``start`` on fit into a page, with ``node_bytes`` more each."""
    while end - start > 1:
        size = sum(map(len, names[start:end])) + node_bytes * (end - start)
        if size <= PAGE_BYTES:
            return end
        end = start + max(1, int((end - start) * PAGE_BYTES / size * 0.98))
    return end


def _pieces(
    listing: FoundList[_FoundNodes, int], form: nodes_pb2.NodeForm.ValueType
) -> Iterator[pb.WatchNodesResponse]:
    """Yield the nodes in pieces of some megabytes, at least one."""
    found, rows, start = listing.head, listing.items, 0
    while start < len(rows) or not start:
        end = _end_within(found.names, start, len(rows))
        piece = pb.WatchNodesResponse(
            provenance=found.provenance,
            complete=found.complete and not start,
            nodes=_names(found.names[start:end], form),
            more=end < len(rows),
        )
        put(piece, "indices", rows[start:end])
        if not start:
            put(piece, "removed_indices", found.removed)
        yield piece
        if end >= len(rows):
            return
        start = end


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
