"""The cost of an author's rule, next to the profile without it, alternately, in the same run.

The rules read a label, free memory, a label and an annotation, and a declared counter. Figures of processes
are processor time of the server. ``make bench PART=own_rules`` measures larger clusters, too.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import grpc

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework import Plugin, Pod
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing.builders import pod_manifest
from mooring.testing.question import NoBinder
from mooring_client.v1 import scheduling_service_pb2 as scheduling
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.laboratories.bench.cluster import RACK, node, node_name, own_request
from tests.laboratories.bench.extender import one_pod, reordered
from tests.laboratories.bench.http_client import HttpClient
from tests.laboratories.bench.in_process import SEED, WARM_UP
from tests.laboratories.bench.processes import processor_seconds, start_server
from tests.laboratories.bench.remote import Changes, schedule_request
from tests.laboratories.bench.report import FOLDER, publish
from tests.laboratories.bench.rules import RULES, CountPerRack, ScoreFree
from tests.laboratories.bench.steps import measure_all
from tests.laboratories.bench.workload import Repeat, Sample, Size, Workload, percentile, timed_for

RACKS = 50
TURN = 20
"""Decisions of one side before it is the other's turn."""

TURNS = 20
A_CALL = 10
"""Pods that are reserved by one call."""

A_BATCH = 100
"""Like pods that one call in process decides."""

APPS = 40
TEMPLATES = 200
OVER, FIRST = "ms over", "first ms over"
LIMIT = {OVER: "0.2 / 0.05"}
ALONE = "the profile has this rule alone; names in another order, and a row changed, for each pod"

FOLLOWED_BY_ROW: tuple[type[Plugin[None]], ...] = (ScoreFree, CountPerRack)
"""The rules whose answers each decision changes."""

Rule = type[Plugin[None]]
Mix = Callable[["Side", int], Pod]
"""Makes the pod with this number, after the changes before it."""


def workloads(size: Size) -> list[Workload]:
    """Return each rule in process, for reservations over gRPC, and behind kube-scheduler."""
    cluster, found = f"{size.nodes}Nodes{size.running}Pods", []
    mixes: dict[str, Mix] = {"OneTemplate": _like, f"{TEMPLATES}Templates": _various, "Churn": _amid_churn}
    for rule, (mix, make) in itertools.product(RULES, mixes.items()):
        if mix == "OneTemplate" or rule in FOLLOWED_BY_ROW:
            prepare = partial(_prepare_sides, size, rule, make)
            found.append(Workload(f"rules/{cluster}/{rule.name}/{mix}", prepare, LIMIT))
    for rule in RULES:
        batches = f"rules/{cluster}/{rule.name}/{A_BATCH}InOneCall"
        found.append(Workload(batches, partial(_prepare_batches, size, rule), LIMIT))
    for rule in RULES:
        remote = f"rules/{size.nodes}Nodes/{rule.name}/{A_CALL}PodsReservedOverGrpc"
        found.append(Workload(remote, partial(_prepare_calls, size, rule), LIMIT))
    for rule in RULES:
        behind = f"rules/{size.nodes}NamesChanging/{rule.name}/Extender"
        found.append(Workload(behind, partial(_prepare_extender, size, rule), note=ALONE))
    return found


def configured(rule: Rule | None, *, alone: bool = False) -> dict[str, Any]:
    """Return a configuration of the default profile with ``rule``, or of a profile with the rule alone."""
    points: dict[str, Any] = {"enabled": [] if rule is None else [{"name": rule.name}]}
    if alone:
        points["disabled"] = [{"name": "*"}]
        points["enabled"] += [{"name": "PrioritySort"}, {"name": "DefaultBinder"}]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "plugins": {"multiPoint": points}}],
    }


class Side:
    """An engine with a rule, or without one, over a cluster of its own in which pods run."""

    def __init__(self, rule: Rule | None, size: Size) -> None:
        nodes = self.nodes = size.nodes
        self.state = State()
        pods = (_pod(at, at % TEMPLATES, "running", node_name(at % nodes)) for at in range(size.running))
        self.state.replace("bench", [*map(_node, range(nodes)), *pods])
        registry = new_in_tree_registry()
        if rule is not None:
            registry.register(rule.name, rule)
        configuration = from_document(configured(rule), registry.catalog())
        self.engine = build_engine(configuration, registry, self.state, NoBinder())

    def decide(self, pods: Iterator[Pod], count: int = TURN) -> float:
        """Return the processor time of ``count`` decisions, in seconds."""
        took, profile = 0.0, self.engine.profile()
        for pod in itertools.islice(pods, count):
            began = time.thread_time()
            choice = self.engine.place(pod, profile, ALL_NODES, seed=SEED)
            took += time.thread_time() - began
            if choice.node_name is None:
                raise RuntimeError(f"{pod.metadata.name} found no node")
        return took

    def decide_at_once(self, pods: Iterator[Pod]) -> float:
        """Return the processor time a pod of the next ones that are decided in one call, in seconds.

        A call may end early, such as for a self-check; the call after it decides more.
        """
        batch = list(itertools.islice(pods, A_BATCH))
        names, uids = ([getattr(pod.metadata, own) for pod in batch] for own in ("name", "uid"))
        alike = [(batch[0], self.engine.profile())]
        began = time.thread_time()
        decided = len(self.engine.place_batch(alike, [0] * A_BATCH, names, uids, seed=SEED))
        took = time.thread_time() - began
        return took / decided if decided else self.decide_at_once(pods)


def _node(number: int, seen: int = 0) -> Any:
    """Return a node in one of the racks, as it reported its health at minute ``seen``."""
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": f"2026-01-01T00:{seen:02}:00Z"}
    labels = {RACK: f"rack-{number % RACKS}"}
    return from_manifest(node(number, labels=labels, status={"conditions": [ready]}))


