"""The seeded choices among equals: nodes for a pod, placements for a group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Protocol

import numpy as np

from mooring.framework import GroupPlacement
from mooring.kernels.arrays import UInt64s
from mooring.runtime.cycle.choice import Choice

_MASK = 2**64 - 1


def mix64(seed: int, text: str) -> int:
    """Return a number below 2**64 that depends on ``seed`` and ``text`` alone, the same on every machine.

    It is the first eight bytes, little endian, of BLAKE2b of the UTF-8 text, keyed with the seed's
    eight bytes, little endian.
    """
    keyed = _keyed(seed).copy()
    keyed.update(text.encode())
    return int.from_bytes(keyed.digest(), "little")


def choose(seed: int, uid: str, count: int) -> int:
    """Return which of ``count`` tied nodes, in node-index order, the pod with ``uid`` gets: 0..count-1."""
    return mix64(seed, uid) % count if count > 1 else 0


def mix64_of_each(seed: int, uids: Iterable[str]) -> Sequence[int]:
    """Return ``mix64`` of each, at a lower cost."""
    each: list[int] = mix64_column(seed, uids).tolist()
    return each


def mix64_column(seed: int, uids: Iterable[str]) -> UInt64s:
    """uint64[K]: ``mix64`` of each."""
    copy, digests = _keyed(seed).copy, []
    for uid in uids:
        keyed = copy()
        keyed.update(uid.encode())
        digests.append(keyed.digest())
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


@lru_cache
def _keyed(seed: int) -> blake2b:
    """Return the hash before the text: a copy of it costs half as much as a new one."""
    return blake2b(digest_size=8, key=(seed & _MASK).to_bytes(8, "little"))


class Picks(Protocol):
    """Decides between equals: nodes for a pod, placements for the group."""

    def node(self, placement: GroupPlacement, choice: Choice) -> Choice:
        """Return ``choice``, or the same with another one of its ties."""
        ...

    def placement(self, names: Sequence[str]) -> int:
        """Return which of some placements, equally good, the group gets."""
        ...

    def again(self) -> None:
        """Hear that the group is tried once more now, without those who could make room for it."""
        ...


class SeededPicks:
    """Picks by the seed and the group's UID; nodes as for single pods."""

    def __init__(self, seed: int, uid: str) -> None:
        self._seed = seed
        self._uid = uid

    def node(self, placement: GroupPlacement, choice: Choice) -> Choice:
        """Return ``choice``, which was made by the seed and the pod's UID."""
        return choice

    def placement(self, names: Sequence[str]) -> int:
        """Return one of them, the same for the same group and seed."""
        return choose(self._seed, self._uid, len(names))

    def again(self) -> None:
        """Continue after the last pick."""
