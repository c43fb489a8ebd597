"""Rows F8 and F11: more questions than the server can answer, from all callers or from one."""

from __future__ import annotations

import json
import logging
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc  # type: ignore[import-untyped]  # ships no types

from mooring.framework import CycleState, FilterPlugin, NodeView, Pod, Verdicts
from mooring_client.v1 import nodes_pb2, objects_pb2
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1 import scheduling_service_pb2_grpc as pb_grpc
from tests.cli.commands import Started, serving_process, write_config
from tests.good_client import POD, ROOT
from tests.laboratories.soak.asking import PATIENCE
from tests.laboratories.soak.rounds import Round, Row, at_once

log = logging.getLogger(__name__)

PLUGIN_SECONDS = 0.06
"""Long enough that slots are short, and not the processor that callers and server share."""

TIMES = 5
GOODPUT = 0.8
CLIENT_TIMEOUT = 4.0
PLUGIN_PATH = {"PYTHONPATH": str(ROOT)}
SHED = {"RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED"}


class Slow(FilterPlugin[None]):
    """Takes its time for each pod: the server can answer some sixty calls a second."""

    name = "Slow"

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        time.sleep(PLUGIN_SECONDS)
        return Verdicts.passed(len(nodes))


@contextmanager
def slow_server() -> Iterator[Started]:
    """`mooring serve` with that plugin."""
    profile = {"plugins": {"filter": {"enabled": [{"name": Slow.name}]}}}
    with tempfile.TemporaryDirectory() as folder:
        config = write_config(Path(folder) / "config.yaml", profile)
        plugin = f"{Slow.__module__}:{Slow.__name__}"
        with serving_process(
            Path(folder), "--config", config, "--plugin", plugin, twins=PLUGIN_PATH
        ) as started:
            assert started.ready, started.log.read_text()
            yield started


def question(uid: str = "good") -> pb.FilterRequest:
    metadata = {"name": "good", "namespace": "default", "uid": uid}
    about: dict[str, Any] = {**POD, "metadata": metadata}
    pod = objects_pb2.PodSource(object=objects_pb2.KubernetesObject(json=json.dumps(about).encode()))
    return pb.FilterRequest(pod=pod, nodes=nodes_pb2.NodeSelection(all=nodes_pb2.AllNodes()))


def answered_at_best(stub: pb_grpc.SchedulingServiceStub, seconds: float) -> float:
    """Calls a second that are answered where each of some callers waits for its answer."""
    began = time.monotonic()
    end = began + seconds

    def ask(_caller: int) -> int:
        count = 0
        while time.monotonic() < end:
            stub.Filter(question(), timeout=60)
            count += 1
        return count

    count: int = sum(at_once(16, ask, range(16)))
    return count / (time.monotonic() - began)


def overload_shed(round_: Round) -> None:
    """Five times that: most possible answers are given, other calls are rejected, and health answers at
    once.
    """
    seconds = float(round_.some(5, 20))
    patience = 1.0 if round_.size == 1.0 else PATIENCE
    with slow_server() as started, grpc.insecure_channel(started.address("grpc")) as channel:
        stub = pb_grpc.SchedulingServiceStub(channel)
        best = answered_at_best(stub, max(1.0, seconds / 4))
        calls: list[Any] = []
        began, checked = time.monotonic(), 0
        with grpc.insecure_channel(started.address("health")) as probes:
            health = health_pb2_grpc.HealthStub(probes)
            while (passed := time.monotonic() - began) < seconds:
                while len(calls) < passed * best * TIMES:
                    calls.append(stub.Filter.future(question(), timeout=CLIENT_TIMEOUT))
                assert health.Check(health_pb2.HealthCheckRequest(), timeout=patience).status == 1
                checked += 1
                time.sleep(0.005)
        codes = Counter(call.code().name for call in calls)
        goodput = codes.pop("OK") / (time.monotonic() - began)
        assert {*codes} <= SHED, codes
        if round_.size == 1.0:
            # A shorter one is over before the two rates can be distinguished from the machine's other work.
            assert goodput >= GOODPUT * best, f"{goodput:.0f} of {best:.0f} calls/s are answered, {codes}"
        assert stub.Filter(question(), timeout=CLIENT_TIMEOUT) is not None
        round_.inputs += len(calls) + checked
        round_.faults += codes.total()


OTHERS = 4
SLOWED = 1.5
"""A client at ten times its share may slow down the slowest hundredth of others' calls by this factor."""


def greedy_client(round_: Round) -> None:
    """Five clients share the server, and one of them wants ten times its share now and then."""
    seconds = float(round_.some(10, 10))
    with slow_server() as started, ExitStack() as open_:
        channels = [
            open_.enter_context(
                grpc.insecure_channel(started.address("grpc"), [("grpc.use_local_subchannel_pool", 1)])
            )
            for _ in range(OTHERS + 1)
        ]
        greedy, *others = map(pb_grpc.SchedulingServiceStub, channels)
        share = answered_at_best(greedy, 2.0) / (OTHERS + 1)
        took: dict[float, list[float]] = {0.5: [], 10.0: []}
        for times in (*took, *took, *took):
            over = threading.Event()
            asking = threading.Thread(target=ask_at, args=(greedy, share * times, over))
            asking.start()
            try:
                for some in at_once(OTHERS, partial(ask_in_turn, 2 / share, seconds), others):
                    took[times] += some
            finally:
                over.set()
                asking.join()
            round_.faults += times > 1
        calm, beside = (sorted(each) for each in took.values())
        round_.inputs += len(calm) + len(beside)
        slowest = [each[int(0.99 * len(each))] for each in (calm, beside)]
        log.info("others' p99 %.3f -> %.3f s", *slowest)
        if round_.size == 1.0:
            assert slowest[1] <= SLOWED * slowest[0], f"others' p99 {slowest[0]:.3f} -> {slowest[1]:.3f} s"


def ask_at(stub: pb_grpc.SchedulingServiceStub, rate: float, over: threading.Event) -> None:
    """Send calls at a rate, without waiting for answers."""
    calls: list[Any] = []
    while not over.wait(1 / rate):
        # Its own pods: calls about a pod whose threads are stuck are rejected, others' too.
        calls.append(stub.Filter.future(question(f"greedy-{len(calls)}"), timeout=CLIENT_TIMEOUT))
    for call in calls:
        call.cancel()


def ask_in_turn(every: float, seconds: float, stub: pb_grpc.SchedulingServiceStub) -> list[float]:
    """Return the seconds of calls that a client makes one after the other, each of which is answered."""
    took, end = list[float](), time.monotonic() + seconds
    while (began := time.monotonic()) < end:
        stub.Filter(question(), timeout=60)
        took.append(time.monotonic() - began)
        time.sleep(max(0.0, every - took[-1]))
    return took


ROWS = (Row("F8", "overload_shed", overload_shed), Row("F11", "greedy_client", greedy_client))
