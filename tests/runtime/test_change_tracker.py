"""What changed: ids tell resource states apart, and what is told of a pod is what the change log says."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from mooring.cluster.state import State
from mooring.runtime.cache.change_tracker import ChangeTracker
from mooring.testing import make_node, make_pod

NODES = ("a", "b")

APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
}


def resources_of(state: State, row: int) -> bytes:
    table = state.snapshot.nodes
    return table.requested[:, row].tobytes() + table.allocatable[:, row].tobytes()


@pytest.mark.parametrize("seed", range(20))
def test_ids_tell_resource_states_apart_also_when_they_are_looked_at_behind_the_state(seed: int) -> None:
    dice, state = Random(seed), State()
    state.replace("test", [make_node(name, allocatable={"cpu": "900", "pods": "900"}) for name in NODES])
    tracker, ids_of = ChangeTracker(state), dict[bytes, int]()
    tracker.read(-1)
    followed = 0
    for number in range(400):
        match dice.choice(("place", "place", "follow", "look", "read", "compare")):
            case "place":
                pod = make_pod("p", requests={"cpu": "1"}, metadata={"uid": f"u{number}"})
                state.assume(pod, dice.choice(NODES))
            case "follow":
                # As an evaluation does with the pod that it has just placed.
                tracker.read(state.version)
                pod = make_pod("p", requests={"cpu": "1"}, metadata={"uid": f"u{number}"})
                node, kind = dice.choice(NODES), state.kind_of(pod)
                row = state.snapshot.nodes.index[node]
                ids = tracker.ids_with(row)
                after = tracker.next_ids(kind.usage).get(ids[row])
                state.assume(pod, node, kind)
                if after is not None:
                    assert ids_of.setdefault(resources_of(state, row), after) == after
                    ids[row] = after
                    tracker.placed(state.version, kind)
                    followed += 1
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
    assert followed


def said_since(tracker: ChangeTracker, version: int, now: int) -> tuple[object, ...]:
    """Return what a tracker says of rows, pods and parts that changed after ``version``, up to ``now``."""
    rows = tracker.read(version).rows
    pods = tracker.pods_since(version, now)
    assert rows is not None
    assert pods is not None
    moved = [
        (pods.kinds[abs(number) - 1].class_key, row, number > 0)
        for row, number in zip(pods.rows.tolist(), pods.pods.tolist(), strict=True)
        if number
    ]
    terms = tracker.terms_moved_since(version, lambda _: True)
    return rows.tolist(), moved, tracker.moved_since(version), terms, tracker.version


@pytest.mark.parametrize("seed", range(20))
def test_a_tracker_that_is_told_of_pods_says_what_one_does_that_reads_the_log(seed: int) -> None:
    dice, state = Random(seed), State()
    state.replace("test", [make_node(name, allocatable={"cpu": "900"}) for name in NODES])
    told, reading, same = ChangeTracker(state), ChangeTracker(state), dict[int, int]()
    versions = [reading.read(-1).version]
    told.read(-1)
    for number in range(200):
        spec: dict[str, Any] = dice.choice(({}, {}, APART))
        labels = {"app": dice.choice("ab")}
        pod = make_pod(
            "p", requests={"cpu": "1"}, spec=spec, metadata={"uid": f"u{number}", "labels": labels}
        )
        match dice.choice(("told", "told", "told", "unheard", "gone", "node", "look", "compare")):
            case "told" | "unheard" as how:
                kind, row = state.kind_of(pod), dice.randrange(len(NODES))
                with state.lock:
                    state.assume(pod, NODES[row], kind)
                    if how == "told":
                        told.came(row, kind, state.version)
            case "gone":
                state.forget(f"u{dice.randrange(number + 1)}")
            case "node":
                state.replace("test", [make_node(name, allocatable={"cpu": "900"}) for name in NODES])
            case "look":
                assert len(told.resource_ids) == len(NODES)
            case "compare":
                since = dice.choice(versions[-3:])
                assert said_since(told, since, state.version) == said_since(reading, since, state.version)
                for id_told, id_read in zip(told.resource_ids, reading.resource_ids, strict=True):
                    assert same.setdefault(id_told, id_read) == id_read
                versions.append(state.version)
    assert len(set(same.values())) == len(same) > 1
