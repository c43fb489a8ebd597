"""Resource-state ids: two rows have one exactly where they have the same resources, however they are read."""

from __future__ import annotations

from random import Random

import pytest

from mooring.cluster.state import State
from mooring.runtime.cache.change_tracker import ChangeTracker
from mooring.testing import make_node, make_pod

NODES = ("a", "b")


def resources_of(state: State, row: int) -> bytes:
    table = state.snapshot.nodes
    return table.requested[:, row].tobytes() + table.allocatable[:, row].tobytes()


@pytest.mark.parametrize("seed", range(20))
def test_ids_tell_resource_states_apart_also_when_they_are_looked_at_behind_the_state(seed: int) -> None:
    dice, state = Random(seed), State()
    state.replace("test", [make_node(name, allocatable={"cpu": "900"}) for name in NODES])
    tracker, ids_of = ChangeTracker(state), dict[bytes, int]()
    tracker.read(-1)
    for number in range(200):
        match dice.choice(("place", "place", "look", "read", "compare")):
            case "place":
                pod = make_pod("p", requests={"cpu": "1"}, metadata={"uid": f"u{number}"})
                state.assume(pod, dice.choice(NODES))
            case "look":
                # As an evaluation does that read a moment ago: by now the table may have more.
                assert len(tracker.resource_ids) >= len(NODES)
            case "read":
                tracker.read(state.version)
            case "compare":
                tracker.read(state.version)
                for row in state.snapshot.nodes.rows().tolist():
                    known = ids_of.setdefault(resources_of(state, row), tracker.resource_ids[row])
                    assert tracker.resource_ids[row] == known
    assert len(set(ids_of.values())) == len(ids_of)
