"""Histories of sessions, whose last versions were answered by kube-scheduler's own code, played again."""

from __future__ import annotations

import json

import pytest

from tests.examples import seeds
from tests.laboratories.conformance.program import NEWEST
from tests.laboratories.conformance.recordings import read_lines, recording
from tests.laboratories.conformance.sessions.run import disagreement

PARTS = 4
"""The number of tests with the recorded versions; the first is in the inner net."""


@pytest.mark.parametrize("part", seeds(PARTS))
def test_recorded_sessions(part: int) -> None:
    lines = read_lines(recording("sessions", NEWEST))
    assert len(lines) >= 80
    wrong = {
        vector["scenario"]["id"]: found
        for vector in map(json.loads, lines[part::PARTS])
        if (found := disagreement(vector["scenario"], vector["document"], NEWEST))
    }
    assert not wrong
