"""What resource states score, for all evaluations of pods that ask for the same."""

from __future__ import annotations

import numpy as np

from mooring.framework import Int32s, Int64s

UNKNOWN = -2
"""The score of a resource state that was not rated yet."""

_SPARE = 1 << 10
"""Room for this many more ids at least, each time that more are needed."""


class RatedStates:
    """The scores of the resource states of one generation by the plugins that read resources alone.

    Evaluations share it, so it is written under the state's lock. Readers need none: what they don't find
    yet is unknown.

    Attributes:
        generation: That of the ids, as in ``ChangeTracker``.
        values: int32[C], by resource-state id the weighted sum of the scores; ``OUT`` when nodes in this
            state are rejected, ``UNKNOWN`` when it was not rated by itself. Another array when it grows.
    """

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.values: Int32s = np.zeros(0, np.int32)

    def make_room(self, count: int) -> None:
        """Have an entry for each of the first ``count`` ids. The caller holds the state's lock."""
        values = self.values
        if count > len(values):
            larger = np.full(count + max(count // 4, _SPARE), UNKNOWN, np.int32)
            larger[: len(values)] = values
            self.values = larger

    def unknown_among(self, resource_ids: Int32s, count: int) -> Int64s:
        """int64[U]: for each unknown state among the ``resource_ids`` (int32[K]) where in these it is once.

        There are ``count`` ids, and room for them.
        """
        at = np.full(count, -1, np.int64)
        at[resource_ids] = np.arange(len(resource_ids))
        found: Int64s = at[(at >= 0) & (self.values[:count] == UNKNOWN)]
        return found
