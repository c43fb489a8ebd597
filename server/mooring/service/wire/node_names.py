"""Lists of node names on the wire, and the rows that they mean."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

import numpy as np

from mooring.framework import Int32s, NodeTable
from mooring.framework.errors import InvalidArgumentError
from mooring_client.v1 import nodes_pb2 as pb

NO_ROW = -1
"""The row of a node that the server does not know."""


def joined_names(joined: bytes) -> list[str]:
    """Return the names of ``NodeSelection.joined_names``.

    Raises:
        InvalidArgumentError: Not UTF-8, or there is a NUL at the end.
    """
    if not joined:
        return []
    if joined.endswith(b"\0"):
        raise InvalidArgumentError.at("nodes.joined_names", "ends with a NUL byte; NUL stands between names")
    try:
        return joined.decode().split("\0")
    except UnicodeDecodeError as error:
        raise InvalidArgumentError.at("nodes.joined_names", f"not UTF-8: {error}") from error


def listed_names(nodes: pb.NodeList) -> list[str]:
    """Return the names in an answer. Raises InvalidArgumentError if it has indices."""
    form = nodes.WhichOneof("nodes")
    if form == "indices":
        raise InvalidArgumentError.at(
            "nodes", "are indices, which only the server can resolve; ask for names"
        )
    return joined_names(nodes.joined_names) if form == "joined_names" else list(nodes.names.names)


def rows_of(table: NodeTable, names: Sequence[str]) -> Int32s:
    """int32[M]: the row of each name, ``NO_ROW`` if no node has it."""
    return np.fromiter(map(table.index.get, names, repeat(NO_ROW)), np.int32, len(names))


def names_of(table: NodeTable, rows: Int32s) -> list[str]:
    """Return the names of ``rows``, "" for ``NO_ROW``."""
    names = table.names
    if (rows == NO_ROW).any():
        return [names[row] if row != NO_ROW else "" for row in rows.tolist()]
    return list(map(names.__getitem__, rows.tolist()))


def all_names(table: NodeTable) -> list[str]:
    """Return ``names_of`` all rows that have a node, at lower cost."""
    return list(filter(None, table.names))


def fill_names(answer: pb.NodeList, names: Sequence[str], *, joined: bool) -> None:
    """Put names into an answer."""
    if joined:
        answer.joined_names = "\0".join(names).encode()
    else:
        # Even without names the answer says in which form they are.
        answer.names.SetInParent()
        answer.names.names.extend(names)
