"""Histories of kube-scheduler's own queue, recorded by the oracle, played on mooring's."""

from __future__ import annotations

import gzip
import json

from tests.conformance.queue.replay import differences
from tests.conformance.queue.run import VECTORS


def test_recorded_histories() -> None:
    lines = gzip.decompress(VECTORS.read_bytes()).splitlines()
    assert len(lines) >= 300
    wrong = {
        vector["history"]["id"]: found
        for vector in map(json.loads, lines)
        if (found := differences(vector["history"], vector["seen"]))
    }
    assert not wrong
