"""The server's nodes by index: read once, then updated with the changes."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from mooring_client.v1.cluster_service_pb2 import ListNodesRequest
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring_client.v1.nodes_pb2 import NODE_FORM_JOINED_NAMES, NodeIndices

NO_NODE = 2**32 - 1
"""The index in an answer for a pod without a node."""


class NodeIndex:
    """Names and indices of one node epoch. Safe from any thread.

    Args:
        stub: The server.
    """

    def __init__(self, stub: ClusterServiceStub) -> None:
        self._stub = stub
        self._lock = threading.Lock()
        self._epoch: int | None = None
        self._names: dict[int, str] = {}
        self._indices: dict[str, int] = {}

    def __len__(self) -> int:
        """Return how many nodes there are."""
        return len(self._names)

    @property
    def epoch(self) -> int | None:
        """The epoch; None before the first ``refresh``."""
        return self._epoch

    def refresh(self, timeout: float) -> None:
        """Read what changed since the epoch, or everything.

        Raises:
            grpc.RpcError: The server could not be reached.
        """
        with self._lock:
            request = ListNodesRequest(since_epoch=self._epoch, form=NODE_FORM_JOINED_NAMES)
            answer = self._stub.ListNodes(request, timeout=timeout)
            gone = self._names.keys() if answer.complete else set(answer.removed_indices)
            # Who reads meanwhile finds the old epoch or the new one, never both.
            names = {index: name for index, name in self._names.items() if index not in gone}
            joined = answer.nodes.joined_names
            names.update(zip(answer.indices, joined.decode().split("\0") if joined else (), strict=True))
            self._names, self._indices = names, {name: index for index, name in names.items()}
            self._epoch = answer.provenance.node_epoch

    def names(self, indices: Iterable[int], epoch: int) -> list[str] | None:
        """Return the names of ``indices``, "" for ``NO_NODE``; None when they belong to another epoch."""
        with self._lock:
            if epoch != self._epoch:
                return None
            return ["" if index == NO_NODE else self._names[index] for index in indices]

    def indices(self, names: Sequence[str]) -> NodeIndices:
        """Return a selection of the nodes of these names; names that the server doesn't have are left out."""
        with self._lock:
            known = [self._indices[name] for name in dict.fromkeys(names) if name in self._indices]
            return NodeIndices(node_epoch=self._epoch or 0, indices=known)
