"""The same pods on the same cluster, decided by mooring and by kube-scheduler's own code, a process each.

A decision is finding a node and counting the pod there; nothing is queued, nothing is bound.
"""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from mooring.testing.builders import Manifest
from tests.bench.cluster import own_request
from tests.bench.families import FAMILIES, Family
from tests.bench.peers.needs import DECIDE
from tests.bench.scheduler_perf import WARM_UP, Cluster
from tests.bench.shapes import pod
from tests.bench.variety import replica, spread_replica
from tests.bench.workload import Repeat, Sample, Workload, timed

MOORING = "mooring /s"
EVERY_NODE, SAMPLED = "kube-scheduler /s, every node", "kube-scheduler /s, sampled"
PERCENTAGES = {EVERY_NODE: 100, SAMPLED: 0}
"""percentageOfNodesToScore: all, and kube-scheduler's own choice."""

AS_ON_CLUSTERS = Family("AsOnClusters", pod("pod", namespace="default"))
"""What the schedulers of the other part get: SchedulingBasic without pods that are there before."""

OWN_REQUESTS = Family("SchedulingBasic", lambda number: pod("own", requests=own_request(number))(number))
"""Pods of which each asks for something else; their labels are alike."""

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
"""What OpportunisticBatching is for: like pods that fill a node each, and no spreading by default."""


def workloads(sizes: Sequence[int], pods: int) -> list[Workload]:
    """The clusters of the other part at every size, and the workloads of scheduler_perf at the largest."""
    largest = max(sizes)
    cases = [(f"{AS_ON_CLUSTERS.name}/{nodes}Nodes", AS_ON_CLUSTERS, nodes) for nodes in sizes]
    cases.append((f"{OWN_REQUESTS.name}/{largest}Nodes/OwnRequests", OWN_REQUESTS, largest))
    cases += [(f"{family.name}/{largest}Nodes", family, largest) for family in (OWN_LABELS, ONE_A_NODE)]
    # The program of the other side neither makes room nor knows devices, which are reserved before.
    others = (family for family in FAMILIES if not family.preempts and not family.reserved_per_node)
    cases += [(f"{family.name}/{largest}Nodes", family, largest) for family in others]
    return [
        Workload(f"decisions/{name}", partial(_prepare, family, nodes, pods)) for name, family, nodes in cases
    ]


def _prepare(family: Family, nodes: int, count: int, running: ExitStack) -> Repeat:
    deciders = {name: Decider(running, percentage, family) for name, percentage in PERCENTAGES.items()}
    mooring = Cluster(family, nodes)
    numbers = itertools.count()
    objects = family.objects(nodes)
    for decider in deciders.values():
        decider.decide(objects, [])

    def repeat(pods: int) -> Sample:
        manifests = [family.pod(number) for number in itertools.islice(numbers, pods)]
        beside = [item for manifest in manifests for item in family.with_pod(manifest)]
        rates = {name: pods / decider.decide(beside, manifests) for name, decider in deciders.items()}
        decoded = mooring.next_pods(pods)
        rate = pods / timed(lambda: mooring.decide(decoded))
        times = {f"times {name.partition(', ')[2]}": rate / peer for name, peer in rates.items()}
        return {MOORING: rate, **rates, **times}

    repeat(WARM_UP)
    return lambda: repeat(count)


class Decider:
    """kube-scheduler's code in a Go process of its own, which ends with ``running``."""

    def __init__(self, running: ExitStack, percentage: int, family: Family) -> None:
        command = [str(DECIDE), f"-percentage={percentage}"]
        command += [] if family.default_spread else ["-no-default-spread"]
        pipe = subprocess.PIPE
        self._process = running.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))

    def decide(self, objects: Iterable[Manifest], pods: Iterable[Manifest]) -> float:
        """Make ``objects`` known, place ``pods`` in turn; the seconds that placing them took.

        Raises:
            RuntimeError: The process ended; it has said why on standard error.
        """
        question = {"objects": list(map(_identified, objects)), "pods": list(map(_identified, pods))}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{DECIDE} ended with {self._process.wait()}")
        seconds: float = json.loads(answer)["seconds"]
        return seconds


def _identified(manifest: Manifest) -> dict[str, Any]:
    """With a UID, which kube-scheduler's cache asks for; the API server gives one to every object."""
    metadata = manifest["metadata"]
    uid = f"{manifest['kind']}/{metadata.get('namespace', '')}/{metadata['name']}"
    return {**manifest, "metadata": {"uid": uid, **metadata}}
