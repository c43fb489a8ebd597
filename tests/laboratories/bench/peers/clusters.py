"""Pods bound per second by all contestants, in rounds on clusters of one size."""

from __future__ import annotations

from collections.abc import Mapping

from tests.laboratories.bench.peers import rounds
from tests.laboratories.bench.peers.contestants import IN_FLIGHT, Start
from tests.laboratories.bench.steps import steps
from tests.laboratories.bench.workload import Figure, Sample, figures

BASES = ("KubeScheduler", "Echo", "EchoFollowing", f"{IN_FLIGHT}off")
"""The contestants that the others are compared with."""

TARGET = "80 / 90"
"""Percent of the echo's pods/s that mooring as an extender reaches at least and aims at, by nodes."""


def bound(nodes: int, contestants: Mapping[str, Start], pods: int, repeats: int) -> list[Figure]:
    """Run the rounds; return first the rates of all, then their CPU."""
    rates: dict[str, list[Sample]] = {name: [] for name in contestants}
    cpu: dict[str, list[Sample]] = {name: [] for name in contestants}
    with steps(repeats) as bar:
        for _ in range(repeats):
            bar.doing(f"{nodes}Nodes")
            found = rounds.bind(nodes, contestants, pods)
            bar.done()
            compared = rounds.against({name: rate for name, (rate, _) in found.items()}, BASES)
            for name in contestants:
                rates[name].append(compared[name])
                cpu[name].append(found[name][1])
    shown = [figures(f"{nodes}Nodes/{name}", rates[name], targets(name), {}) for name in contestants]
    shown += [figures(f"{nodes}NodesCPU/{name}", cpu[name], {}, {}) for name in contestants]
    return [figure for workload in shown for figure in workload]


def targets(name: str) -> dict[str, str]:
    """Return the targets of a contestant's metrics."""
    extender = name.startswith("Mooring") and name != "MooringScheduler"
    return {"% of Echo": TARGET} if extender else {}
