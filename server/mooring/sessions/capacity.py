"""How many more pods of a shape there is room for, and what ends it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from mooring.framework import Int64s, Pod, Status
from mooring.framework.batch import as_batch
from mooring.framework.cacheable import Part, dependencies_of
from mooring.runtime.answers import ALL_NODES, Evaluation, Progress, asked_plugins, evaluate_filters
from mooring.runtime.commit.placement import asks_nothing
from mooring.runtime.profiles.profile import Profile
from mooring.sessions.copies import OwnClaims, copy_of, own_claims
from mooring.sessions.placing import place_alike, place_pod
from mooring.sessions.work_trees import Work

MOST = 1_000_000
"""Pods of one shape that are looked for at most,"""
MOST_PLACED = 100_000
"""and where they have to be placed one after the other, which takes memory for each."""

_FIRST_STEP, _LONGEST_STEP = 256, 8_192
"""Pods that are placed between two reads of the clock."""

_MOVED_BY_PODS = Part.PODS | Part.RESOURCES | Part.FEASIBLE | Part.OUTSIDE | Part.OTHER_NODES


@dataclass(slots=True)
class Capacity:
    """The room for pods of one shape.

    Attributes:
        count: How many there is room for, the limit at most.
        limited: The limit ended the search.
        end: The status of the next pod; Success if the limit ended the search.
        message: kube-scheduler's sentence about it.
        nodes: How many each node takes, by name; empty where it depends on scores which ones do.
    """

    count: int = 0
    limited: bool = False
    end: Status = field(default_factory=Status)
    message: str = ""
    nodes: Counter[str] = field(default_factory=Counter)


def capacity_of(
    work: Work,
    pod: Pod,
    profile: Profile,
    *,
    limit: int = MOST,
    by_node: bool = False,
    seed: int = 0,
    progress: Progress,
) -> Capacity:
    """Find out how many pods like ``pod`` could be placed one after the other.

    If pods of the shape affect only their own node, by its resources, each node is counted by itself.
    Otherwise they are placed, and the caller has to take that back.

    Raises:
        DeadlineExceededError: The caller no longer waits.
        PluginFailureError: A plugin failed.
    """
    claims = own_claims(pod, work.tree.snapshot.objects)
    counted = None if claims else _counted(work, pod, profile, limit, progress)
    if counted is not None and (not counted.limited or not by_node):
        return counted
    return _placed(work, pod, claims, profile, limit, seed, progress)


def _counted(work: Work, pod: Pod, profile: Profile, limit: int, progress: Progress) -> Capacity | None:
    """Count node by node; None if that is not the same as placing."""
    tables = work.tree.snapshot
    if profile.extenders or tables.pods.nominated or not asks_nothing(pod, profile):
        return None
    evaluation, _ = work.engine.evaluate(pod, profile, ALL_NODES, evaluate_filters, progress=progress)
    room = _room(work, evaluation)
    if room is None:
        return None
    rows = evaluation.rows[evaluation.feasible]
    total = int(room.sum())
    if total > limit:
        return Capacity(limit, limited=True)
    names = tables.nodes.names
    found = Capacity(
        total, nodes=Counter(dict(zip((names[row] for row in rows), room.tolist(), strict=True)))
    )
    with work.tree.fuller(work.tree.kind_of(pod, remember=False).usage, rows, room):
        _end(work, pod, profile, found, progress)
    return found


def _room(work: Work, evaluation: Evaluation) -> Int64s | None:
    """Return int64[F]: how many pods each feasible node takes; None if pods affect each other otherwise."""
    pod = evaluation.pod
    nodes = evaluation.view(evaluation.rows[evaluation.feasible])
    room = np.full(len(nodes), np.iinfo(np.int64).max, np.int64)
    counted = False
    own_terms = work.tree.kind_of(pod, remember=False).affinity_key is not None
    moved = _MOVED_BY_PODS | Part.AFFINITIES if own_terms else _MOVED_BY_PODS
    for plugin in asked_plugins(evaluation):
        count = as_batch(plugin).count_room(pod, nodes)
        if count is not None:
            room, counted = np.minimum(room, count), True
        elif dependencies_of(plugin, pod).possible_parts & moved:
            return None
    return room if counted else None


def _placed(
    work: Work, pod: Pod, claims: OwnClaims, profile: Profile, limit: int, seed: int, progress: Progress
) -> Capacity:
    found, step, limit = Capacity(), _FIRST_STEP, min(limit, MOST_PLACED)
    while found.count < limit:
        progress.check()
        some = 0 if claims else min(step, limit - found.count)
        names, uids = _copies(pod, found.count, some)
        choices = place_alike(work, [(pod, profile)], [0] * some, names, uids, seed=seed, progress=progress)
        found.nodes.update(choice.node_name or "" for choice in choices)
        found.count += len(choices)
        step = min(2 * step, _LONGEST_STEP)
        if len(choices) < max(1, some) and not _one_more(work, pod, claims, profile, found, seed, progress):
            return found
    found.limited = True
    return found


def _one_more(
    work: Work,
    pod: Pod,
    claims: OwnClaims,
    profile: Profile,
    found: Capacity,
    seed: int,
    progress: Progress,
) -> bool:
    """Place one pod by itself; False if that is the end, with the reason in ``found``."""
    copy, own = copy_of(pod, claims, found.count)
    work.tree.put_objects(own)
    placed = place_pod(work, copy, profile, seed=seed, progress=progress)
    if placed.choice.node_name is None:
        _end(work, copy, profile, found, progress)
        return False
    if not placed.status.ok:
        found.end, found.message = placed.status, placed.status.message
        return False
    found.nodes[placed.choice.node_name] += 1
    found.count += 1
    return True


def _end(work: Work, pod: Pod, profile: Profile, found: Capacity, progress: Progress) -> None:
    """Note the filters' verdict on ``pod``, which no node takes."""
    last, _ = work.engine.evaluate(pod, profile, ALL_NODES, evaluate_filters, progress=progress)
    found.end, found.message = last.status, last.message


def _copies(pod: Pod, first: int, count: int) -> tuple[list[str], list[str]]:
    """Return names and UIDs of ``count`` copies."""
    meta = pod.metadata
    numbers = range(first, first + count)
    return [f"{meta.name}-{at}" for at in numbers], [f"{meta.uid}/copy-{at}" for at in numbers]
