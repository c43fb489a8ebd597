"""The server's nodes by index: read once, then updated with the changes."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from mooring_client.calls import Calls, Pauses
from mooring_client.errors import CallFailedError
from mooring_client.v1.cluster_service_pb2 import ListNodesRequest, ListNodesResponse
from mooring_client.v1.nodes_pb2 import NODE_FORM_NAMES, NodeIndices


class NodeTable:
    """Names and indices of one node epoch. Safe from any thread.

    Args:
        calls: To the server.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._lock = threading.Lock()
        self._epoch: int | None = None
        self._names: dict[int, str] = {}
        self._indices: dict[str, int] = {}

    def refresh(self, pauses: Pauses) -> None:
        """Read what changed since the epoch, or everything.

        Raises:
            CallFailedError: The nodes could not be read.
        """
        with self._lock:
            request = ListNodesRequest(since_epoch=self._epoch, form=NODE_FORM_NAMES)
            answer = listed(self._calls, request, pauses)
            names = {} if answer.complete else dict(self._names)
            for index in answer.removed_indices:
                names.pop(index, None)
            names.update(zip(answer.indices, answer.nodes.names.names, strict=True))
            self._names, self._indices = names, {name: index for index, name in names.items()}
            self._epoch = answer.provenance.node_epoch

    def names(self, indices: NodeIndices) -> list[str] | None:
        """Return the names of ``indices``; None if they belong to another epoch."""
        with self._lock:
            if indices.node_epoch != self._epoch or not self._names.keys() >= set(indices.indices):
                return None
            return [self._names[index] for index in indices.indices]

    def indices(self, names: Sequence[str]) -> NodeIndices | None:
        """Return the indices of ``names``; None if a name is not known."""
        with self._lock:
            if not all(name in self._indices for name in names):
                return None
            return NodeIndices(node_epoch=self._epoch or 0, indices=[self._indices[name] for name in names])


def listed(calls: Calls, request: ListNodesRequest, pauses: Pauses) -> ListNodesResponse:
    """Return the answer to ``request``, all pages in one.

    Raises:
        CallFailedError: The nodes could not be read.
    """
    token = ""
    whole = ListNodesResponse()
    while True:
        request.page_token = token
        try:
            whole.MergeFrom(calls.send(lambda stubs: stubs.cluster.ListNodes, request, pauses))
        except CallFailedError as error:
            if error.reason != "PAGE_TOKEN_STALE" or not token:
                raise
            pauses.before_again(error)
            whole.Clear()
        token = whole.next_page_token
        whole.ClearField("next_page_token")
        if not token and whole.HasField("provenance"):
            return whole
