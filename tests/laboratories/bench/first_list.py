"""A live cluster's first list: how long until everything is known, and how much memory it takes."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial

from mooring.cluster.api import ApiServer
from mooring.cluster.api.configuration import at
from mooring.cluster.sources import KubernetesSource
from mooring.cluster.state import State
from tests.laboratories.bench.memory import resident
from tests.laboratories.bench.processes import started
from tests.laboratories.bench.workload import Repeat, Sample, Size, Workload

PODS_PER_NODE = 30
TARGETS = {"synced s": "60 / 15", "resident MB": "1500 / 500"}


def workloads(size: Size) -> list[Workload]:
    """Return the list of a whole cluster from the fake API server, which shares the machine."""
    pods = size.nodes * PODS_PER_NODE
    return [
        Workload(
            f"first-list/{size.nodes}Nodes{pods}Pods",
            partial(_prepare, size.nodes, pods),
            TARGETS,
        )
    ]


def _prepare(nodes: int, pods: int, running: ExitStack) -> Repeat:
    line = running.enter_context(started("tests.laboratories.bench.api_server", str(nodes), str(pods)))
    return partial(elsewhere, partial(_at, line.split()[-1]), pods)


def _at(url: str) -> ApiServer:
    return ApiServer(at(url))


def elsewhere(connect: Callable[[], ApiServer], pods: int) -> Sample:
    """Return ``listed`` of a fresh process, without earlier allocations."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(listed, connect, pods).result()


def listed(connect: Callable[[], ApiServer], pods: int) -> Sample:
    """List everything once.

    Raises:
        RuntimeError: Something is missing afterwards.
    """
    state = State()
    source = KubernetesSource(state, connect(), {})
    before = resident()
    began, busy = time.perf_counter(), time.process_time()
    source.start()
    while not source.synced:
        time.sleep(0.01)
    sample = {
        "synced s": time.perf_counter() - began,
        "busy s": time.process_time() - busy,
        "resident MB": (resident() - before) / 1e6,
    }
    source.stop()
    if len(state.snapshot.pods) != pods:
        raise RuntimeError(f"{len(state.snapshot.pods)} pods are known instead of {pods}")
    return sample
