"""Unary calls by h2load, a client in C that sends ready frames: the rest is the server's own cost.

A client that makes and reads messages takes about as much of a machine with few cores as the server does, so
its latencies are those of both. h2load is Debian's package nghttp2-client.

Only one thread of a server runs Python at a time, and a call passes from thread to thread. If these may run
on any core, waking one on another core costs more than its work; ``CoreEach`` keeps the server on one core,
and the client on another.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import grpc

from tests.laboratories.bench.loads import Load, start_null_server
from tests.laboratories.bench.processes import start_server
from tests.laboratories.bench.remote import Changes
from tests.laboratories.bench.workload import Repeat, Sample, Workload, percentile

CHANGING = 0.01
"""Seconds between two changes of the cluster."""

CHANGES = f"{1 / CHANGING:.0f} pods a second are placed meanwhile"
SAME_REQUEST = f"one request again and again; {CHANGES}"

BRISK = 4000
"""Calls a second of a slow server, by which the number of calls follows from the seconds."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How calls are in flight: ``streams`` on each of ``connections``."""

    connections: int
    streams: int

    @property
    def name(self) -> str:
        return f"{self.connections}x{self.streams}InFlight"


ALONE, MANY, CROWD = Shape(1, 1), Shape(50, 1), Shape(4, 8)
TARGETS: dict[Shape, dict[str, str]] = {
    ALONE: {"p50 µs": "300 / 180", "p99 µs": "800 / 400", "times null": "1.4 / 1.25"},
    MANY: {"times null": "1.4 / 1.25"},
    CROWD: {"rps": "6k / 10k"},
}


def missing() -> str:
    """Return why these workloads can't run; "" when they can."""
    return "" if shutil.which("h2load") else "h2load is not there (Debian: nghttp2-client); no light client"


def workloads(nodes: int, seconds: float) -> list[Workload]:
    """Return Schedule of one pod, a dry run, next to the null RPC; ``CoreEach`` if there are two cores."""
    cores = sorted(os.sched_getaffinity(0))
    places = {"": (set(cores), set(cores)), "CoreEach": (set(cores[:1]), set(cores[1:2]))}
    return [
        Workload(
            f"light/schedule/{nodes}Nodes/{shape.name}{name}",
            partial(_prepare, shape, places[name], nodes, seconds),
            targets,
            note=SAME_REQUEST,
        )
        for shape, targets in TARGETS.items()
        for name in places
        if all(places[name])
    ]


@contextmanager
def _on(cores: set[int]) -> Iterator[None]:
    """Keep processes that start in the block on these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _prepare(
    shape: Shape, places: tuple[set[int], set[int]], nodes: int, seconds: float, running: ExitStack
) -> Repeat:
    servers, clients = places
    call = Load.of("schedule")
    with _on(servers):
        server = start_server(running, nodes)["grpc"]
        channel = running.enter_context(grpc.insecure_channel(server))
        # h2load does not read gRPC's status; an error here ends the benchmark.
        idle = start_null_server(running, call.answer(channel))
    changes, calls = Changes(channel), max(100, int(BRISK * seconds))
    load(server, call, shape, calls // 4)

    def repeat() -> Sample:
        with _on(clients), changes.going_on(CHANGING):
            null, null_rps = load(idle, call, shape, calls)
            took, rps = load(server, call, shape, calls)
        return {
            "p50 µs": percentile(took, 50),
            "p99 µs": percentile(took, 99),
            "rps": rps,
            "null p50 µs": percentile(null, 50),
            "null p99 µs": percentile(null, 99),
            "null rps": null_rps,
            "times null": percentile(took, 50) / percentile(null, 50),
        }

    return repeat


def load(address: str, call: Load, shape: Shape, calls: int) -> tuple[list[float], float]:
    """Return the microseconds that each call took, and calls a second.

    Raises:
        RuntimeError: Not all of them were answered.
    """
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as folder:
        body, log = Path(folder, "body"), Path(folder, "log")
        body.write_bytes(b"\0" + len(call.request).to_bytes(4) + call.request)
        flags = {"-c": shape.connections, "-m": shape.streams, "-n": calls, "-d": body, "--log-file": log}
        words = [str(word) for flag in flags.items() for word in flag]
        headers = ["-H", "content-type: application/grpc", "-H", "te: trailers"]
        command = ["h2load", *words, *headers, f"http://{address}{call.method}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if f" {calls} succeeded" not in done.stdout:
            raise RuntimeError(f"h2load ended with {done.returncode}: {done.stdout}{done.stderr}")
        # A line per call: when it began, the HTTP status, the microseconds; separated by tabs.
        lines = [line.split("\t") for line in log.read_text().splitlines()]
    took = [float(line[2]) for line in lines]
    began = [int(line[0]) for line in lines]
    return took, _rate(began, took)


def _rate(began: list[int], took: list[float]) -> float:
    """Calls a second, from the first one's beginning (all in µs) to the last one's end."""
    end = max(at + duration for at, duration in zip(began, took, strict=True))
    return 1e6 * len(took) / (end - min(began))
