"""Node indices on the wire, and the rows that they mean."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mooring.framework import Int32s, NodeTable
from mooring.framework.errors import FailedPreconditionError, InvalidArgumentError
from mooring.v1 import nodes_pb2 as pb


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
