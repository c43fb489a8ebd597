"""The cost of a plugin: processor time of decisions with and without it, and how its methods share that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from mooring.cluster.kinds import ClusterObject
from mooring.plugin_check.deciding import ROUND_DECISIONS, Decider, Spent, cluster_of, counted
from mooring.plugin_check.subject import Subject

ROUNDS = 9
"""Number of measurements of each side; both sides alternate."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A measurement. Times are milliseconds of processor time: for the first decision, and for a later one.

    Attributes:
        without: The times of the default profile.
        having: The times of the default profile with the plugin.
        spent: The calls of the plugin's methods, and the share of everything else.
        placed: The part of the pods that found a node, 0 to 1.
        kept: The part of later decisions that the cache answered, 0 to 1.
    """

    nodes: int
    without: tuple[float, float]
    having: tuple[float, float]
    spent: Spent
    placed: float
    kept: float


def measured(
    subject: Subject,
    dump: Sequence[ClusterObject],
    nodes: int,
    shown: Callable[[Iterable[int], int], Iterable[int]] = lambda rounds, _: rounds,
) -> Bench:
    """Measure a plugin on a dump's objects, else on ``nodes`` made-up nodes; ``shown`` shows the progress.
    Raises PluginFailureError if it fails.
    """
    objects, templates = cluster_of(subject, dump, nodes)
    makers = subject.without, subject.among_defaults
    for make in makers:
        # Loads all that is used.
        Decider(make(objects[:9]), templates).warm_up()
    sides = [Decider(make(objects), templates) for make in makers]
    first = [side.decide(1) for side in sides]
    for side in sides:
        side.warm_up()
    later: list[list[float]] = [[], []]
    having = sides[1]
    hits = having.engine.cache_counts.hits
    for _ in shown(range(ROUNDS), ROUNDS):
        for side, times in zip(sides, later, strict=True):
            times.append(side.decide(ROUND_DECISIONS))
    _, spent = counted(subject, lambda: Decider(subject.among_defaults(objects), templates))
    rest = 1 - sum(share for _, _, share in spent.values())
    return Bench(
        len(having.engine.state.snapshot.nodes.index),
        (first[0], median(later[0])),
        (first[1], median(later[1])),
        {**spent, "everything else": (0.0, 0.0, rest)},
        having.placed / having.decided,
        (having.engine.cache_counts.hits - hits) / having.decided,
    )
