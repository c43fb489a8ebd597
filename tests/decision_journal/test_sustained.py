"""Many decisions at a time, with readers that are quick, and others that never read."""

from __future__ import annotations

from tests.decision_journal.sustained import BUDGET, PODS, sustain


def test_nobody_who_reads_or_does_not_is_waited_for_and_what_is_lost_is_counted() -> None:
    found = sustain(threads=4, calls=25)
    asked = 4 * 25 * PODS
    assert found.failed == []
    assert asked == 10_000
    assert found.last == asked
    assert found.decided == found.last + found.dropped
    assert found.dropped > 0
    for told in (found.reader, found.late):
        assert len(told.seen) + told.missed == asked
        assert told.seen == sorted(set(told.seen))
    assert found.late.missed > 0
    assert found.most_bytes <= BUDGET
    assert found.unread
