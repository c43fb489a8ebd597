"""Node names as a question lists them, and the forms in which they are asked about and answered."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import compress
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from mooring_extender import wire

Mask = npt.NDArray[np.bool_]
Columns = npt.NDArray[np.int64]

BEFORE_NAMES: Final = b',"Nodes":null,"NodeNames":'
"""What Go writes after the pod, where nodes come by name; within a string the quotes would be escaped."""

_BETWEEN: Final = '","'
_HOST: Final = '{"Host":"'
_SCORE: Final = '","Score":'
# Two bytes that no JSON has, where a score of one or two digits goes.
_ROOM: Final = "\0\0"
_DIGITS: Final = np.array([[ord(digit) for digit in f"{score:2}"] for score in range(11)], np.uint8)


class Names:
    """A list of node names, at least one. Each form is made when it is asked for the first time.

    Attributes:
        listed: The names.
        array: The same as a JSON array.
        selections: By node epoch, the same as a NodeSelection by index, serialised; one at most.
    """

    def __init__(self, listed: Sequence[str], array: bytes) -> None:
        self.listed = listed
        self.array = array
        self.selections: dict[int, bytes] = {}

    def __len__(self) -> int:
        return len(self.listed)

    @cached_property
    def ending(self) -> bytes:
        """How a question about exactly these names ends, as Go writes it."""
        return b"%s%s}" % (BEFORE_NAMES, self.array)

    @cached_property
    def joined(self) -> bytes:
        """The names as mooring.v1 takes them. ArgumentsError: one is none that a node can have."""
        return wire.joined_names(self.listed, "NodeNames[{}]")

    @cached_property
    def escaped(self) -> Sequence[str]:
        """The names as they stand between the quotes of a JSON string."""
        if b"\\" not in self.array:
            return self.listed
        return msgspec.json.encode(self.listed).decode()[2:-2].split(_BETWEEN)

    def only(self, mask: Mask) -> Names | None:
        """The names where ``mask`` (bool[M]) is true; None when there is none."""
        if mask.all():
            return self
        flags = mask.tolist()
        listed, escaped = list(compress(self.listed, flags)), compress(self.escaped, flags)
        if not listed:
            return None
        return Names(listed, f'["{_BETWEEN.join(escaped)}"]'.encode())

    def priorities(self, scores: Columns) -> bytes:
        """A HostPriorityList: every name with its score, int64[M] of 0..10."""
        text, room = self._host_list
        filled = text.copy()
        filled[room] = _DIGITS[scores]
        return filled.tobytes()

    @cached_property
    def _host_list(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        """A HostPriorityList with room for the scores: uint8[length], int64[M, 2] where."""
        middle = f"{_SCORE}{_ROOM}}},{_HOST}".join(self.escaped)
        text = np.frombuffer(f"[{_HOST}{middle}{_SCORE}{_ROOM}}}]".encode(), np.uint8)
        return text, np.flatnonzero(text == 0).reshape(-1, 2)
