"""``make bench PART=clients``: a Schedule call by the client of each language, next to its null call.

Each client is the driver that plays the contract suite (clients/contract), so both times have a line of JSON
each way. The null server gives mooring's answer to every call, and does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import grpc

from mooring.client_check.playing import Driver
from mooring_client.v1 import nodes_pb2 as nodes
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.laboratories.bench.cluster import pending_json
from tests.laboratories.bench.loads import start_null_server
from tests.laboratories.bench.processes import start_server
from tests.laboratories.bench.remote import REPEATED, UNLIMITED, schedule_request
from tests.laboratories.bench.report import FOLDER, publish
from tests.laboratories.bench.steps import measure_all
from tests.laboratories.bench.workload import Repeat, Sample, Workload, percentile, timed_for
from tests.laboratories.e2e.build import ROOT
from tests.process import run

CLIENTS = ROOT / "clients"
LANGUAGES = ("go", "java", "python", "rust", "typescript")


def workloads(count: int, seconds: float) -> list[Workload]:
    """Return a workload for each language."""
    return [
        Workload(
            f"clients/{language}/{count}Nodes",
            partial(_prepare, language, count, seconds),
            note=REPEATED,
        )
        for language in LANGUAGES
    ]


def _prepare(language: str, count: int, seconds: float, running: ExitStack) -> Repeat:
    server = start_server(running, count)["grpc"]
    calls = [
        _caller(running, language, address)
        for address in (start_null_server(running, _answer(server)), server)
    ]
    for call in calls:
        timed_for(seconds, call)

    def repeat() -> Sample:
        null, done = (timed_for(seconds, call) for call in calls)
        return {
            "p50 µs": percentile(done, 50) * 1e6,
            "p99 µs": percentile(done, 99) * 1e6,
            "null p50 µs": percentile(null, 50) * 1e6,
            "null p99 µs": percentile(null, 99) * 1e6,
            "times null": percentile(done, 50) / percentile(null, 50),
        }

    return repeat


def _answer(server: str) -> bytes:
    """Return the answer to the clients' request."""
    with grpc.insecure_channel(server, UNLIMITED) as channel:
        request = schedule_request(1, 0)
        request.nodes.answer_form = nodes.NODE_FORM_NAMES
        answer: bytes = SchedulingServiceStub(channel).Schedule(request, timeout=20).SerializeToString()
        return answer


def _caller(running: ExitStack, language: str, address: str) -> Callable[[], None]:
    """Return what makes one call by a client, and waits for its answer."""
    driver = Driver([str(_driver(language)), address])
    running.callback(driver.end)
    pods = [{"template": json.loads(pending_json(0)), "uids": ["uid-pod-0"], "names": ["pod-0"]}]
    command = {"call": "schedule", "timeout": 20, "pods": pods}

    def call() -> None:
        done = driver.done(command)
        if done is None or "result" not in done or not done["result"][0]["node"]:
            raise RuntimeError(f"the client in {language} at {address}: {done}")

    return call


def _driver(language: str) -> Path:
    """Return a client's driver; Rust's with optimizations, which ``check`` leaves out."""
    folder = CLIENTS / language
    if language != "rust":
        return folder / "driver"
    run("cargo", "build", "--release", "--example", "driver", directory=folder)
    return Path(os.environ.get("CARGO_TARGET_DIR", folder / "target")) / "release" / "examples" / "driver"


def main(arguments: Sequence[str] | None = None, folder: Path = FOLDER / "clients") -> int:
    """Measure, print and write the report.

    Returns:
        0.

    Raises:
        RuntimeError: A client was not built, or its calls fail.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.laboratories.bench.clients", description=__doc__, allow_abbrev=False
    )
    add = parser.add_argument
    add("--nodes", type=int, default=5000, help="size of the cluster")
    add("--seconds", type=float, default=3.0, help="how long each measurement lasts")
    add("--repeats", type=int, default=5, help="repeats of each workload")
    add("--record", action="store_true", help="write the tables into docs/figures, too")
    args = parser.parse_args(arguments)
    found = measure_all(workloads(args.nodes, args.seconds), args.repeats)
    title = "A decision by the client of each language, beside a call that does nothing"
    publish(title, found, folder, "bench-clients" if args.record else "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
