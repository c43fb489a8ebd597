"""What questions about the future cost in process: places in a session, capacity, removal, node groups."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from random import Random
from typing import Any

from mooring.app.engine import build_core, configuration_of, registry_of
from mooring.app.options import EngineOptions
from mooring.app.sessions import LiveState
from mooring.cluster.decoding import from_manifest
from mooring.framework import Pod
from mooring.framework.quantity import Quantity
from mooring.plugins.loops import wait_for_compiler
from mooring.runtime.cycle.plugin_calls import Unhurried
from mooring.sessions.capacity import capacity_of
from mooring.sessions.node_groups import NodeGroup, NodeGroups
from mooring.sessions.placing import place_alike
from mooring.sessions.removal import Removal, adopted
from mooring.sessions.work_trees import Work
from mooring.testing.builders import Manifest, make_node, make_pod, pod_manifest
from tests.bench.cluster import node, node_name, own_request
from tests.bench.shapes import HOSTNAME, ZONE
from tests.bench.workload import Repeat, Sample, Size, Workload

OFFERS: Mapping[str, Quantity] = {"cpu": "16", "memory": "64Gi", "pods": 110}
PODS_PER_NODE, TEMPLATES, SHAPES, GROUPS, PENDING = 30, 50, 500, 400, 1000
BATCH, SEED = 1000, 42
OWNED = {"ownerReferences": [{"kind": "ReplicaSet", "name": "rs", "uid": "rs", "controller": True}]}


def workloads(size: Size) -> list[Workload]:
    """A cluster with pods of some templates on each node; for node groups, none."""
    cluster = f"{size.nodes}Nodes"
    return [
        Workload(
            f"futures/Placements/{cluster}",
            partial(_prepare, size, _placements),
            {"placements/s": "60k / 100k"},
            note=f"batches of {BATCH} of one template in a work tree, taken back after each",
        ),
        Workload(
            f"futures/Capacity/{cluster}/{SHAPES}Shapes",
            partial(_prepare, size, _capacity),
            {"all shapes s": "- / 1"},
            note="each shape requests something else",
        ),
        Workload(
            f"futures/Removal/{cluster}/{PODS_PER_NODE}PodsANode",
            partial(_prepare, size, _removal),
            {"ms/node": "4 / 1"},
            note=f"{TEMPLATES} templates; nothing but room decides",
        ),
        Workload(
            f"futures/NodeGroups/{PENDING}Pods/{GROUPS}Groups",
            partial(_node_groups, size),
            {"all groups s": "5 / 1"},
            note="the mix of Karpenter's benchmark; no nodes are there",
        ),
    ]


def _prepare(size: Size, question: Callable[[Work, Size], Repeat], _running: ExitStack) -> Repeat:
    dice = Random(SEED)
    nodes = [from_manifest(node(number, offers=OFFERS)) for number in range(size.nodes)]
    pods = [
        from_manifest(_running_pod(at, dice.randrange(TEMPLATES))) for at in range(size.nodes * PODS_PER_NODE)
    ]
    return question(_work([*nodes, *pods]), size)


def _running_pod(number: int, template: int) -> Manifest:
    return pod_manifest(
        f"running-{number}",
        node=node_name(number // PODS_PER_NODE),
        requests=own_request(template),
        metadata={"uid": f"running-{number}", **OWNED},
    )


def _work(objects: Iterable[Any]) -> Work:
    options = EngineOptions()
    registry = registry_of(options)
    core = build_core(options, registry, configuration_of(options, registry))
    core.state.replace("bench", objects)
    return LiveState(core, options).work()


def _placements(work: Work, _size: Size) -> Repeat:
    template = [(make_pod("p", requests=own_request(7)), work.engine.profile())]
    names = [f"placed-{at}" for at in range(BATCH)]

    def repeat() -> Sample:
        began = time.perf_counter()
        placed = place_alike(work, template, [0] * BATCH, names, names, seed=SEED)
        took = time.perf_counter() - began
        work.go_back()
        return {"placements/s": len(placed) / took}

    repeat()
    return repeat


def _capacity(work: Work, _size: Size) -> Repeat:
    shapes = [make_pod(f"shape-{at}", requests=own_request(at)) for at in range(SHAPES)]

    def repeat() -> Sample:
        began = time.perf_counter()
        for shape in shapes:
            capacity_of(work, shape, work.engine.profile(), progress=Unhurried())
        return {"all shapes s": time.perf_counter() - began}

    return repeat


def _removal(work: Work, size: Size) -> Repeat:
    removal = Removal(work, partial(adopted, work.engine, ""), seed=SEED)
    names = [node_name(number) for number in range(size.nodes)]

    def repeat() -> Sample:
        began = time.perf_counter()
        found = list(removal.try_nodes(names, Unhurried()))
        took = time.perf_counter() - began
        if not all(each.removable for each in found):
            raise RuntimeError("there is room for all pods of each node")
        return {"ms/node": took / len(names) * 1000}

    return repeat


def _node_groups(size: Size, _running: ExitStack) -> Repeat:
    work = _work([])
    count = PENDING if size.nodes > 1000 else 20
    groups = [
        NodeGroup(
            f"type-{at}",
            make_node(
                "t",
                labels={ZONE: "zone-0"},
                allocatable={"cpu": at + 1, "memory": f"{2 * (at + 1)}Gi", "pods": 10 * (at + 1)},
            ),
            price=float(at + 1),
        )
        for at in range(GROUPS)
    ]
    pods = diverse(count)

    def repeat() -> Sample:
        looking = NodeGroups(work, pods, lambda pod: work.engine.profile("", pod), seed=SEED)
        began = time.perf_counter()
        looking.place_existing(Unhurried())
        best = looking.options(groups, Unhurried())[0]
        took = time.perf_counter() - began
        if best.left_over:
            raise RuntimeError("the best group has room for all pods")
        return {"all groups s": took}

    repeat()
    wait_for_compiler()
    return repeat


def diverse(count: int) -> list[Pod]:
    """Pods as ``makeDiversePods`` of Karpenter's benchmark makes them: five sorts, of each a fifth."""
    dice = Random(SEED)

    def one_of(key: str) -> dict[str, str]:
        return {key: dice.choice("abcdefg")}

    def spreading(key: str) -> Manifest:
        selector = {"matchLabels": one_of("my-label")}
        rule = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
        return {"topologySpreadConstraints": [{**rule, "labelSelector": selector}]}

    def near(kind: str, key: str, labels: dict[str, str]) -> Manifest:
        term = {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
        return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}

    def pod(number: int) -> Pod:
        labels, spec = one_of("my-label"), {}
        kind = number * 5 // count
        if kind in (1, 2):
            spec = spreading((ZONE, HOSTNAME)[kind - 1])
        elif kind == 3:
            labels = one_of("my-affinity")
            spec = near("podAffinity", ZONE, labels)
        elif kind == 4:
            labels = {"app": "nginx"}
            spec = near("podAntiAffinity", HOSTNAME, labels)
        cpu, memory = dice.choice((100, 250, 500, 1000, 1500)), dice.choice((100, 256, 512, 1024, 2048, 4096))
        requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
        name = f"pending-{number}"
        return make_pod(name, labels=labels, requests=requests, spec=spec, metadata={"uid": name})

    return [pod(number) for number in range(count)]
