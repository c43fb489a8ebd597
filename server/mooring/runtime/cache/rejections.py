"""Why nodes are rejected for the pods of one cached evaluation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.framework import SUCCESS, Int32s, Status

UNKNOWN = 0
"""The code of a row whose reason is not known in its current state."""


_NONE: Int32s = np.zeros(0, np.int32)


class Rejections:
    """Why rows were rejected, as far as known. It is as current as the static scores of the evaluation, for
    rows that have the resources they had. Callers hold the evaluation's lock.

    Args:
        capacity: How many rows there are.
    """

    def __init__(self, capacity: int) -> None:
        self._statuses: dict[Status, int] = {}
        self._capacity = capacity
        self._codes = self._resource_ids = _NONE

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        return self._codes.nbytes + self._resource_ids.nbytes

    def of(self, rows: Int32s, resource_ids: Int32s) -> tuple[Int32s, list[Status]]:
        """int32[K]: why ``rows`` in the states ``resource_ids`` (int32[K]) are rejected, and the statuses.

        Codes are ``UNKNOWN`` or index the statuses, of which all are said, and number 0 is Success.
        """
        if self._codes is _NONE:
            return np.full(len(rows), UNKNOWN, np.int32), [SUCCESS]
        same = self._resource_ids.take(rows, mode="clip") == resource_ids
        codes = np.where(same, self._codes.take(rows, mode="clip"), UNKNOWN)
        said = np.bincount(codes, minlength=1) > 0
        said[UNKNOWN] = True
        statuses = [status for status, code in self._statuses.items() if code < len(said) and said[code]]
        return (np.cumsum(said) - 1).astype(np.int32)[codes], statuses

    def put(self, rows: Int32s, resource_ids: Int32s, codes: Int32s, statuses: Sequence[Status]) -> None:
        """``rows`` (int32[K]) in the states ``resource_ids`` said ``codes``, which index ``statuses``."""
        if self._codes is _NONE:
            self._codes, self._resource_ids = np.zeros((2, self._capacity), np.int32)
            self._statuses[SUCCESS] = UNKNOWN
        known = self._statuses
        lookup = np.array([known.setdefault(status, len(known)) for status in statuses], np.int32)
        self._resource_ids[rows], self._codes[rows] = resource_ids, lookup[codes]
