"""Pod groups that a whole kube-scheduler decided, recorded, against mooring's cycle of a group."""

from __future__ import annotations

import json

import pytest

from tests.examples import seeds
from tests.laboratories.conformance import releases
from tests.laboratories.conformance.groups.replay import differences
from tests.laboratories.conformance.groups.run import GROUPS
from tests.laboratories.conformance.recordings import read_lines, recording

PARTS = 4
"""The number of tests with the recorded scenarios; the first is in the inner net."""


@pytest.mark.parametrize("version", releases.each(GROUPS.versions))
@pytest.mark.parametrize("part", seeds(PARTS))
def test_recorded_groups(version: str, part: int) -> None:
    lines = read_lines(recording("groups", version))
    assert len(lines) >= 300
    wrong = {
        vector["scenario"]["id"]: found
        for vector in map(json.loads, lines[part::PARTS])
        if (found := differences(vector["scenario"], vector["decided"], version))
    }
    assert not wrong
