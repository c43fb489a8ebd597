"""Rules that others published are short here, and nearly all that they read is followed by value."""

from __future__ import annotations

import inspect
import random
from pathlib import Path
from typing import Any

import pytest

from mooring.app.options import EngineOptions
from mooring.cluster.kinds import ClusterObject
from mooring.framework import Node, Plugin, Pod
from mooring.plugin_check import following
from mooring.plugin_check.following import Following
from mooring.plugin_check.playing import played
from mooring.plugin_check.subject import Subject
from mooring.testing import make_node, make_pod
from tests.plugin_check import public_rules

pytestmark = pytest.mark.slow

RULES: list[type[Plugin[Any]]] = [
    kind
    for kind in vars(public_rules).values()
    if isinstance(kind, type) and issubclass(kind, Plugin) and kind.__module__ == public_rules.__name__
]
MOST_LINES = 40
BY_VERSION = {"pods"}
"""Reads of a whole object, which another version of it makes out of date."""

PAGE = Path(__file__).parents[2] / "docs" / "figures" / "public-rules.md"


def subject(kind: type[Plugin[Any]]) -> Subject:
    return Subject.named(f"{kind.__module__}:{kind.__name__}", {}, EngineOptions())


def node(number: int, dice: random.Random) -> Node:
    """Return a node with everything that some rule reads."""
    labels = {
        "kubernetes.io/hostname": f"n{number}",
        "topology.kubernetes.io/region": f"region-{number % 4}",
        "example.com/rack": f"r{number % 50}",
        "example.com/ready": "yes",
        "volcano.sh/nodegroup-name": "abc"[number % 3],
        "green": dice.choice(("true", "false")),
    }
    if number % 10 == 0:
        labels["volcano.sh/revocable-zone"] = "night"
    annotations = {
        "node.example.com/hourly-cost": f"{dice.randrange(20) / 10}",
        "hightower.com/cost": f"{dice.randrange(20) / 10}",
        "cpu_usage_avg_5m": f"{dice.randrange(100) / 100},2026-01-01T00:00:00Z",
        "mem_usage_avg_5m": f"{dice.randrange(10) / 10},2026-01-01T00:00:00Z",
        "renewable": f"{dice.randrange(11) / 10}",
        "capacity.topolvm.io/00default": str(dice.randrange(1 << 40)),
        "node.example.com/allocatable-ips": "30",
    }
    offer = {"cpu": dice.choice(("8", "16", "32")), "memory": dice.choice(("32Gi", "64Gi", "128Gi"))}
    if number % 10 == 1:
        offer |= {"nvidia.com/gpu": "8", "aliyun.com/gpu-mem": "64", "aliyun.com/gpu-count": "4"}
    return make_node(f"n{number}", labels=labels, allocatable=offer, metadata={"annotations": annotations})


def pod(name: str, on: str = "") -> Pod:
    """Return a pod that asks for everything that some rule looks for."""
    labels = {
        "app": "a",
        "volcano.sh/job-name": "j",
        "telemetry-policy": "p",
        "compliance.example.com/region": "region-1",
    }
    annotations = {
        "volcano.sh/queue-name": "a",
        "volcano.sh/preemptable": "true",
        "capacity.topolvm.io/00default": str(1 << 30),
        "ALIYUN_COM_GPU_MEM_IDX": "0",
    }
    requests = {"cpu": "100m", "memory": "1Gi", "nvidia.com/gpu": "1", "aliyun.com/gpu-mem": "2"}
    metadata = {"uid": name, "annotations": annotations}
    return make_pod(name, labels=labels, node=on, requests=requests, metadata=metadata)


def cluster(size: int) -> list[ClusterObject]:
    """Return nodes of many sorts, a few pods there, and one that waits."""
    dice = random.Random(1)
    nodes = [node(number, dice) for number in range(size)]
    placed = [pod(f"p{number}", f"n{10 * number + 1}") for number in range(size // 50)]
    return [*nodes, *placed, pod("asked")]


def followed(kind: type[Plugin[Any]], size: int) -> Following:
    """Return the reads and the cost of a rule in ``cluster``."""
    return following.following(subject(kind), cluster(size))


def row(kind: type[Plugin[Any]], found: Following) -> str:
    """Return a line of the page's table."""
    source = (inspect.getdoc(kind) or "").partition(". ")[2].rstrip(".")
    calls = ", ".join(f"{name} {first:,.0f}" for name, (first, _) in found.calls.items())
    reads = ", ".join(f"`{read}`" for read in found.reads if not read.startswith("offered"))
    return f"| {kind.name} | {source} | {reads} | {calls} |"


@pytest.mark.parametrize("kind", RULES, ids=lambda kind: kind.name)
def test_a_published_rule_is_short_and_has_no_fault(kind: type[Plugin[Any]]) -> None:
    assert len(inspect.getsource(kind).splitlines()) <= MOST_LINES
    assert played(subject(kind)) == []


def test_nearly_all_that_they_read_is_followed_by_value() -> None:
    found = {kind.name: followed(kind, 60) for kind in RULES if subject(kind).pure}
    assert [name for name, each in found.items() if not each.followed] == []
    reads = [read for each in found.values() for read in each.reads]
    by_version = [read for read in reads if read in BY_VERSION]
    assert len(RULES) >= 20
    assert len(by_version) <= 0.05 * len(reads)


def test_the_page_tells_what_they_read_and_cost() -> None:
    rows = [row(kind, followed(kind, following.NODES)) for kind in RULES if subject(kind).pure]
    assert [line for line in rows if line not in PAGE.read_text()] == []
