"""Filter's verdicts about a pod that no node takes, for later pods like it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mooring.framework import Int32s, Int64s, Part, PostFilterPlugin, Status
from mooring.framework.row_versions import AsOf, LikePods
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.filters_read import filters_read, lasting

_MAX_BYTES = 64 << 20
"""When all verdicts take more bytes than this, they are forgotten."""

_REASON_BYTES = 80
"""The bytes of a reason: a pod may name tens of thousands of things that nodes lack."""


@dataclass(frozen=True, slots=True)
class EarlierVerdicts:
    """Filter's verdicts about one pod.

    Attributes:
        skipped: The PreFilter plugins that skipped then.
        read: The parts that the others read.
        rows: int32[N], the candidates.
        versions: int64[N], the versions that they had.
        codes: int32[N], an index into ``statuses``.
    """

    skipped: frozenset[str]
    read: Part
    rows: Int32s
    versions: Int64s
    codes: Int32s
    statuses: tuple[Status, ...]

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays and reasons."""
        arrays = self.rows.nbytes + self.versions.nbytes + self.codes.nbytes
        return arrays + _REASON_BYTES * sum([len(status.reasons) for status in self.statuses])


class KnownVerdicts:
    """Verdicts by profile and by the pod's fields besides its name. Safe from any thread.

    A verdict on a node is true until the node, its pods, those nominated for it, or an object that is neither
    changes.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, LikePods], EarlierVerdicts] = {}
        self._bytes = 0

    def recall(self, evaluation: Evaluation, as_of: AsOf) -> Recalled:
        """Give ``evaluation``, for which PreFilter left all candidates, the known verdicts."""
        key = evaluation.profile.cache_key, as_of.like
        rows = evaluation.rows
        versions = as_of.versions.take(rows, mode="clip")
        known = self._known.get(key)
        if known is None or known.skipped != evaluation.written.skipped or not _same(known.rows, rows):
            return Recalled(self, key, versions, np.arange(len(rows), dtype=np.int32))
        changed = known.versions != versions
        evaluation.written.filters_read, evaluation.statuses = known.read, list(known.statuses)
        evaluation.codes = np.where(changed, np.int32(0), known.codes)
        evaluation.recalled = len(rows) - int(np.count_nonzero(changed))
        return Recalled(self, key, versions, np.flatnonzero(changed).astype(np.int32))

    def put(self, key: tuple[str, LikePods], verdicts: EarlierVerdicts) -> None:
        """Keep the verdicts on all nodes, none of which is feasible."""
        before = self._known.get(key)
        self._bytes += verdicts.nbytes - (before.nbytes if before is not None else 0)
        if self._bytes > _MAX_BYTES:
            self.drop()
            self._bytes = verdicts.nbytes
        self._known[key] = verdicts

    def drop(self) -> None:
        """Forget all of them."""
        self._known.clear()
        self._bytes = 0


@dataclass(frozen=True, slots=True)
class Recalled:
    """The verdicts known before an evaluation.

    Attributes:
        known: Who keeps it.
        key: The key of the pod there.
        versions: int64[N], those of the candidates before Filter read them.
        unknown: int32[U], the positions of the candidates without a known verdict.
    """

    known: KnownVerdicts
    key: tuple[str, LikePods]
    versions: Int64s
    unknown: Int32s

    def keep(self, evaluation: Evaluation) -> None:
        """Keep the verdicts of ``evaluation``, if all candidates are rejected until they change."""
        if not evaluation.codes.all() or not lasting(evaluation) or _takes_notes(evaluation):
            return
        skipped, read = frozenset(evaluation.written.skipped), filters_read(evaluation)
        codes, statuses = evaluation.codes.copy(), tuple(evaluation.statuses)
        self.known.put(
            self.key, EarlierVerdicts(skipped, read, evaluation.rows, self.versions, codes, statuses)
        )


def _same(some: Int32s, others: Int32s) -> bool:
    return some is others or np.array_equal(some, others)


def _takes_notes(evaluation: Evaluation) -> bool:
    """Return whether a plugin may note at Filter what it reads when no node takes the pod."""
    asked = (each for each in evaluation.profile.filter if each.name not in evaluation.written.skipped)
    return any(isinstance(each.plugin, PostFilterPlugin) for each in asked)
