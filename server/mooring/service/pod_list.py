"""The list of pods, with and without a node."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from mooring.framework.label_selector import LabelMatcher
from mooring.framework.objects import Pod
from mooring.framework.pod_table import PodKind, PodRecord, PodTable
from mooring.service.calls.pages import FoundList
from mooring.service.wire.objects import label_matcher
from mooring_client.v1 import cluster_service_pb2 as pb
from mooring_client.v1 import objects_pb2


class PodListHead(NamedTuple):
    """The head of a list of pods. ``unplaced`` counts the pods without a node."""

    provenance: objects_pb2.Provenance
    unplaced: int


def find_pods(
    table: PodTable, request: pb.ListPodsRequest, provenance: objects_pb2.Provenance
) -> FoundList[PodListHead, PodRecord]:
    """Return the pods that ``request`` is about, those without a node first, then by namespace and name.
    Raises InvalidArgumentError if the label selector is invalid.
    """
    wanted = _matcher(request, label_matcher(request.label_selector, "label_selector"))
    # Records are kept as they are, so no decision has to wait.
    found = [record for record in tuple(table.records.values()) if wanted(record)]
    found.sort(key=lambda record: (bool(record.node_name), record.namespace, record.name))
    unplaced = sum(not record.node_name for record in found)
    return FoundList(PodListHead(provenance, unplaced), found)


def _matcher(request: pb.ListPodsRequest, labels: LabelMatcher) -> Callable[[PodRecord], bool]:
    """Return whether a pod is wanted. Pods of one kind have the same labels and controller."""
    kinds: dict[int, bool] = {}
    node, part = request.node, request.name_part.lower()
    placed = request.placed if request.HasField("placed") else None

    def wanted(record: PodRecord) -> bool:
        if node and record.node_name != node:
            return False
        if placed is not None and bool(record.node_name) is not placed:
            return False
        if part and part not in f"{record.namespace}/{record.name}".lower():
            return False
        of_kind = kinds.get(id(record.kind))
        if of_kind is None:
            of_kind = kinds[id(record.kind)] = _is_wanted(record.kind, request, labels)
        return of_kind

    return wanted


def _is_wanted(kind: PodKind, request: pb.ListPodsRequest, labels: LabelMatcher) -> bool:
    controller = kind.base.template.metadata.controller
    return (
        request.namespace in ("", kind.namespace)
        and request.controller_kind in ("", controller.kind if controller else "")
        and request.controller_name in ("", controller.name if controller else "")
        and (labels.empty or labels.matches(kind.labels))
    )


def summary(record: PodRecord) -> pb.PodSummary:
    """Return the pod as a list shows it."""
    template: Pod = record.kind.base.template
    message = pb.PodSummary(
        pod=objects_pb2.PodReference(namespace=record.namespace, name=record.name, uid=record.uid),
        node=record.node_name,
        assumed=record.assumed,
        priority=template.priority,
        requests=dict(record.kind.usage.requests),
    )
    if (controller := template.metadata.controller) is not None:
        message.controller_kind, message.controller_name = controller.kind, controller.name
    # Manifests may have anything there.
    with suppress(ValueError):
        message.creation_time.FromJsonString(record.creation_timestamp or "")
    return message
