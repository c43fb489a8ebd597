"""Streams that go on where they ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mooring_client.calls import Calls, Pauses
from mooring_client.v1.cluster_service_pb2 import WatchNodesRequest, WatchNodesResponse
from mooring_client.v1.decision_service_pb2 import WatchDecisionsRequest, WatchDecisionsResponse
from mooring_client.v1.nodes_pb2 import NODE_FORM_NAMES


@dataclass(frozen=True, slots=True)
class NodeUpdate:
    """The nodes of an epoch, or what is different from the epoch before.

    Attributes:
        epoch: The node epoch.
        complete: Whether ``added`` are all nodes; what was known before is void.
        added: Names.
        removed: Names; none if ``complete``.
    """

    epoch: int
    complete: bool
    added: Sequence[str]
    removed: Sequence[str]


def node_updates(calls: Calls, pauses: Pauses) -> Iterator[NodeUpdate]:
    """Yield every node, then what changes.

    Raises:
        CallFailedError: The nodes can't be watched, or time is over.
    """
    request = WatchNodesRequest(form=NODE_FORM_NAMES)
    names: dict[int, str] = {}
    whole = WatchNodesResponse()
    for part, begins in calls.stream(lambda stubs: stubs.cluster.WatchNodes, request, pauses):
        if begins:
            whole = WatchNodesResponse()
        whole.MergeFrom(part)
        if part.more:
            continue
        added = dict(zip(whole.indices, whole.nodes.names.names, strict=True))
        gone = (
            [] if whole.complete else [names.pop(index) for index in whole.removed_indices if index in names]
        )
        names = added if whole.complete else names | added
        request.since_epoch = whole.provenance.node_epoch
        yield NodeUpdate(request.since_epoch, whole.complete, list(added.values()), gone)
        whole = WatchNodesResponse()


def decisions(
    calls: Calls, request: WatchDecisionsRequest, pauses: Pauses
) -> Iterator[WatchDecisionsResponse]:
    """Yield decisions as they are made.

    Raises:
        CallFailedError: They can't be watched, or time is over.
    """
    for answer, _ in calls.stream(lambda stubs: stubs.decisions.WatchDecisions, request, pauses):
        request.after_seq, request.journal_id = answer.next_after_seq, answer.journal_id
        if answer.decisions or answer.missed_count:
            yield answer
