"""The cost of questions about the future in process: places in sessions, capacity, removal,
groups, changes.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from random import Random
from typing import Any

from mooring.app.engine import Core, build_core, configuration_of, registry_of
from mooring.app.options import EngineOptions
from mooring.app.sessions import LiveState
from mooring.cluster.decoding import from_manifest
from mooring.framework import Pod
from mooring.framework.quantity import Quantity
from mooring.kernels.compile import wait_for_compiler
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.sessions.capacity import capacity_of
from mooring.sessions.change.search import ChangeSearch
from mooring.sessions.change.steps import Kind
from mooring.sessions.node_groups import NodeGroup, NodeGroups
from mooring.sessions.pending import place_pending
from mooring.sessions.placing import place_alike
from mooring.sessions.removal import Removal, adopted
from mooring.sessions.sessions import MAX_LEASE_SECONDS, Session, Sessions
from mooring.sessions.work_trees import Work
from mooring.testing.builders import Manifest, make_node, make_pod, pod_manifest
from tests.laboratories.bench.cluster import ZONES, node, node_name, own_request
from tests.laboratories.bench.memory import resident
from tests.laboratories.bench.shapes import HOSTNAME, ZONE
from tests.laboratories.bench.workload import Repeat, Sample, Size, Workload, percentile, timed

OFFERS: Mapping[str, Quantity] = {"cpu": "16", "memory": "64Gi", "pods": 110}
SPREAD_TOO_MANY = 2
PODS_PER_NODE, TEMPLATES, SHAPES, GROUPS, PENDING = 30, 50, 500, 400, 1000
BATCH, SEED, PLACED = 1000, 42, 10
OPTIONS = EngineOptions()
OWNED = {"ownerReferences": [{"kind": "ReplicaSet", "name": "rs", "uid": "rs", "controller": True}]}


def workloads(size: Size) -> list[Workload]:
    """Return a cluster with pods of some templates on each node; for node groups, none."""
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
            f"futures/Sessions/{cluster}",
            partial(_sessions, size),
            {
                "open, place, revert p50 µs": "- / 1000",
                "filter p50 µs": "- / 100",
                f"MB of {size.pods} sessions": "- / 1000",
            },
            note=f"each places {PLACED} pods; filter: all nodes, for a pod that is new",
        ),
        Workload(
            f"futures/NodeGroups/{PENDING}Pods/{GROUPS}Groups",
            partial(_node_groups, size),
            {"all groups s": "5 / 1"},
            note="the mix of Karpenter's benchmark; no nodes are there",
        ),
        *(
            Workload(
                f"futures/Change/{cluster}/{variant}",
                partial(_change, size, room=room),
                {"ms": "- / 100"},
                note=f"processor time; hard spreading by zone: {SPREAD_TOO_MANY} pods have to go",
            )
            for variant, room in (("RoomElsewhere", True), ("NoRoomAtAll", False))
        ),
    ]


def _prepare(size: Size, question: Callable[[Work, Size], Repeat], _running: ExitStack) -> Repeat:
    nodes, pods = manifests(size.nodes)
    return question(work_on(map(from_manifest, [*nodes, *pods])), size)


def manifests(nodes: int) -> tuple[list[Manifest], list[Manifest]]:
    """Return ``nodes`` nodes, and the pods that run there."""
    dice = Random(SEED)
    return (
        [node(number, offers=OFFERS) for number in range(nodes)],
        [_running_pod(at, dice.randrange(TEMPLATES)) for at in range(nodes * PODS_PER_NODE)],
    )


def _running_pod(number: int, template: int) -> Manifest:
    return pod_manifest(
        f"running-{number}",
        node=node_name(number // PODS_PER_NODE),
        requests=own_request(template),
        metadata={"uid": f"running-{number}", **OWNED},
    )


def work_on(objects: Iterable[Any]) -> Work:
    """Return a work tree over these objects."""
    return LiveState(_core_on(objects), OPTIONS).work()


def _core_on(objects: Iterable[Any]) -> Core:
    registry = registry_of(OPTIONS)
    core = build_core(OPTIONS, registry, configuration_of(OPTIONS, registry))
    core.state.replace("bench", objects)
    return core


def _sessions(size: Size, _running: ExitStack) -> Repeat:
    nodes, pods = manifests(size.nodes)
    core = _core_on(map(from_manifest, [*nodes, *pods]))
    template = [(make_pod("p", requests=own_request(7)), core.engine.profile())]

    def place(sessions: Sessions, session: Session, count: int) -> None:
        names = [f"{session.id}-{at}" for at in range(count)]
        with sessions.working(session, NoDeadline()) as work:
            place_alike(work, template, [0] * count, names, names, seed=SEED)

    def open_and_revert(sessions: Sessions) -> None:
        session = sessions.open()
        place(sessions, session, 1)
        sessions.revert(session, 0)
        sessions.close(session)

    def filtering(sessions: Sessions) -> Iterator[float]:
        session = sessions.open()
        with sessions.trying(session, NoDeadline()) as work:
            for number in range(size.pods // 10):
                pod, profile = make_pod(f"new-{number}", requests=own_request(7)), template[0][1]
                yield timed(partial(work.engine.filter, pod, profile, ALL_NODES))
        sessions.close(session)

    def repeat() -> Sample:
        sessions = Sessions(LiveState(core, OPTIONS))
        opened = [timed(partial(open_and_revert, sessions)) for _ in range(size.pods // 10)]
        return {
            "open, place, revert p50 µs": percentile(opened, 50) * 1e6,
            "filter p50 µs": percentile(list(filtering(sessions)), 50) * 1e6,
            f"MB of {size.pods} sessions": grown / 1e6,
        }

    def grow() -> int:
        sessions = Sessions(LiveState(core, OPTIONS))
        open_and_revert(sessions)
        before, many = resident(), [sessions.open(lease=MAX_LEASE_SECONDS) for _ in range(size.pods)]
        for session in many:
            place(sessions, session, PLACED)
        grown = resident() - before
        for session in many:
            sessions.close(session)
        return grown

    # Later the memory would be there already.
    grown = grow()
    return repeat


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
            capacity_of(work, shape, work.engine.profile(), progress=NoDeadline())
        return {"all shapes s": time.perf_counter() - began}

    return repeat


def _removal(work: Work, size: Size) -> Repeat:
    removal = Removal(work, partial(adopted, work.engine, ""), seed=SEED)
    names = [node_name(number) for number in range(size.nodes)]

    def repeat() -> Sample:
        began = time.perf_counter()
        found = list(removal.try_nodes(names, NoDeadline()))
        took = time.perf_counter() - began
        if not all(each.removable for each in found):
            raise RuntimeError("there is room for all pods of each node")
        return {"ms/node": took / len(names) * 1000}

    return repeat


def _node_groups(size: Size, _running: ExitStack) -> Repeat:
    work = work_on([])
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
        began = time.perf_counter()
        queue = place_pending(work, partial(adopted, work.engine, ""), SEED, NoDeadline(), pods)
        looking = NodeGroups(work, queue.left, partial(adopted, work.engine, ""), seed=SEED)
        best = looking.options(groups, NoDeadline())[0]
        took = time.perf_counter() - began
        if best.left_over:
            raise RuntimeError("the best group has room for all pods")
        return {"all groups s": took}

    repeat()
    wait_for_compiler()
    return repeat


def _change(size: Size, _running: ExitStack, *, room: bool) -> Repeat:
    """A zone has too many pods like the pod in question, and nodes are full except those of another zone, if
    any has ``room``.
    """
    selector = {"matchLabels": {"app": "web"}}
    rule = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    spread = {"topologySpreadConstraints": [{**rule, "labelSelector": selector}]}
    web = {"labels": {"app": "web"}, "spec": spread}
    full = PODS_PER_NODE - 1

    def running(at: int, number: int) -> Manifest:
        kept = 500 if room and at % ZONES == 0 else 552
        fields: Manifest = (
            {"requests": {"cpu": f"{kept}m"}} if number < full else {"requests": {"cpu": "100m"}, **web}
        )
        uid = f"running-{at}-{number}"
        return pod_manifest(uid, node=node_name(at), metadata={"uid": uid, **OWNED}, **fields)

    def there(at: int) -> int:
        return PODS_PER_NODE + (at % ZONES == 0 and at < ZONES * SPREAD_TOO_MANY)

    nodes = [node(at, offers=OFFERS, labels={HOSTNAME: node_name(at)}) for at in range(size.nodes)]
    pods = (running(at, number) for at in range(size.nodes) for number in range(there(at)))
    work = work_on(map(from_manifest, itertools.chain(nodes, pods)))
    asked = make_pod("asked", requests={"cpu": "500m"}, metadata={"uid": "asked"}, **web)
    profile = work.engine.profile()
    wanted = Kind.REQUEST if room else Kind.NODE

    def repeat() -> Sample:
        began = time.thread_time()
        found = ChangeSearch(work, asked, profile, lambda _: profile, progress=NoDeadline()).run()
        took = time.thread_time() - began
        if not any(wanted in {step.kind for step in option.steps} for option in found.options):
            raise RuntimeError(f"an option with {wanted.name} helps")
        return {"ms": took * 1000}

    repeat()
    return repeat


def diverse(count: int) -> list[Pod]:
    """Return pods as ``makeDiversePods`` of Karpenter's benchmark makes them: five sorts, of each a fifth."""
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
