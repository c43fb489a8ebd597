"""The cost of remembering decisions: the same calls with and without it, alternately, in one process.

``python -m tests.decision_journal.cost ROUNDS`` prints for each kind of call the processor time per decision,
without and with the journal, the explanations and the changes of the state, and the median of the ratios of
pairs. A pair is short and there are many, so that what else the machine does is in both parts of most.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from time import process_time
from typing import cast

import grpc

from mooring.app.extender import LocalContext
from mooring.service.scheduling.servicer import SchedulingServicer
from mooring.telemetry.metrics import Metrics
from mooring.testing import make_node, make_pod
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.service.backends import World, listening, sent, world

NODES = 5_000
CALLS = 50
PAIRS = 60
"""Calls in process, in a round."""
WARM = 20
"""Pairs that are not counted."""
CALLS_OVER_GRPC = 2_000
BATCH = 1_000
CONTEXT = cast("grpc.ServicerContext", LocalContext(60.0))

Work = Callable[[SchedulingServicer], int]
"""Has something decided; returns how many decisions that was, and undoes them where the clock stands."""


def one_by_one(servicer: SchedulingServicer) -> int:
    """Ask for pods that fit, one a call."""
    templates = [pb.PodTemplate(pod=sent(make_pod("web", requests={"cpu": "100m"}, metadata={"uid": "u"})))]
    for seed in range(CALLS):
        servicer.Schedule(pb.ScheduleRequest(templates=templates, seed=seed), CONTEXT)
    return CALLS


def for_extenders(servicer: SchedulingServicer) -> int:
    """Ask which nodes are feasible, as the extender does."""
    source = sent(make_pod("web", requests={"cpu": "100m"}, metadata={"uid": "u"}))
    for _ in range(CALLS):
        servicer.Filter(pb.FilterRequest(pod=source), CONTEXT)
    return CALLS


def that_fit_nowhere(servicer: SchedulingServicer) -> int:
    """Ask for pods that no node takes, which are evaluated in full."""
    templates = [pb.PodTemplate(pod=sent(make_pod("big", requests={"cpu": "640"}, metadata={"uid": "b"})))]
    for seed in range(CALLS):
        servicer.Schedule(pb.ScheduleRequest(templates=templates, seed=seed), CONTEXT)
    return CALLS


def batches(mode: pb.CommitMode.ValueType, w: World) -> Work:
    """Ask for batches, which are dry runs, or reserved and released."""
    number = 0

    def work(servicer: SchedulingServicer) -> int:
        nonlocal number
        templates = [pb.PodTemplate(pod=sent(make_pod("web", requests={"cpu": "1m"})))]
        for _ in range(3):
            number += 1
            names = [f"p{number}-{at}" for at in range(BATCH)]
            columns = pb.PodColumns(template_indices=[0] * BATCH, names=names, uids=names)
            request = pb.ScheduleRequest(templates=templates, pods=columns, commit_mode=mode)
            servicer.Schedule(request, CONTEXT)
            if mode != pb.COMMIT_MODE_DRY_RUN:
                for uid in names:
                    w.backend.committer.unreserve_pod("default", uid, uid)
        return 3 * BATCH

    return work


def ask(address: str, count: int) -> None:
    """Send a server ``count`` single pods, from a process of its own."""
    template = pb.PodTemplate(pod=sent(make_pod("web", requests={"cpu": "100m"}, metadata={"uid": "u"})))
    with grpc.insecure_channel(address) as channel:
        schedule = SchedulingServiceStub(channel).Schedule
        for seed in range(count):
            schedule(pb.ScheduleRequest(templates=[template], seed=seed))


def measure_over_grpc(rounds: int) -> None:
    """Print what a call costs the server, over a connection."""
    with (
        world(*(make_node(f"n{at}") for at in range(NODES))) as w,
        listening(replace(w.backend, decisions=None, metrics=Metrics())) as without,
        listening(w.backend) as remembering,
    ):
        times: dict[bool, list[float]] = {False: [], True: []}
        for number in range(rounds + 1):
            for on in (False, True) if number % 2 else (True, False):
                began = process_time()
                subprocess.run(
                    [sys.executable, "-m", __spec__.name, remembering if on else without], check=True
                )
                if number:
                    times[on].append((process_time() - began) / CALLS_OVER_GRPC)
        _print("over gRPC", times)


def measure(rounds: int) -> None:
    """Print what each kind of call costs."""
    room = {"cpu": "64", "memory": "256Gi", "pods": "250"}
    with world(*(make_node(f"n{at}", allocatable=room) for at in range(NODES))) as w:
        kinds: dict[str, Work] = {
            "single": one_by_one,
            "filter": for_extenders,
            "rejected": that_fit_nowhere,
            "dry-run batch": batches(pb.COMMIT_MODE_DRY_RUN, w),
            "reserved batch": batches(pb.COMMIT_MODE_RESERVE, w),
        }
        journal = w.state._writer.journal
        servicers = {
            False: SchedulingServicer(replace(w.backend, decisions=None)),
            True: SchedulingServicer(w.backend),
        }
        for name, work in kinds.items():
            times: dict[bool, list[float]] = {False: [], True: []}
            pairs = rounds * PAIRS // (10 if "batch" in name else 1)
            for number in range(WARM + pairs):
                for on in (False, True) if number % 2 else (True, False):
                    w.state._writer.journal = journal if on else None
                    began = process_time()
                    count = work(servicers[on])
                    if number >= WARM:
                        times[on].append((process_time() - began) / count)
            _print(name, times)


def _print(name: str, times: dict[bool, list[float]]) -> None:
    ratio = median(on / off for off, on in zip(times[False], times[True], strict=True))
    off, on = (median(times[each]) * 1e6 for each in (False, True))
    print(f"{name:15} {off:8.2f} us {on:8.2f} us  {100 * (ratio - 1):+.1f} %", flush=True)


if __name__ == "__main__":
    if ":" in sys.argv[1]:
        ask(sys.argv[1], CALLS_OVER_GRPC)
    else:
        measure_over_grpc(int(sys.argv[1]))
        measure(int(sys.argv[1]))
