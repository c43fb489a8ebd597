"""Which nodes a call is about: from the wire's forms to rows of the table, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.framework import ClusterState, Int32s, NodeTable, Pod
from mooring.framework.args import FieldError
from mooring.framework.errors import FailedPreconditionError, InvalidArgumentError
from mooring.service.backend import Limits, ObjectDecoder
from mooring.service.objects import decode_node, decode_pod
from mooring.v1 import nodes_pb2 as pb

NO_ROW = -1
"""The row of a node that the server does not know."""

NO_INDEX = 2**32 - 1
"""How an answer spells "no node" among indices."""

NO_NODES: Int32s = np.zeros(0, np.int32)


class Selection:
    """The nodes of one call, in the caller's order.

    Attributes:
        state: A private copy of the state when nodes or pods were sent along, else None: the live one.
        rows: int32[M] after ``candidates``: the rows that the selection meant, ``NO_ROW`` where unknown.
    """

    def __init__(
        self, message: pb.NodeSelection, live: ClusterState, decoder: ObjectDecoder, limits: Limits
    ) -> None:
        self._message = message
        self._kind = message.WhichOneof("selection") or "all"
        self._names: list[str] = []
        self.rows: Int32s = NO_NODES
        self.state = self._forked(live, decoder)
        self._names = self._selected_names()
        self._check(limits)

    @property
    def implicit(self) -> bool:
        """Whether answers keep the caller's order and need no list of nodes."""
        return self._kind not in ("all", "bitmap")

    def candidates(self, state: ClusterState) -> Int32s:
        """int32[N]: the rows of the known nodes among the selected ones, in the caller's order.

        Raises:
            FailedPreconditionError: Indices of another epoch (NODE_EPOCH_STALE).
            InvalidArgumentError: An index that no node has.
        """
        table = state.snapshot.nodes
        if self._kind == "all":
            self.rows = table.rows()
        elif self._kind == "indices":
            indices = np.array(self._message.indices.indices, np.int64)
            self.rows = _checked_indices(table, self._message.indices.node_epoch, indices)
        elif self._kind == "bitmap":
            bits = np.frombuffer(self._message.bitmap.bits, np.uint8)
            indices = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
            self.rows = _checked_indices(table, self._message.bitmap.node_epoch, indices)
        else:
            index = table.index
            self.rows = np.array([index.get(name, NO_ROW) for name in self._names], np.int32)
        known: Int32s = self.rows[self.rows != NO_ROW]
        return known

    def node_list(self, table: NodeTable, rows: Int32s) -> pb.NodeList:
        """``rows`` as the caller wants nodes named; ``NO_ROW`` is "no node"."""
        form = self._message.answer_form or _FORMS.get(self._kind, pb.NODE_FORM_NAMES)
        if form == pb.NODE_FORM_INDICES:
            indices = np.where(rows == NO_ROW, NO_INDEX, rows.astype(np.int64))
            return pb.NodeList(indices=pb.NodeIndices(node_epoch=table.epoch, indices=indices.tolist()))
        return name_list(names_of(table, rows), joined=form == pb.NODE_FORM_JOINED_NAMES)

    def full_list(self, table: NodeTable) -> pb.NodeList:
        """Every selected node, unknown ones by the name that the caller used."""
        if not self._names or self._message.answer_form == pb.NODE_FORM_INDICES:
            return self.node_list(table, self.rows)
        joined = pb.NODE_FORM_JOINED_NAMES in (self._message.answer_form, _FORMS.get(self._kind))
        return name_list(self._names, joined=joined)

    def answer_list(self, table: NodeTable) -> pb.NodeList | None:
        """The list of the selected nodes where the answer needs one."""
        return None if self.implicit else self.node_list(table, self.rows)

    def _forked(self, live: ClusterState, decoder: ObjectDecoder) -> ClusterState | None:
        message = self._message
        inline = message.inline.nodes if self._kind == "inline" else ()
        if not inline and not message.assumed_pods:
            return None
        nodes = [decode_node(decoder, node, f"nodes.inline.nodes[{at}]") for at, node in enumerate(inline)]
        pods = [
            decode_pod(decoder, pod, f"nodes.assumed_pods[{at}]")
            for at, pod in enumerate(message.assumed_pods)
        ]
        self._names = [node.metadata.name for node in nodes]
        _check_assumed(pods, set(self._names), live)
        return live.fork(nodes, pods)

    def _selected_names(self) -> list[str]:
        if self._kind == "names":
            return list(self._message.names.names)
        if self._kind == "joined_names":
            joined = self._message.joined_names
            try:
                return joined.decode().split("\0") if joined else []
            except UnicodeDecodeError as error:
                raise InvalidArgumentError.at("nodes.joined_names", f"not UTF-8: {error}") from error
        return self._names

    def _check(self, limits: Limits) -> None:
        if len(self._names) > limits.max_selected_nodes:
            raise InvalidArgumentError.at(
                f"nodes.{self._kind}",
                f"{len(self._names)} nodes are more than the {limits.max_selected_nodes} allowed",
            )
        if len(set(self._names)) != len(self._names):
            twice = _first_duplicate(self._names)
            raise InvalidArgumentError.at(f"nodes.{self._kind}", f"node {twice!r} is named twice")


_FORMS = {
    "joined_names": pb.NODE_FORM_JOINED_NAMES,
    "indices": pb.NODE_FORM_INDICES,
    "bitmap": pb.NODE_FORM_INDICES,
}


def names_of(table: NodeTable, rows: Int32s) -> list[str]:
    """The names of ``rows``, "" for ``NO_ROW``."""
    names = table.names
    return [names[row] if row != NO_ROW else "" for row in rows.tolist()]


def name_list(names: Sequence[str], *, joined: bool) -> pb.NodeList:
    """Names in an answer."""
    if joined:
        return pb.NodeList(joined_names="\0".join(names).encode())
    return pb.NodeList(names=pb.NodeNames(names=names))


def _checked_indices(
    table: NodeTable, epoch: int, indices: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> Int32s:
    if epoch != table.epoch:
        raise FailedPreconditionError(
            f"node_epoch {epoch} is not the current {table.epoch}; call ListNodes, translate, repeat",
            reason="NODE_EPOCH_STALE",
            node_epoch=str(table.epoch),
        )
    unknown = indices >= table.capacity
    unknown[~unknown] = ~table.alive[indices[~unknown]]
    if unknown.any():
        raise InvalidArgumentError.at("nodes", f"no node has index {int(indices[unknown][0])}")
    if len(np.unique(indices)) != len(indices):
        raise InvalidArgumentError.at("nodes.indices", "an index is given twice")
    return indices.astype(np.int32)


def _check_assumed(pods: Sequence[Pod], inline: set[str], live: ClusterState) -> None:
    known = live.snapshot.nodes.index
    faults = [
        FieldError(
            f"nodes.assumed_pods[{at}].spec.nodeName",
            f"{pod.spec.node_name!r} is neither a stored nor an inline node",
        )
        for at, pod in enumerate(pods)
        if pod.spec.node_name not in inline and pod.spec.node_name not in known
    ]
    if faults:
        raise InvalidArgumentError(faults)


def _first_duplicate(names: Sequence[str]) -> str:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return ""
