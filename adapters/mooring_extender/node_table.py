"""The nodes that mooring knows, by the indices that it gives them."""

from __future__ import annotations

from typing import Final

import numpy as np

from mooring_client.v1.cluster_service_pb2 import ListNodesRequest, ListNodesResponse
from mooring_client.v1.nodes_pb2 import NODE_FORM_JOINED_NAMES, NodeIndices, NodeSelection
from mooring_extender.names import Names

MOST_NODES: Final = 1 << 17
"""The nodes of a page, so that one has them all."""

_PACKED: Final = NodeIndices.DESCRIPTOR.fields_by_name["indices"].number << 3 | 2


class NodeTable:
    """Names to indices, of one node epoch of one server. For one event loop. ``epoch`` is None before the
    first list.
    """

    def __init__(self) -> None:
        self.epoch: int | None = None
        self._indices: dict[str, int] = {}
        self._names: dict[int, str] = {}

    def request(self) -> ListNodesRequest:
        """Return the request for ListNodes whose response ``take`` expects."""
        return ListNodesRequest(since_epoch=self.epoch, form=NODE_FORM_JOINED_NAMES, page_size=MOST_NODES)

    def take(self, response: ListNodesResponse) -> None:
        """Follow the server to the epoch of ``response``, its answer to ``request``."""
        if response.complete:
            self._indices.clear()
            self._names.clear()
        for index in response.removed_indices:
            name = self._names.pop(index, None)
            # The name may have another index by now.
            if name is not None and self._indices[name] == index:
                del self._indices[name]
        listed = response.nodes.joined_names
        names = listed.decode().split("\0") if listed else []
        added = dict(zip(names, response.indices, strict=True))
        self._indices.update(added)
        self._names.update(zip(added.values(), added, strict=True))
        self.epoch = response.provenance.node_epoch

    def selection(self, names: Names) -> bytes | None:
        """Return a serialised NodeSelection of ``names``; None when a name has no index here."""
        if self.epoch is None:
            return None
        made = names.selections.get(self.epoch)
        if made is None:
            made = self._made(names, self.epoch)
            if made is not None:
                names.selections = {self.epoch: made}
        return made

    def _made(self, names: Names, epoch: int) -> bytes | None:
        try:
            found = np.fromiter(map(self._indices.__getitem__, names.listed), "<u4", len(names.listed))
        except KeyError:
            return None
        selection = NodeSelection()
        selection.indices.node_epoch = epoch
        # A Python object per index would take ten times as long.
        selection.indices.MergeFromString(bytes([_PACKED]) + _varint(found.nbytes) + found.tobytes())
        return selection.SerializeToString()


def _varint(number: int) -> bytes:
    octets = bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    octets.append(number)
    return bytes(octets)
