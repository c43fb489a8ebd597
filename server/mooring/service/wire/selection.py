"""Which nodes a call is about: from the wire's forms to rows of the table, and back."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

import numpy as np
import numpy.typing as npt

from mooring.framework import Int32s, Node, NodeTable, Pod
from mooring.framework.args import FieldError
from mooring.framework.errors import FailedPreconditionError, InvalidArgumentError
from mooring.framework.state import ClusterState
from mooring.framework.view import NodesChangedError
from mooring.runtime.answers import Candidates
from mooring.service.backend import Limits, ObjectDecoder
from mooring.service.wire.columns import put
from mooring.service.wire.node_names import NO_ROW, all_names, fill_names, joined_names, names_of, rows_of
from mooring.service.wire.objects import decode_node, decode_pod, node_of
from mooring_client.v1 import nodes_pb2 as pb

_INDEX_BYTES = 4
_BY_NAME = ("names", "joined_names", "inline")
"""Selections whose nodes have names, to be looked up at once."""
NO_NODES: Int32s = np.zeros(0, np.int32)


class Listing(Enum):
    """When an answer lists the selected nodes."""

    NEVER = auto()
    WHERE_NEEDED = auto()
    ALWAYS = auto()


class Selection:
    """The nodes of one call, in the caller's order. For one thread.

    The rows of ``find_rows`` are true for the state that is evaluated, so they are kept for the answer:
    rows may have other nodes a moment later.

    Attributes:
        state: A private copy of the state when nodes or pods were sent along or left out, else None: the
            live one.
        rows: int32[M] after ``find_rows``: the rows that the selection meant, ``NO_ROW`` where unknown.
        nodes: After ``find_rows``: the selected nodes as the caller wants them named, where the answer
            lists them.
        epoch: After ``find_rows``, or with a private copy: the node epoch of the live state.
    """

    state: ClusterState | None = None
    rows: Int32s = NO_NODES
    nodes: pb.NodeList | None = None
    epoch = 0
    _origin: tuple[int, int] | None = None
    _names: Sequence[str] = ()
    _found = -1, NO_NODES
    _inline: Sequence[Node] = ()

    def __init__(
        self,
        message: pb.NodeSelection,
        live: ClusterState,
        decoder: ObjectDecoder,
        limits: Limits,
        listing: Listing = Listing.WHERE_NEEDED,
    ) -> None:
        self._message = message
        self._live = live
        self._kind = message.WhichOneof("selection") or "all"
        self._form = _form(message.answer_form, self._kind)
        explicit = self._kind not in ("all", "bitmap")
        self._lists = listing is Listing.ALWAYS or (listing is Listing.WHERE_NEEDED and not explicit)
        self._limit = limits.max_selected_nodes
        if self._kind in _BY_NAME or message.assumed_pods:
            self._read(decoder)

    def _read(self, decoder: ObjectDecoder) -> None:
        inline = self._inline = self._inline_nodes(decoder)
        self._names = self._given_names(inline)
        self._check_names()
        self._check_indexed(inline)
        pods = self._assumed_pods(decoder)
        if pods or self._others(self._live.snapshot.nodes):
            self._fork(pods)

    @property
    def everything(self) -> bool:
        """Whether all nodes are meant, whichever there are when the state is read."""
        return self._kind == "all"

    @property
    def covers_all(self) -> bool:
        """Whether all nodes of the live state are meant, be it by name; after ``find_rows``."""
        count = len(self._live.snapshot.nodes.index)
        by_name = len(self.rows) >= count and np.count_nonzero(self.rows != NO_ROW) == count
        return self.everything or bool(by_name)

    @property
    def hypothetical(self) -> bool:
        """Whether nodes or pods were sent along, so that the answer is about no real cluster."""
        return self._kind == "inline" or bool(self._message.assumed_pods)

    def private(self) -> ClusterState:
        """Return the private copy of the state, made now if there is none yet."""
        if self.state is None:
            return self._fork(())
        return self.state

    def leave_out(self, pod: Pod) -> str:
        """Take ``pod`` off its node for this call: it must not count against itself. Return that node;
        "" = it is on none.
        """
        uid = pod.metadata.uid
        node = node_of(self.state or self._live, uid)
        if node:
            self.private().discard(uid)
        return node

    @property
    def candidates(self) -> Candidates:
        """The selected nodes, found by ``find_rows`` in the state that is evaluated."""
        return Candidates(self.find_rows)

    def find_rows(self, state: ClusterState) -> Int32s:
        """int32[N]: the rows of the known nodes among the selected ones, in the caller's order.

        Raises:
            FailedPreconditionError: Indices of another epoch (NODE_EPOCH_STALE).
            InvalidArgumentError: An index that no node has.
            NodesChangedError: Nodes were sent along that were the stored ones and aren't now: a ``private``
                copy has them.
        """
        table = state.snapshot.nodes
        with state.lock:
            if self.state is None and self._others(table):
                raise NodesChangedError
            self.rows = self._selected_rows(table)
            self.epoch = self._origin[1] if self._origin else table.epoch
            if self._lists:
                listed = self._names
                if not listed and self._form != pb.NODE_FORM_INDICES:
                    listed = all_names(table) if self.everything else names_of(table, self.rows)
                self.nodes = self.node_list(listed, self.rows)
        known: Int32s = self.rows[self.rows != NO_ROW]
        return known

    def version(self, evaluated: int) -> int:
        """Return the version of the live state that an answer belongs to: ``evaluated`` without a copy."""
        return self._origin[0] if self._origin else evaluated

    def node_list(self, names: Sequence[str], rows: Int32s | Sequence[int]) -> pb.NodeList:
        """Nodes as the caller wants them named: ``names``, or ``rows`` of the last epoch seen."""
        answer = pb.NodeList()
        self.fill(answer, names, rows)
        return answer

    def fill(self, answer: pb.NodeList, names: Sequence[str], rows: Int32s | Sequence[int]) -> None:
        """``node_list`` in place: a part of a response that is made elsewhere would be copied."""
        if self._form == pb.NODE_FORM_INDICES:
            answer.indices.node_epoch = self.epoch
            put(answer.indices, "indices", rows)
        else:
            fill_names(answer, names, joined=self._form == pb.NODE_FORM_JOINED_NAMES)

    def least_bytes(self, names: Sequence[str]) -> int:
        """How many bytes ``names`` take in an answer, at least."""
        if self._form == pb.NODE_FORM_INDICES:
            return _INDEX_BYTES * len(names)
        return len(names) + sum(map(len, names))

    def all_bytes(self, state: ClusterState) -> int:
        """Return the least bytes that all nodes that can be selected take in an answer."""
        table = state.snapshot.nodes
        with state.lock:
            names = all_names(table) if self.everything else names_of(table, self.find_rows(state))
        return self.least_bytes(names)

    def _selected_rows(self, table: NodeTable) -> Int32s:
        message = self._message
        if self._kind == "all":
            return table.rows()
        if self._kind == "indices":
            return index_rows(table, message.indices, self._limit)
        if self._kind == "bitmap":
            return bitmap_rows(table, message.bitmap, self._limit)
        epoch, rows = self._found
        # Nodes that came and went since have changed the epoch; a private copy may have others.
        return rows if self.state is None and epoch == table.epoch else rows_of(table, self._names)

    def _others(self, table: NodeTable) -> list[Node]:
        """Return the nodes sent along that differ from the stored ones."""
        if not self._inline:
            return []
        index, nodes = table.index, table.nodes
        rows = [index.get(node.metadata.name) for node in self._inline]
        pairs = zip(rows, self._inline, strict=True)
        return [node for row, node in pairs if row is None or nodes[row] is not node]

    def _inline_nodes(self, decoder: ObjectDecoder) -> list[Node]:
        sent = self._message.inline.nodes if self._kind == "inline" else ()
        self._check_count(len(sent))
        return [decode_node(decoder, node, f"nodes.inline.nodes[{at}]") for at, node in enumerate(sent)]

    def _given_names(self, inline: Sequence[Node]) -> Sequence[str]:
        if self._kind == "names":
            return list(self._message.names.names)
        if self._kind == "joined_names":
            return joined_names(self._message.joined_names)
        return [node.metadata.name for node in inline]

    def _check_names(self) -> None:
        self._check_count(len(self._names))
        table = self._live.snapshot.nodes
        with self._live.lock:
            self._found = table.epoch, rows_of(table, self._names)
        if _differ(self._names, self._found[1]):
            return
        first: dict[str, int] = {}
        at = next(at for at, name in enumerate(self._names) if first.setdefault(name, at) != at)
        path = {"names": f"names.names[{at}]", "inline": f"inline.nodes[{at}]"}.get(self._kind, self._kind)
        raise InvalidArgumentError.at(f"nodes.{path}", f"node {self._names[at]!r} is given twice")

    def _check_count(self, count: int) -> None:
        if count > self._limit:
            raise InvalidArgumentError.at(
                f"nodes.{self._kind}", f"{count} nodes are more than the {self._limit} allowed"
            )

    def _check_indexed(self, inline: Sequence[Node]) -> None:
        if self._form != pb.NODE_FORM_INDICES:
            return
        stored = self._live.snapshot.nodes.index
        InvalidArgumentError.raise_if_any(
            FieldError(
                f"nodes.inline.nodes[{at}]",
                f"node {node.metadata.name!r} is not stored and has no index; ask for names",
            )
            for at, node in enumerate(inline)
            if node.metadata.name not in stored
        )

    def _assumed_pods(self, decoder: ObjectDecoder) -> list[Pod]:
        sent = self._message.assumed_pods
        pods = [decode_pod(decoder, pod, f"nodes.assumed_pods[{at}]") for at, pod in enumerate(sent)]
        inline = set(self._names) if self._kind == "inline" else set()
        stored = self._live.snapshot.nodes.index
        InvalidArgumentError.raise_if_any(
            FieldError(f"nodes.assumed_pods[{at}].spec.nodeName", _no_such_place(pod.spec.node_name))
            for at, pod in enumerate(pods)
            if pod.spec.node_name not in inline and pod.spec.node_name not in stored
        )
        return pods

    def _fork(self, pods: Sequence[Pod]) -> ClusterState:
        with self._live.lock:
            self.epoch = self._live.snapshot.nodes.epoch
            self._origin = (self._live.version, self.epoch)
            self.state = self._live.fork(self._others(self._live.snapshot.nodes), pods)
        return self.state


def _differ(names: Sequence[str], rows: Int32s) -> bool:
    """Return whether no name is there twice, given their rows: names with rows differ if these do."""
    known = rows[rows != NO_ROW]
    if len(known) and int(np.bincount(known).max()) > 1:
        return False
    if len(known) == len(rows):
        return True
    unknown = [names[at] for at in np.flatnonzero(rows == NO_ROW).tolist()]
    return len(set(unknown)) == len(unknown)


def _form(asked: pb.NodeForm.ValueType, kind: str) -> pb.NodeForm.ValueType:
    if asked not in _KNOWN_FORMS:
        raise InvalidArgumentError.at("nodes.answer_form", f"{asked} is not a NodeForm")
    return asked or _FORMS.get(kind, pb.NODE_FORM_NAMES)


_KNOWN_FORMS = frozenset(pb.NodeForm.values())

_FORMS = {
    "joined_names": pb.NODE_FORM_JOINED_NAMES,
    "indices": pb.NODE_FORM_INDICES,
    "bitmap": pb.NODE_FORM_INDICES,
}


def _no_such_place(node_name: str) -> str:
    return f"{node_name!r} is neither a stored nor an inline node" if node_name else "is missing"


def index_rows(table: NodeTable, message: pb.NodeIndices, limit: int) -> Int32s:
    """int32[M]: the rows of a selection by indices.

    Raises:
        FailedPreconditionError: They belong to another epoch (NODE_EPOCH_STALE).
        InvalidArgumentError: An index that no node has, a duplicate, or more than ``limit``.
    """
    indices = np.array(message.indices, np.int64)
    rows = _checked(table, message.node_epoch, indices, limit, "nodes.indices")
    selected = np.zeros(table.capacity, np.bool_)
    selected[rows] = True
    if np.count_nonzero(selected) != len(rows):
        _, first = np.unique(rows, return_index=True)
        again = int(np.setdiff1d(np.arange(len(rows)), first)[0])
        raise InvalidArgumentError.at(f"nodes.indices.indices[{again}]", f"{rows[again]} is given twice")
    return rows


def bitmap_rows(table: NodeTable, message: pb.NodeBitmap, limit: int) -> Int32s:
    """int32[M]: the rows of a selection by bitmap; raises as ``index_rows``."""
    octets = np.frombuffer(message.bits, np.uint8)
    # Bits after the last row are only checked for one that no node has.
    inside = octets[: (table.capacity + 7) // 8]
    beyond = np.flatnonzero(octets[len(inside) :])[:1]
    bits = np.flatnonzero(np.unpackbits(inside, bitorder="little"))
    indices = np.concatenate((bits, (beyond + len(inside)) * 8))
    return _checked(table, message.node_epoch, indices, limit, "nodes.bitmap")


def _checked(table: NodeTable, epoch: int, indices: npt.NDArray[np.int64], limit: int, path: str) -> Int32s:
    if epoch != table.epoch:
        raise FailedPreconditionError(
            f"node_epoch {epoch} is not the current {table.epoch}; call ListNodes, translate, repeat",
            reason="NODE_EPOCH_STALE",
            node_epoch=str(table.epoch),
        )
    if len(indices) > limit:
        raise InvalidArgumentError.at(path, f"{len(indices)} nodes are more than the {limit} allowed")
    inside = indices[indices < table.capacity]
    if len(inside) < len(indices) or not table.alive[inside].all():
        first = next(at for at in indices.tolist() if at >= table.capacity or not table.alive[at])
        raise InvalidArgumentError.at(path, f"no node has index {first}")
    return indices.astype(np.int32)
