"""Sequences that a whole kube-scheduler decided, recorded by the oracle, against mooring's decisions."""

from __future__ import annotations

import json

import pytest

from tests.examples import seeds
from tests.laboratories.conformance import releases
from tests.laboratories.conformance.program import NEWEST, VERSIONS
from tests.laboratories.conformance.recordings import read_lines, recording
from tests.laboratories.conformance.sequences.replay import differences

PARTS = 8
"""The number of tests with the recorded sequences; the first is in the inner net."""

COUNTS = {NEWEST: 500}


@pytest.mark.parametrize("version", releases.each(VERSIONS))
@pytest.mark.parametrize("part", seeds(PARTS))
def test_recorded_sequences(version: str, part: int) -> None:
    lines = read_lines(recording("sequences", version))
    assert len(lines) >= COUNTS.get(version, 100)
    wrong = {
        vector["sequence"]["id"]: found
        for vector in map(json.loads, lines[part::PARTS])
        if (found := differences(vector["sequence"], vector["decisions"], version))
    }
    assert not wrong
