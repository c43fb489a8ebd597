"""The comparisons, and how they are counted.

A *comparison* is one cached answer next to a full evaluation of the same objects. It covers all of one pod's
decision: node, total, number of ties, of evaluated nodes and of feasible ones, verdict, message. Or it covers
the answer about one node: its verdict, or its total.

If the engine itself evaluated in full, its answer is compared too and counted among the decisions, but not
among the comparisons, unless it used cached verdicts. The form with threads checks whether an answer, however
it was made, was true at the time. The form with RESERVE compares its answer about each pod of a batch with a
dry run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.framework import Int32s, Pod
from mooring.framework.errors import PluginFailureError
from mooring.framework.state import ClusterState
from mooring.runtime.cycle.candidates import ALL_NODES, Candidates
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.cycle import CycleOptions, evaluate, evaluate_filters
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.full_cycle import select
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.cycle.score import score
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile
from mooring.testing import make_node

Facts = tuple[object, ...]


class MismatchError(AssertionError):
    """A cached answer is another one than that in full."""


@dataclass
class Tally:
    """The comparisons of one history.

    Attributes:
        comparisons: As the module counts them.
        decisions: Pods that were decided, cached or not.
        cached: Those of them that came from a kept evaluation, or took verdicts that were known before.
        sessions: Sessions that were held against a new state with the same objects, each counted once.
    """

    comparisons: int = 0
    decisions: int = 0
    cached: int = 0
    sessions: int = 0

    def decided(self, what: str, found: Facts, expected: Facts, *, cached: bool) -> None:
        """A decision; raises ``MismatchError`` unless both are the same."""
        self.decisions += 1
        self.cached += cached
        self.comparisons += cached
        check(what, found, expected)

    def looked(self, what: str, found: Sequence[object], expected: Sequence[object]) -> None:
        """Compare answers about some nodes, one by one."""
        self.comparisons += len(expected)
        check(what, list(found), list(expected))


def check(what: str, found: object, expected: object) -> None:
    """Raise ``MismatchError`` unless both are the same; name the columns that differ."""
    if found == expected:
        return
    if isinstance(found, dict) and isinstance(expected, dict) and found.keys() == expected.keys():
        found, expected = list(found.items()), list(expected.items())
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        pairs = [pair for pair in zip(found, expected, strict=True) if pair[0] != pair[1]]
        found, expected = map(list, zip(*pairs, strict=True))
    raise MismatchError(f"{what}: {found}, in full {expected}")


def failed_or(decide: Callable[[], Choice]) -> Choice | str:
    """Return the decision; where a plugin fails, the plugin's name."""
    try:
        return decide()
    except PluginFailureError as error:
        return error.metadata["plugin"]


def facts(choice: Choice) -> Facts:
    """Return all that a decision says."""
    return (
        choice.node_name,
        choice.total,
        choice.tie_count,
        choice.evaluated,
        choice.feasible,
        choice.status,
        choice.message,
    )


def is_cached(choice: Choice) -> bool:
    """Return whether it came from a cached evaluation, or used cached results of Filter."""
    return not isinstance(choice.source, Evaluation) or bool(choice.source.recalled)


def in_full(
    engine: Engine, state: ClusterState, pod: Pod, profile: Profile, seed: int, start: int | None = None
) -> Choice:
    """Return a decision about ``state`` that reuses nothing; ``start`` as in ``CycleOptions``, or by the
    seed.
    """
    profile = profile.as_written
    if start is None:
        return engine.over(state).decide(pod, profile, ALL_NODES, seed=seed, options=CycleOptions())
    run = partial(evaluate, options=CycleOptions(start=start))
    evaluation, version = engine.evaluate(pod, profile, ALL_NODES, state=state, run=run)
    return select(evaluation, version, seed)


def rows_of(names: Sequence[str]) -> Candidates:
    """Return the rows of those of the nodes that are there."""

    def rows(state: ClusterState) -> Int32s:
        index = state.snapshot.nodes.index
        return np.array([index[name] for name in names if name in index], np.int32)

    return Candidates(rows)


Verdicts = dict[str, tuple[object, int | None]]
"""By node, its verdict, and its total if it is feasible and anything scores."""


def verdicts(engine: Engine, state: ClusterState, pod: Pod, profile: Profile, rows: Candidates) -> Verdicts:
    """Return the verdicts of a full evaluation on ``rows``; the totals are those of the feasible ones among
    them.
    """
    return recorded_verdicts(engine, state, pod, profile.as_written, rows)


def recorded_verdicts(
    engine: Engine, state: ClusterState, pod: Pod, profile: Profile, rows: Candidates
) -> Verdicts:
    """As ``verdicts``, with recorded answers of the rules that declare no reads."""
    names = state.snapshot.nodes.names
    found, _ = engine.evaluate(pod, profile, rows, state=state, run=_filtered_and_scored)
    if not found.rejection.ok:
        return {names[row]: (found.rejection, None) for row in rows.rows(state)}
    codes = (found.statuses[code] for code in found.codes)
    said = {names[row]: status for row, status in zip(found.rows, codes, strict=True)}
    totals: dict[str, int] = {}
    if found.scores is not None:
        ordered = zip(found.rows[found.feasible], found.scores.totals.tolist(), strict=True)
        totals = {names[row]: total for row, total in ordered}
    return {name: (status, totals.get(name)) for name, status in said.items()}


def _filtered_and_scored(
    profile: Profile, cluster: ClusterState, pod: Pod, rows: Int32s, calls: PluginCalls
) -> Evaluation:
    """Return each of ``rows`` filtered, and all that are feasible scored, be it one alone."""
    found = evaluate_filters(profile, cluster, pod, rows, calls)
    if found.rejection.ok and len(found.feasible) and profile.has_scoring:
        found.scores = score(found, rows[found.feasible], calls)
    return found


def from_scratch(state: State, everything: Sequence[Any], fresh: State) -> State:
    """``fresh`` with all objects that a source delivered, and what ``state`` has decided since."""
    fresh.replace("test", everything)
    objects = state._writer.objects
    for kind, key in objects._delivered:
        assumed = objects.find_object(kind, key)
        assert assumed is not None
        fresh.assume_object(assumed)
    for uid in state._delivered:
        record = state.snapshot.pods.records[uid]
        gone = record.node_name not in fresh.snapshot.nodes.index
        if gone:
            fresh.apply("test", [Put(make_node(record.node_name))])
        fresh.assume(record.pod, record.node_name)
        if gone:
            fresh.apply("test", [Remove("Node", "", record.node_name)])
    return fresh
