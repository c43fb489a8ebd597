"""One set of manifests, played to its end: what came of it, and as few objects as still show a difference."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec

from tests.laboratories import long_runs
from tests.laboratories.doors.cluster import DoorsCluster
from tests.laboratories.doors.generator import manifests
from tests.laboratories.doors.playing import Played, play
from tests.laboratories.e2e.api import ApiError, Manifest

FOLDER = long_runs.LEDGERS / "doors"
FOUND = FOLDER / "found"
"""The folder of sets that showed a difference, each in a folder of its seed."""


class Round(msgspec.Struct, frozen=True):
    """One set.

    Attributes:
        seed: Makes it again.
        seconds: How long it took, without what followed a difference.
        pods: How many pods the cluster had.
        placed: How many of them kube-scheduler bound.
        asked: How many answers of mooring were compared.
        differences: A line for each that wasn't the same, twice in a row.
        unplayable: Why the cluster did not take the set, in a line; "" = it did.
    """

    seed: int
    seconds: float
    pods: int = 0
    placed: int = 0
    asked: int = 0
    differences: Sequence[str] = ()
    unplayable: str = ""


def play_round(cluster: DoorsCluster, seed: int, *, reduce: bool = True) -> Round:
    """Play the set of a seed; one that shows a difference twice is kept in ``FOUND``.

    Args:
        cluster: Where it is played.
        seed: The seed of the set.
        reduce: Whether to leave out what a difference doesn't need.
    """
    objects: Sequence[Manifest] = manifests(Random(seed))
    began = time.monotonic()
    played = _try(cluster, objects, seed)
    seconds = time.monotonic() - began
    if isinstance(played, str):
        return Round(seed, seconds, unplayable=played)
    differences: Sequence[str] = ()
    if played.differences:
        differences = _differences(cluster, objects, seed)
    if differences:
        if reduce:
            objects = _reduced(cluster, objects, seed)
            differences = _differences(cluster, objects, seed) or differences
        _keep(cluster, seed, differences)
    return Round(seed, seconds, played.pods, played.placed, played.asked, differences)


def _try(cluster: DoorsCluster, objects: Sequence[Manifest], seed: int) -> Played | str:
    """Return the result of a set, or why it can't be played."""
    try:
        return play(cluster, objects, Random(seed), _played_in(cluster))
    except (ApiError, TimeoutError) as error:
        return " ".join(str(error).split())[:500]


def _differences(cluster: DoorsCluster, objects: Sequence[Manifest], seed: int) -> Sequence[str]:
    played = _try(cluster, objects, seed)
    return () if isinstance(played, str) else played.differences


def _reduced(cluster: DoorsCluster, objects: Sequence[Manifest], seed: int) -> Sequence[Manifest]:
    """Return as few objects as still show a difference, found by leaving out one after the other."""
    kept = list(objects)
    for item in objects:
        without = [one for one in kept if one is not item]
        # Without any node kube-scheduler tries again and again.
        if any(one["kind"] == "Node" for one in without) and _differences(cluster, without, seed):
            kept = without
    return kept


def _played_in(cluster: DoorsCluster) -> Path:
    return cluster.directory / "set"


def _keep(cluster: DoorsCluster, seed: int, differences: Sequence[str]) -> None:
    """Keep the files of the set that was played last."""
    target = FOUND / str(seed)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(_played_in(cluster), target)
    (target / "differences.txt").write_text("\n".join(differences) + "\n", encoding="utf-8")
