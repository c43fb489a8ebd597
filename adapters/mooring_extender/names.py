"""Node names as a call lists them, and the forms in which they are sent and answered."""

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
"""Go's bytes between the pod and nodes by name; within a string the quotes would be escaped."""

_BETWEEN: Final = '","'
_NEXT: Final = ',{"Host":"'
# The bytes between a name and the next one, by the score.
_SCORED: Final = np.array([f'","Score":{score}}}{_NEXT}' for score in range(11)], np.object_)


class Names:
    """A list of node names, at least one. The other forms are made on first use.

    Attributes:
        listed: The names.
        array: The same as a JSON array.
        ending: How a question about exactly these names ends, as Go writes it.
        selections: By node epoch, the same as a NodeSelection by index, serialised; one at most.
    """

    def __init__(self, listed: Sequence[str], array: bytes) -> None:
        self.listed = listed
        self.array = array
        self.ending = b"%s%s}" % (BEFORE_NAMES, array)
        self.selections: dict[int, bytes] = {}

    @cached_property
    def joined(self) -> bytes:
        """Return the names in mooring.v1's form. ArgumentsError: the list contains an invalid node name."""
        return wire.joined_names(self.listed, "NodeNames[{}]")

    @cached_property
    def escaped(self) -> Sequence[str]:
        """The names as they stand between the quotes of a JSON string."""
        if b"\\" not in self.array:
            return self.listed
        return msgspec.json.encode(self.listed).decode()[2:-2].split(_BETWEEN)

    def only(self, mask: Mask) -> Names | None:
        """Return the names where ``mask`` (bool[M]) is true; None when there are none."""
        if mask.all():
            return self
        flags = mask.tolist()
        listed, escaped = list(compress(self.listed, flags)), compress(self.escaped, flags)
        if not listed:
            return None
        return Names(listed, f'["{_BETWEEN.join(escaped)}"]'.encode())

    def priorities(self, scores: Columns) -> bytes:
        """Return a HostPriorityList: every name with its score, int64[M] of 0..10."""
        pieces = [""] * (2 * len(self.listed))
        pieces[::2] = self.escaped
        pieces[1::2] = _SCORED[scores].tolist()
        pieces[-1] = pieces[-1].removesuffix(_NEXT)
        return f'[{{"Host":"{"".join(pieces)}]'.encode()