def _pod(number: int, template: int, prefix: str = "pod", node: str = "") -> Any:
    """Return a pod of one of the apps; its requests are those of its template."""
    manifest = pod_manifest(
        f"{prefix}-{number}",
        node=node,
        labels={"app": f"app-{template % APPS}"},
        requests=own_request(template),
        metadata={"uid": f"uid-{prefix}-{number}"},
    )
    return from_manifest(manifest)


def _like(_side: Side, number: int) -> Pod:
    pod: Pod = _pod(number, 0)
    return pod


def _various(_side: Side, number: int) -> Pod:
    pod: Pod = _pod(number, number % TEMPLATES)
    return pod


def _amid_churn(side: Side, number: int) -> Pod:
    """The pod before ends elsewhere, and a node reports its health."""
    gone = Remove("Pod", "default", f"running-{number}")
    side.state.apply("bench", [gone, Put(_node(number % side.nodes, number % 60))])
    return _like(side, number)


def _prepare_sides(size: Size, rule: Rule, make: Mix, _running: ExitStack) -> Repeat:
    sides = [Side(each, size) for each in (None, rule)]
    pods = [map(partial(make, side), itertools.count()) for side in sides]
    first_own, first_having = (side.decide(each, 1) * 1e3 for side, each in zip(sides, pods, strict=True))
    for _ in range(WARM_UP):
        for side, each in zip(sides, pods, strict=True):
            side.decide(each)

    def repeat() -> Sample:
        took: list[list[float]] = [[], []]
        for _ in range(TURNS):
            for side, each, times in zip(sides, pods, took, strict=True):
                times.append(side.decide(each) / TURN * 1e3)
        own, having = map(statistics.median, took)
        return {OVER: having - own, "own ms": own, FIRST: first_having - first_own}

    return repeat


def _prepare_batches(size: Size, rule: Rule, _running: ExitStack) -> Repeat:
    sides = [Side(each, size) for each in (None, rule)]
    pods = [map(partial(_like, side), itertools.count()) for side in sides]
    for side, each in zip(sides, pods, strict=True):
        side.decide(each)

    def repeat() -> Sample:
        took: list[list[float]] = [[], []]
        for _ in range(TURNS):
            for side, each, times in zip(sides, pods, took, strict=True):
                times.append(side.decide_at_once(each) * 1e3)
        own, having = map(statistics.median, took)
        return {OVER: having - own, "own ms": own}

    return repeat


def _start(running: ExitStack, size: Size, rule: Rule | None, *, alone: bool = False) -> dict[str, str]:
    folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="mooring-bench-")))
    config = folder / "config.yaml"
    config.write_text(json.dumps(configured(rule, alone=alone)))
    flags = {"--config": str(config)}
    if rule is not None:
        flags["--plugin"] = f"{rule.__module__}:{rule.__name__}"
    return start_server(running, size.nodes, racks=RACKS, flags=flags)


def _prepare_calls(size: Size, rule: Rule, running: ExitStack) -> Repeat:
    """The servers take turns, a call each; their processor time is that between the repeat's ends."""
    servers = [_start(running, size, each) for each in (None, rule)]
    calls = [
        SchedulingServiceStub(running.enter_context(grpc.insecure_channel(server["grpc"]))).Schedule
        for server in servers
    ]
    numbers = itertools.count(0, A_CALL)

    def reserve() -> None:
        request = schedule_request(A_CALL, next(numbers))
        request.commit_mode = scheduling.COMMIT_MODE_RESERVE
        for call in calls:
            call(request)

    timed_for(size.seconds / 4, reserve)

    def repeat() -> Sample:
        before = [processor_seconds(server["metrics"]) for server in servers]
        pods = A_CALL * len(timed_for(size.seconds, reserve))
        after = [processor_seconds(server["metrics"]) for server in servers]
        own, having = ((now - was) / pods * 1e3 for was, now in zip(before, after, strict=True))
        return {OVER: having - own, "own ms": own}

    return repeat


def _prepare_extender(size: Size, rule: Rule, running: ExitStack) -> Repeat:
    server = _start(running, size, rule, alone=True)
    client = running.enter_context(closing(HttpClient(server["extender"])))
    changes = Changes(running.enter_context(grpc.insecure_channel(server["grpc"])))
    names = reordered([node_name(number) for number in range(size.nodes)])
    numbers = itertools.count()

    def call() -> tuple[float, float]:
        changes.next()
        return one_pod(client, numbers, names())

    timed_for(size.seconds / 4, call)

    def repeat() -> Sample:
        took: list[float] = []
        timed_for(size.seconds, lambda: took.append(sum(call())))
        return {"both p50 ms": percentile(took, 50) * 1e3, "both p99 ms": percentile(took, 99) * 1e3}

    return repeat


def main(arguments: Sequence[str] | None = None, folder: Path = FOLDER / "own-rules") -> int:
    """Measure, print and write the report.

    Returns:
        0.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.laboratories.bench.own_rules", description=__doc__, allow_abbrev=False
    )
    add = parser.add_argument
    add("--nodes", type=int, nargs="+", default=[5000, 50_000], help="sizes of the cluster")
    add("--repeats", type=int, default=3, help="repeats")
    add("--record", action="store_true", help="write the tables into docs/figures, too")
    args = parser.parse_args(arguments)
    every = [each for nodes in args.nodes for each in workloads(replace(Size(), nodes=nodes))]
    publish(
        "A rule of your own", measure_all(every, args.repeats), folder, "bench-rules" if args.record else ""
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
