"""The same pods on the same cluster, decided by mooring and by kube-scheduler's own code, a process each.

A decision is finding a node, counting the pod there, and reserving what it needs there; nothing is queued,
nothing is bound.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from mooring.framework.quantity import parse_quantity
from mooring.kernels.compile import compile_ahead
from mooring.testing.builders import Manifest
from tests.laboratories.bench.cluster import NODE_OFFERS, own_request
from tests.laboratories.bench.families import FAMILIES, Family
from tests.laboratories.bench.peers.needs import DECIDE
from tests.laboratories.bench.scheduler_perf import WARM_UP, Cluster
from tests.laboratories.bench.shapes import pod
from tests.laboratories.bench.variety import replica, spread_replica
from tests.laboratories.bench.workload import Repeat, Sample, Workload

MOORING = "mooring /s"
EVERY_NODE, SAMPLED = "kube-scheduler /s, every node", "kube-scheduler /s, sampled"
PERCENTAGES = {EVERY_NODE: 100, SAMPLED: 0}
"""percentageOfNodesToScore: all, and kube-scheduler's own choice."""

AS_ON_CLUSTERS = Family("AsOnClusters", pod("pod", namespace="default"))
"""The pods of the other part: SchedulingBasic without earlier pods."""

OWN_REQUESTS = Family("SchedulingBasic", lambda number: pod("own", requests=own_request(number))(number))
"""Pods with different requests and like labels."""

OWN_LABELS = Family(
    "OwnLabelsZoneSpread",
    lambda number: spread_replica(number, 0),
    (lambda number: replica(number, 0, prefix="running"),),
    10,
    zones=("zone-0", "zone-1", "zone-2"),
)
"""Pods of StatefulSets among 10 a node of them: each has a label of its own; its set is spread over zones."""

ONE_A_NODE = Family(
    "OnePodANode", pod("large", requests={"cpu": "3", "memory": "500Mi"}), default_spread=False
)
"""The best case for OpportunisticBatching: like pods that fill a node each, and no spreading by default."""


def workloads(sizes: Sequence[int], pods: int) -> list[Workload]:
    """Return the clusters of the other part at every size, and the workloads of scheduler_perf at the
    largest.
    """
    largest = max(sizes)
    cases = [(f"{AS_ON_CLUSTERS.name}/{nodes}Nodes", AS_ON_CLUSTERS, nodes) for nodes in sizes]
    cases.append((f"{OWN_REQUESTS.name}/{largest}Nodes/OwnRequests", OWN_REQUESTS, largest))
    cases += [(f"{family.name}/{largest}Nodes", family, largest) for family in (OWN_LABELS, ONE_A_NODE)]
    others = ((family, min(largest, family.most_nodes)) for family in FAMILIES)
    cases += [(f"{family.name}/{nodes}Nodes", family, nodes) for family, nodes in others]
    return [
        Workload(f"decisions/{name}", partial(_prepare, family, nodes, pods)) for name, family, nodes in cases
    ]


def _prepare(family: Family, nodes: int, count: int, running: ExitStack) -> Repeat:
    deciders = {name: Decider(running, percentage, family) for name, percentage in PERCENTAGES.items()}
    mooring = Cluster(family, nodes)
    numbers = itertools.count()
    before = _next_pods(family, numbers, int(nodes * family.reserved_per_node))
    for decider in deciders.values():
        decider.decide(family.objects(nodes), [])
        decider.decide(*before)

    def repeat(pods: int) -> Sample:
        question = _next_pods(family, numbers, pods)
        rates = {name: pods / decider.decide(*question) for name, decider in deciders.items()}
        decoded = mooring.next_pods(pods)
        began = time.perf_counter()
        placed = mooring.decide(decoded)
        rate = pods / (time.perf_counter() - began)
        check("mooring", placed, question[1])
        times = {f"times {name.partition(', ')[2]}": rate / peer for name, peer in rates.items()}
        return {MOORING: rate, **rates, **times}

    repeat(WARM_UP)
    compile_ahead(nodes)
    return lambda: repeat(count)


def _next_pods(family: Family, numbers: Iterator[int], count: int) -> tuple[list[Manifest], list[Manifest]]:
    """Return the objects that the next ``count`` pods need, and the pods."""
    pods = [family.pod(number) for number in itertools.islice(numbers, count)]
    return [item for pod in pods for item in family.with_pod(pod)], pods


def check(name: str, placed: int, pods: Iterable[Manifest], refusal: str = "") -> None:
    """Check that a contestant has placed each pod that an empty node has room for.

    Raises:
        RuntimeError: It has placed others, and its rate says nothing.
    """
    expected = sum(map(_fits_an_empty_node, pods))
    if placed != expected:
        raise RuntimeError(f"{name} has placed {placed} pods, not {expected}. {refusal}")


def _fits_an_empty_node(pod: Manifest) -> bool:
    [container] = pod["spec"]["containers"]
    asks = container.get("resources", {}).get("requests", {}).get("cpu", "0")
    return parse_quantity(asks) <= parse_quantity(NODE_OFFERS["cpu"])


class Decider:
    """kube-scheduler's code in a Go process of its own, which ends with ``running``."""

    def __init__(self, running: ExitStack, percentage: int, family: Family) -> None:
        command = [str(DECIDE), f"-percentage={percentage}"]
        command += [] if family.default_spread else ["-no-default-spread"]
        command += ["-preempt"] if family.preempts else []
        pipe = subprocess.PIPE
        self._process = running.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))

    def decide(self, objects: Sequence[Manifest], pods: Sequence[Manifest]) -> float:
        """Make ``objects`` known, place ``pods`` one after the other; return the seconds that placing them
        took.

        Raises:
            RuntimeError: The process ended, and has said why on standard error; or not every pod was placed.
        """
        question = {"objects": list(map(_identified, objects)), "pods": list(map(_identified, pods))}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{DECIDE} ended with {self._process.wait()}")
        answer = json.loads(line)
        check("kube-scheduler", answer["placed"], pods, answer["refusal"])
        seconds: float = answer["seconds"]
        return seconds


def _identified(manifest: Manifest) -> dict[str, Any]:
    """With a UID, which kube-scheduler's cache asks for; the API server gives one to every object."""
    metadata = manifest["metadata"]
    uid = f"{manifest['kind']}/{metadata.get('namespace', '')}/{metadata['name']}"
    return {**manifest, "metadata": {"uid": uid, **metadata}}
