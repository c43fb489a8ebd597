"""States as whole numbers: every field has a range of its own, and a state is one number of mixed radix."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

States: TypeAlias = npt.NDArray[np.uint64]
"""Packed states, shape (states,)."""

Values: TypeAlias = npt.NDArray[np.uint8]
"""The values of one field, shape (states,)."""

Rows: TypeAlias = npt.NDArray[np.intp]
"""Positions in an array of states, shape (rows,)."""

Where: TypeAlias = npt.NDArray[np.bool_]
"""For each state whether something holds, shape (states,)."""

Field: TypeAlias = Hashable


class Layout:
    """Packs fields. Blocks of equal fields that follow each other can be put in order.

    Args:
        head: The fields before the blocks, and how many values each has.
        block: The fields of one block, likewise; in the states they are ``(name, number of the block, ...)``.
        blocks: How many blocks there are.

    Raises:
        ValueError: A state has more than 64 bits.
    """

    def __init__(self, head: Mapping[Field, int], block: Mapping[tuple[str, ...], int], blocks: int) -> None:
        self.fields: dict[Field, tuple[int, int]] = {}
        place = 1
        for name, values in head.items():
            self.fields[name] = place, values
            place *= values
        self._head = place
        for number in range(blocks):
            for (name, *more), values in block.items():
                self.fields[(name, number, *more)] = place, values
                place *= values
            if not number:
                self._block = place // self._head
        if place > 1 << 64:
            raise ValueError(f"a state takes {place.bit_length()} bits, more than 64")

    def unpack(self, states: States) -> dict[Field, Values]:
        """Return the values of every field."""
        found: dict[Field, Values] = {}
        rest = states
        for name, (_, values) in self.fields.items():
            above = rest // np.uint64(values)
            found[name] = (rest - above * np.uint64(values)).astype(np.uint8)
            rest = above
        return found

    def pack(self, values: Mapping[Field, int]) -> int:
        """Return the state with these values; fields that are not given are 0."""
        return sum(self.fields[name][0] * value for name, value in values.items())

    def changed(
        self,
        states: States,
        values: Mapping[Field, Values],
        rows: Rows,
        updates: Mapping[Field, Values | int],
    ) -> States:
        """Return the states at ``rows`` with other values in some fields."""
        found = states[rows]
        for name, new in updates.items():
            place = np.uint64(self.fields[name][0])
            if isinstance(new, np.ndarray):
                found = found + new[rows].astype(np.uint64) * place
            else:
                found = found + np.uint64(new) * place
            found -= values[name][rows].astype(np.uint64) * place
        return found

    def in_order(self, states: States) -> States:
        """Return the states with their two blocks in order: which replica is which does not matter."""
        block, head = np.uint64(self._block), np.uint64(self._head)
        rest = states // head
        above = rest // block
        below = rest - above * block
        low, high = np.minimum(above, below), np.maximum(above, below)
        found: States = states - rest * head + (high * block + low) * head
        return found


def merged(runs: Sequence[States]) -> States:
    """Return sorted arrays of states as one."""
    found = np.concatenate(runs)
    found.sort(kind="stable")
    return found


def distinct(states: States) -> States:
    """Return the different states, sorted; several times as fast as ``np.unique``, which hashes them."""
    found = np.sort(states)
    return found[np.concatenate(([True], found[1:] != found[:-1]))] if len(found) else found
