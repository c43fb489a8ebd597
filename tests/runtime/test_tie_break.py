"""The choice among equals: seeded, the same everywhere, and fair."""

from __future__ import annotations

from collections import Counter

import pytest

from mooring.runtime.cycle.tie_break import choose, mix64, mix64_of_each
from mooring.testing.builders import pod_manifest

from .fakes import cycle, filtering


@pytest.mark.parametrize(
    ("seed", "text", "value"),
    [
        pytest.param(0, "", 4331143152044847043, id="nothing"),
        pytest.param(0, "pod", 15475559107460965321, id="a pod"),
        pytest.param(2**64 - 1, "pod", 3459585994655745700, id="the last seed"),
    ],
)
def test_mix64_is_frozen(seed: int, text: str, value: int) -> None:
    assert mix64(seed, text) == value
    assert list(mix64_of_each(seed, [text, "another", text])) == [value, mix64(seed, "another"), value]


def test_every_one_of_the_tied_nodes_gets_its_share() -> None:
    counts = Counter(choose(7, f"uid-{at}", 5) for at in range(5000))
    assert sorted(counts) == [0, 1, 2, 3, 4]
    assert min(counts.values()) > 850


def test_the_same_seed_and_uid_give_the_same_node_and_others_another() -> None:
    chosen = [cycle(filtering("F", {}), seed=seed)["selected"] for seed in [3, 3, *range(30)]]
    assert chosen[0] == chosen[1]
    assert set(chosen) == {"a", "b", "c"}
    pods = [pod_manifest(metadata={"uid": f"uid-{at}"}) for at in range(30)]
    assert {cycle(filtering("F", {}), pod=pod)["selected"] for pod in pods} == {"a", "b", "c"}
