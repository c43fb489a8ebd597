"""Random manifests in a real cluster and through mooring's commands: the same pods, nodes and reasons."""

import os
from pathlib import Path

import pytest

from tests.laboratories.doors.cluster import DoorsCluster
from tests.laboratories.doors.rounds import play_round

pytestmark = pytest.mark.e2e

SEED = int(os.environ.get("MOORING_E2E_SEED", "1"))
SETS = 20
"""How many are played; ``make doors`` plays more."""

MAX_UNPLAYABLE = SETS // 5


def test_sets_of_manifests(tmp_path: Path) -> None:
    """Each set has a cluster for itself."""
    with DoorsCluster(tmp_path) as cluster:
        rounds = [play_round(cluster, seed, reduce=False) for seed in range(SEED, SEED + SETS)]
    assert {played.seed: played.differences for played in rounds if played.differences} == {}
    unplayable = [played.unplayable for played in rounds if played.unplayable]
    assert len(unplayable) <= MAX_UNPLAYABLE, unplayable
    assert sum(played.asked for played in rounds) > SETS
