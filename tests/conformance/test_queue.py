"""Histories of kube-scheduler's own queue, recorded by the oracle, played on mooring's."""

from __future__ import annotations

from tests.conformance.program import NEWEST
from tests.conformance.queue.replay import differences
from tests.conformance.recordings import read, recording


def test_recorded_histories() -> None:
    vectors = read(recording("queue", NEWEST))
    assert len(vectors) >= 300
    wrong = {
        vector["history"]["id"]: found
        for vector in vectors
        if (found := differences(vector["history"], vector["seen"]))
    }
    assert not wrong
