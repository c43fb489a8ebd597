"""The cached results of Filter stay within a bound, however many reasons there are."""

from __future__ import annotations

import numpy as np
import pytest

from mooring.framework import Part, Status
from mooring.runtime.cycle.known_verdicts import EarlierVerdicts, KnownVerdicts

NODES = 50


def verdicts(reasons: int) -> EarlierVerdicts:
    said = Status.unschedulable(*(f"Insufficient a.b/r{at}" for at in range(reasons)))
    rows = np.arange(NODES, dtype=np.int32)
    return EarlierVerdicts(frozenset(), Part(0), rows, rows.astype(np.int64), np.ones_like(rows), (said,))


@pytest.mark.parametrize(
    ("reasons", "most"),
    [
        pytest.param(1, 3_000, id="one reason, all kept"),
        pytest.param(5_000, 170, id="thousands, kept up to the bound"),
        pytest.param(30_000, 28, id="tens of thousands, kept up to the bound"),
    ],
)
def test_verdicts_are_kept_by_their_size(reasons: int, most: int) -> None:
    known, each = KnownVerdicts(), verdicts(reasons)
    kept = []
    for number in range(3_000):
        known.put((f"{number}", (b"", 0)), each)
        kept.append(len(known._known))
    assert max(kept) <= most
    assert max(kept) > most * 0.9
