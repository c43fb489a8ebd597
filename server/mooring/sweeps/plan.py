"""A sweep, and one run of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from statistics import pstdev

from mooring.app.offline import Shown, core_over, place_in
from mooring.app.options import EngineOptions
from mooring.framework import NodeTable, Pod
from mooring.framework.errors import FailedPreconditionError
from mooring.replay.quality import Quality
from mooring.runtime.profiles.profiles import oldest_first
from mooring.sweeps.arrivals import PodArrivals, offered

Figures = Mapping[str, float]
"""By name."""

SAMPLES = 100
"""Samples of the cluster while the pods of a run come, about."""

ARRIVED, PLACED, PREEMPTED = "arrived", "placed", "preempted"
NODES_USED, DEVIATION = "nodes used", "pods per node, deviation"


@dataclass(frozen=True, slots=True)
class Run:
    """One combination.

    Attributes:
        workload: The name of a cluster with its pending pods.
        config: The name of a configuration.
        seed: Decides between nodes of equal totals, and what is random in the arrivals.
    """

    workload: str
    config: str
    seed: int


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """All combinations of some clusters, configurations and seeds. It can be sent to another process.

    Attributes:
        workloads: By name the paths of manifests: nodes, pending pods, and what else scheduling reads.
        configs: By name the file of a KubeSchedulerConfiguration; "" = the default profile.
        seeds: The seeds.
        arrivals: How the pods come.
        options: The release, gates and plugins.
    """

    workloads: Mapping[str, tuple[str, ...]]
    configs: Mapping[str, str] = field(default_factory=lambda: {"default": ""})
    seeds: Sequence[int] = (0,)
    arrivals: PodArrivals = field(default_factory=PodArrivals)
    options: EngineOptions = field(default_factory=EngineOptions)

    @property
    def runs(self) -> list[Run]:
        """All of them: by workload, then configuration, then seed."""
        return [Run(*each) for each in product(self.workloads, self.configs, self.seeds)]


def place(sweep: SweepPlan, run: Run) -> Figures:
    """Place the pods of one run.

    Returns:
        How many pods ``arrived`` and how many of them were ``placed``. How many pods were ``preempted``. How
        many nodes have a placed pod, and the standard deviation of these per node, over all nodes. For each
        resource that nodes offer, the percentage that is requested in the end, and the means of the figures
        of ``Quality`` over all arrivals. All are rounded to 4 places.

    Raises:
        ConfigError, RegistryError, InvalidArgumentError: Something can't be used.
        FailedPreconditionError: A plugin failed.
    """
    options = replace(sweep.options, config=sweep.configs[run.config])
    core, manifests = core_over(options, sweep.workloads[run.workload])
    pending = oldest_first(pod for pod in manifests.pods if pod.pending)
    table = core.state.snapshot.nodes
    coming = sweep.arrivals.of(pending, table, run.seed)
    quality = Quality(lambda: core.state.snapshot.nodes, max(1.0, len(coming) / SAMPLES))
    outcomes = place_in(core.engine, coming, _sampled(quality), seed=run.seed)
    failure = next((outcome for outcome in outcomes if outcome.failed), None)
    if failure is not None:
        raise FailedPreconditionError(f"pod {failure.pod}: {failure.message}", reason="PLUGIN_FAILED")
    pods = Counter(each.node for each in outcomes if each.node is not None and not each.bound)
    preempted = sum(bool(outcome.preempted_by) for outcome in outcomes)
    spread = {NODES_USED: len(pods), DEVIATION: _deviation(pods, len(table))}
    counts = {ARRIVED: len(coming), PLACED: pods.total(), PREEMPTED: preempted}
    return {**counts, **spread, **_allocation(table), **quality.means()}


def _sampled(quality: Quality) -> Shown:
    """Return what samples the cluster while pods are placed; the time is the number of pods so far."""

    def steps(placed: Iterable[Pod], count: int) -> Iterator[Pod]:
        quality.sample(0.0)
        for number, pod in enumerate(placed, 1):
            quality.arrive(pod, number)
            quality.tick(number)
            yield pod
        quality.sample(float(count))

    return steps


def _deviation(pods: Counter[str], nodes: int) -> float:
    """Return the standard deviation of pods per node: 0 if all nodes have as many."""
    counts = [*pods.values(), *[0] * (nodes - len(pods))]
    return round(pstdev(counts), 4) if counts else 0.0


def _allocation(table: NodeTable) -> dict[str, float]:
    """By resource the percentage that is requested, of those that nodes offer."""
    rows = table.rows()
    allocation = {}
    for resource, at in sorted(table.resource_index.items()):
        if available := offered(table, resource):
            requested = int(table.requested[at, rows].sum()) if at < len(table.requested) else 0
            allocation[f"{resource} %"] = round(100 * requested / available, 4)
    return allocation
