"""Nodes that come with calls, decoded once while they are the same."""

from __future__ import annotations

from mooring.framework import Node, Pod
from mooring.framework.memory import share_of_memory
from mooring.framework.state import ClusterState
from mooring.service.backend import ObjectDecoder

_BEGINNING = 192
"""Bytes of an object by which it is found again; the name of a node that Go has written is among them."""

_MAX_BYTES = share_of_memory(16, 1 << 27)
"""At this many bytes everything is forgotten; decoded, they take as much again."""


class SentNodes:
    """Implements ``ObjectDecoder`` for one live state. Safe from any thread.

    kube-scheduler without ``nodeCacheCapable`` sends all of its nodes with each call. Bytes that were sent
    before are compared as a whole, and their node is reused. A node that equals the stored one is that
    object, so identity shows that there is nothing to override.
    """

    def __init__(self, decoder: ObjectDecoder, live: ClusterState) -> None:
        self._decoder = decoder
        self._live = live
        self._known: dict[bytes, tuple[str, bytes, Node]] = {}
        self._bytes = 0

    def pod(self, encoding: str, data: bytes, path: str) -> Pod:
        return self._decoder.pod(encoding, data, path)

    def committed_pod(self, encoding: str, data: bytes, path: str) -> Pod:
        return self._decoder.committed_pod(encoding, data, path)

    def node(self, encoding: str, data: bytes, path: str) -> Node:
        beginning = data[:_BEGINNING]
        known = self._known.get(beginning)
        if known is not None and known[1] == data and known[0] == encoding:
            node = known[2]
            if node is self._stored(node):
                return node
        else:
            node = self._decoder.node(encoding, data, path)
        stored = self._stored(node)
        if stored is not None and node == stored:
            node = stored
        self._keep(beginning, encoding, data, node)
        return node

    def _stored(self, node: Node) -> Node | None:
        table = self._live.snapshot.nodes
        row = table.index.get(node.metadata.name)
        return None if row is None else table.nodes[row]

    def _keep(self, beginning: bytes, encoding: str, data: bytes, node: Node) -> None:
        known = self._known.get(beginning)
        self._bytes += len(data) - (len(known[1]) if known else 0)
        if self._bytes > _MAX_BYTES:
            self._known.clear()
            self._bytes = len(data)
        self._known[beginning] = (encoding, data, node)
