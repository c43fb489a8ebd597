"""Histories of kube-scheduler's own queue, recorded by the oracle, played on mooring's."""

from __future__ import annotations

import pytest

from tests.laboratories.conformance import releases
from tests.laboratories.conformance.queue.replay import differences
from tests.laboratories.conformance.queue.run import QUEUE
from tests.laboratories.conformance.recordings import read, recording


@pytest.mark.parametrize("version", releases.each(QUEUE.versions))
def test_recorded_histories(version: str) -> None:
    vectors = read(recording("queue", version))
    assert len(vectors) >= 300
    wrong = {
        vector["history"]["id"]: found
        for vector in vectors
        if (found := differences(vector["history"], vector["seen"], version))
    }
    assert not wrong
