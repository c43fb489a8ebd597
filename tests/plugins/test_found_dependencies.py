"""Declarations of the plugins in the tree name all that the plugins are seen to read."""

from __future__ import annotations

import itertools
from random import Random
from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.state import State
from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    NodeView,
    Part,
    Plugin,
    Pod,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    Status,
)
from mooring.runtime.pure.node_views import NodesView, SnapshotView
from mooring.runtime.pure.reads import (
    ALLOCATABLE,
    COLUMNS,
    NODES,
    OBJECTS,
    OFFERED,
    REQUESTED,
    Key,
    Reads,
    written,
)
from mooring.runtime.pure.views import Seen
from tests.examples import examples
from tests.laboratories.histories.cluster import Cluster, Scene
from tests.laboratories.histories.pods import kind_of_pod, pod_of
from tests.plugins.harness import make
from tests.plugins.test_dependencies import DECLARING

SHAPE: frozenset[Key] = frozenset({(NODES,), (COLUMNS, "alive"), (COLUMNS, "capacity"), (COLUMNS, "rows")})
"""The number of answers wanted. It does not count as a read if each node has an answer of its own."""


def cluster_of(dice: Random) -> State:
    """Return a cluster in which something of every kind has happened."""
    cluster, state = Cluster(Scene.of(dice, most_nodes=12)), State()
    state.apply("test", cluster.begin(dice))
    for _ in range(8):
        state.apply("test", [*cluster.happen(dice), *cluster.other(dice)])
    return state


def needed(kind: type[Plugin[Any]], pod: Pod, state: State, *, notes: bool) -> dict[Key, Part]:
    """Return the part of the cluster behind each read of the points up to Score.

    Without ``notes`` the points of Score find nothing of those before, as in a profile that lacks these.
    """
    early: Seen = {}
    each: Seen = {}
    feasible: Seen = {}
    live = SimpleNamespace(snapshot=SnapshotView(early, state.snapshot))
    plugin = make(kind, state=live)  # type: ignore[arg-type] # nothing but its snapshot is asked for
    view, cycle = NodeView(state.snapshot, state.snapshot.nodes.rows()), CycleState()
    all_nodes, one_by_one, the_feasible = (
        cast("NodeView", NodesView(seen, view)) for seen in (early, each, feasible)
    )
    answer: object = SUCCESS
    if isinstance(plugin, PreEnqueuePlugin):
        plugin.pre_enqueue(pod)
    if isinstance(plugin, PreFilterPlugin):
        answer = plugin.pre_filter(cycle, pod, all_nodes)
    if isinstance(plugin, FilterPlugin) and (not isinstance(answer, Status) or answer.ok):
        plugin.filter_nodes(cycle, pod, one_by_one)
    cycle = cycle if notes else CycleState()
    scores = plugin.pre_score(cycle, pod, the_feasible) if isinstance(plugin, PreScorePlugin) else SUCCESS
    if isinstance(plugin, ScorePlugin) and scores.ok:
        plugin.normalize_score(cycle, pod, plugin.score_nodes(cycle, pod, one_by_one))
    found = {key: part_of(key) for key in (*early, *feasible, *each) if key not in SHAPE}
    if not SHAPE.isdisjoint(early):
        found[NODES,] = Part.NODES_BUT_IMAGES
    if (NODES,) in feasible:
        found[NODES,] = Part.NODES_BUT_IMAGES | Part.FEASIBLE
    return found


def part_of(key: Key) -> Part:
    """Return the part of the cluster that is read under ``key``."""
    reads = Reads()
    reads.note([key])
    parts = reads.dependencies(pod_of({}, "any")).parts
    return parts & Part.RESOURCES if key[0] in (ALLOCATABLE, OFFERED, REQUESTED) else parts


@examples(60)
@given(seed=st.integers(0, 1 << 32), notes=st.booleans())
def test_declared_parts_and_kinds_name_all_that_is_read(seed: int, notes: bool) -> None:
    dice = Random(seed)
    state = cluster_of(dice)
    for number, kind in itertools.product(range(4), DECLARING):
        pod = pod_of(kind_of_pod(dice), f"asked-{number}")
        declared = make(kind, state=state).dependencies(pod)
        # All terms are looked through for those about the pod.
        terms = Part.AFFINITIES if Part.TERMS_ABOUT_POD in declared.parts else Part.NONE
        for key, part in needed(kind, pod, state, notes=notes).items():
            assert part in declared.parts | terms, (kind, written(key), part)
            if key[0] == OBJECTS and declared.kinds is not None:
                assert key[1] in declared.kinds, (kind, written(key))
