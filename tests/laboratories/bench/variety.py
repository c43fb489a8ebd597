"""Decisions per second among pods that run and differ, and while pods and nodes change between decisions.

The running and the placed pods belong to StatefulSets, with a label of their own each, or to 50 Deployments.
Each decision assumes its pod; the next one sees it; nothing is bound.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import Change, Put, Remove
from mooring.cluster.state import State
from mooring.config import default
from mooring.framework.objects import Pod
from mooring.kernels.compile import compile_ahead
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.cycle import CycleOptions
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing.builders import Fields, Manifest, pod_manifest
from mooring.testing.question import NoBinder
from tests.laboratories.bench.cluster import POD_ASKS, POD_NAME, node, node_name, own_request
from tests.laboratories.bench.in_process import METRIC, SEED, WARM_UP, check
from tests.laboratories.bench.shapes import HOSTNAME, ZONE
from tests.laboratories.bench.workload import Repeat, Sample, Size, Workload

REPLICAS = 20
"""Pods of one StatefulSet."""

DEPLOYMENTS = 50
AT_LEAST = 5
"""Decisions of a repeat, however long they take."""

Make = Callable[[int, int], Manifest]
"""The pod with this number in a cluster with that number of nodes."""


@dataclass(frozen=True, slots=True)
class Mix:
    """Pods that run, pods that are placed among them, and what happens meanwhile.

    Attributes:
        name: The name of the workload.
        running: The pods that run; the nodes get them one after the other.
        pod: The pods that are placed.
        churn: Whether a pod ends and a node reports its health before each decision.
        images: Whether that node's list of images changes, too.
        target: Decisions per second at least, and those that are aimed at.
        note: A remark on the figure.
    """

    name: str
    running: Make
    pod: Make
    churn: bool = False
    images: bool = False
    target: str = ""
    note: str = ""


def replica(number: int, _nodes: int, *, spec: Fields | None = None, prefix: str = "replica") -> Manifest:
    """Return a pod of a StatefulSet: its name is one of its labels."""
    name = f"{prefix}-{number}"
    labels = {"app": app_of(number), POD_NAME: name}
    return pod_manifest(name, labels=labels, requests=POD_ASKS, metadata={"uid": f"uid-{name}"}, spec=spec)


def app_of(number: int) -> str:
    """Return the StatefulSet of a replica."""
    return f"set-{number // REPLICAS}"


def spread_replica(number: int, nodes: int) -> Manifest:
    """Return a replica whose set is spread over zones."""
    return replica(number, nodes, spec=_spread(app_of(number)))


def apart_replica(number: int, nodes: int) -> Manifest:
    """Return a replica that shares its node with no other of its set."""
    return replica(number, nodes, spec=_apart(app_of(number)))


def daemon(number: int, nodes: int) -> Manifest:
    """Return a pod of a DaemonSet: it names its node, and is otherwise like the others."""
    field = {"key": "metadata.name", "operator": "In", "values": [node_name(number % nodes)]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    spec = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}
    name = f"daemon-{number}"
    return pod_manifest(
        name, labels={"app": "agent"}, requests=POD_ASKS, metadata={"uid": f"uid-{name}"}, spec=spec
    )


def deployed(number: int, _nodes: int, *, which: int = 0, prefix: str = "deployed") -> Manifest:
    """Return a pod of the Deployment ``which``: of ten, one is spread over zones, and one keeps its pods
    apart.
    """
    app, name = f"app-{which}", f"{prefix}-{number}"
    spec = {3: _spread(app), 7: _apart(app)}.get(which % 10)
    return pod_manifest(
        name,
        labels={"app": app},
        requests=own_request(which),
        metadata={"uid": f"uid-{name}"},
        spec=spec,
    )


def any_deployed(number: int, nodes: int) -> Manifest:
    """Return a pod of any Deployment, of few of them often."""
    weights = [1 / (which + 1) for which in range(DEPLOYMENTS)]
    [which] = random.Random(number).choices(range(DEPLOYMENTS), weights)
    return deployed(number, nodes, which=which)


def _spread(app: str) -> Fields:
    selector = {"matchLabels": {"app": app}}
    constraint = {"maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**constraint, "labelSelector": selector}]}


def _apart(app: str) -> Fields:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOSTNAME}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _running_deployed(number: int, nodes: int) -> Manifest:
    return deployed(number, nodes, which=number % DEPLOYMENTS, prefix="running")


RUNNING = partial(replica, prefix="running")
CHURN = "before each decision, outside the time, a pod ends and a node reports its health"
MANY_CHURNED = "10k / 30k"
"""The target of pods of many templates amid churn."""

MIXES = (
    Mix(
        "Variety/OwnLabels",
        RUNNING,
        replica,
        target="15k / 50k",
        note="each pod has a label of its own, running ones too",
    ),
    Mix(
        "Variety/OwnNode",
        RUNNING,
        daemon,
        target="15k / 50k",
        note="each pod names its node, as a DaemonSet's does",
    ),
    Mix(
        "Variety/OwnLabelsZoneSpread",
        RUNNING,
        spread_replica,
        target="3k / 10k",
        note=f"sets of {REPLICAS} spread over zones",
    ),
    Mix(
        "Variety/OwnLabelsApart",
        RUNNING,
        apart_replica,
        target="3k / 10k",
        note="anti-affinity by host within a set",
    ),
    Mix("Churn/OneTemplate", _running_deployed, deployed, churn=True, note=CHURN),
    Mix(
        "Churn/OneTemplateNewImages",
        _running_deployed,
        deployed,
        churn=True,
        images=True,
        note=f"{CHURN} and a new list of images",
    ),
    Mix(
        f"Churn/{DEPLOYMENTS}Templates",
        _running_deployed,
        any_deployed,
        churn=True,
        target=MANY_CHURNED,
        note=f"{CHURN}; a tenth spread, a tenth anti-affinity",
    ),
    Mix(
        f"Churn/{DEPLOYMENTS}TemplatesNewImages",
        _running_deployed,
        any_deployed,
        churn=True,
        images=True,
        target=MANY_CHURNED,
        note=f"{CHURN} and a new list of images; a tenth spread, a tenth anti-affinity",
    ),
)


def workloads(size: Size) -> list[Workload]:
    """Return the default profile over all nodes."""
    cluster = f"{size.nodes}Nodes{size.running}Pods"
    return [
        Workload(
            f"core/{group}/{cluster}/{name}",
            partial(_prepare, size, mix),
            {METRIC: mix.target},
            note=mix.note,
        )
        for mix in MIXES
        for group, _, name in [mix.name.partition("/")]
    ]


class Placing:
    """A mix's cluster with an engine over it, and its pods to come."""

    def __init__(self, mix: Mix, nodes: int, running: int) -> None:
        self._mix, self._nodes = mix, nodes
        self.state = State()
        placed = (_on_a_node(mix.running(at, nodes), at % nodes) for at in range(running))
        manifests = itertools.chain(map(_healthy_node, range(nodes)), placed)
        self.state.replace("bench", [from_manifest(manifest) for manifest in manifests])
        self._numbers = itertools.count()
        self._changes = self._happens(running) if mix.churn else iter(())
        registry = new_in_tree_registry()
        self.engine: Engine = build_engine(default(registry.catalog()), registry, self.state, NoBinder())

    def next_pod(self) -> Pod:
        """Return the next one to decide; what happens before it has happened."""
        self.state.apply("bench", next(self._changes, ()))
        pod = from_manifest(self._mix.pod(next(self._numbers), self._nodes))
        assert isinstance(pod, Pod)
        return pod

    def decide(self, pods: int, seconds: float) -> float:
        """Return the decisions a second, for ``pods`` pods or ``seconds`` seconds; the first is compared with
        one in full.
        """
        took: list[float] = []
        profile, expected = self.engine.profile(), None
        for number in range(pods):
            pod = self.next_pod()
            if not number:
                expected = self.engine.decide(pod, profile, ALL_NODES, seed=SEED, options=CycleOptions())
            began = time.perf_counter()
            choice = self.engine.place(pod, profile, ALL_NODES, seed=SEED)
            took.append(time.perf_counter() - began)
            check([pod], [choice], None if number else expected)
            if len(took) >= AT_LEAST and sum(took) > seconds:
                break
        return len(took) / sum(took)

    def _happens(self, running: int) -> Iterator[list[Change]]:
        for number in range(running):
            gone = self._mix.running(number, self._nodes)["metadata"]
            images = [f"registry.example/new:{number}"] if self._mix.images else []
            seen = _healthy_node(number % self._nodes, minute=number % 60, images=images)
            yield [Remove("Pod", gone["namespace"], gone["name"]), Put(from_manifest(seen))]


def _healthy_node(number: int, minute: int = 0, images: Sequence[str] = ()) -> Manifest:
    """Return a node that said so at this minute."""
    beat = f"2026-01-01T00:{minute:02}:00Z"
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": beat}
    listed = [{"names": [name], "sizeBytes": 50_000_000} for name in images]
    return node(number, status={"conditions": [ready], "images": listed})


def _on_a_node(pod: Manifest, at: int) -> Manifest:
    return {**pod, "spec": {**pod["spec"], "nodeName": node_name(at)}, "status": {"phase": "Running"}}


def _prepare(size: Size, mix: Mix, _running: ExitStack) -> Repeat:
    placing = Placing(mix, size.nodes, size.running)
    placing.decide(WARM_UP, size.seconds)
    compile_ahead(size.nodes)

    def repeat() -> Sample:
        return {METRIC: placing.decide(size.decisions, size.seconds)}

    return repeat
