from __future__ import annotations

import math

import pytest

from mooring.app.options import EngineOptions
from mooring.plugin_check import bench, deciding
from mooring.plugin_check.bench import measured
from mooring.plugin_check.subject import Subject
from mooring.testing import make_node, make_pod
from tests.plugin_check.wrong_rules import Counted


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "ROUNDS", 2)
    for module in (bench, deciding):
        # With more decisions on a faster machine the nodes would fill up.
        monkeypatch.setattr(module, "ROUND_DECISIONS", 5)
    monkeypatch.setattr(deciding, "ROUND_SECONDS", math.inf)


@pytest.fixture
def counted() -> Subject:
    return Subject.named(f"{Counted.__module__}:Counted", {}, EngineOptions())


def test_every_call_is_counted(counted: Subject) -> None:
    found = measured(counted, (), 20)
    assert (found.nodes, found.placed, found.kept) == (20, 1.0, 0.0)
    calls = {name: (first, warm) for name, (first, warm, _) in found.spent.items()}
    # Half of the nodes are rejected, and no other plugin rejects any.
    assert calls == {"filter": (20, 20), "score": (10, 10), "everything else": (0, 0)}
    assert sum(share for _, _, share in found.spent.values()) == pytest.approx(1)


def test_a_dump_is_measured_with_pods_like_its_own(counted: Subject) -> None:
    nodes = [make_node(f"n{number}") for number in range(4)]
    found = measured(counted, [*nodes, make_pod("p", requests={"cpu": 1000})], 20)
    assert (found.nodes, found.placed) == (4, 0.0)
