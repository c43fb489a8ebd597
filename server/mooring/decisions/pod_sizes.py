"""Estimates of pods' sizes in memory, without measuring each."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.json import encode

from mooring.framework import Pod

MEASURED_ONE_IN = 128
"""One in this many pods is measured, since that takes longer than noting a decision."""

BYTES_IN_MEMORY = 3
"""The approximate bytes in memory for a byte of a pod's JSON."""

FIRST_GUESS = 2_048
"""The assumed bytes of a pod until some were measured."""

MOST_MEASURED = 64
"""After this many measurements the older ones count for half."""


class PodSizes:
    """The size of the pods that come by: that of the last ones that were measured. For one thread."""

    def __init__(self) -> None:
        self._next = 0
        self._measured = 1.0
        self._total = float(FIRST_GUESS)

    def size(self, pods: Sequence[Pod]) -> int:
        """Return what these take."""
        for pod in pods[self._next :: MEASURED_ONE_IN]:
            self._total += len(encode(pod)) * BYTES_IN_MEMORY
            self._measured += 1
        self._next = (self._next - len(pods)) % MEASURED_ONE_IN
        if self._measured > MOST_MEASURED:
            self._total, self._measured = self._total / 2, self._measured / 2
        return int(len(pods) * self._total / self._measured)
