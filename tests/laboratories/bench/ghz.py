"""``make bench-ghz``: each RPC of the core and of commits called by ghz, a client in Go, next to a null RPC.

A light client also calls Schedule, see ``light``, if it is installed.

Each repeat first measures the null RPC, on a server that gives mooring's answer to the same requests, and
then mooring. ghz takes much of a machine with few cores, so the ratio says more than the rates. The
calls are those of deploy/load. The cluster changes during both.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import grpc

from tests.laboratories.bench import light
from tests.laboratories.bench.light import CHANGES, CHANGING, SAME_REQUEST
from tests.laboratories.bench.loads import Load, start_null_server, text_of
from tests.laboratories.bench.processes import start_server
from tests.laboratories.bench.remote import UNLIMITED, Changes
from tests.laboratories.bench.report import FOLDER, publish
from tests.laboratories.bench.steps import measure_all
from tests.laboratories.bench.workload import Repeat, Sample, Workload
from tests.laboratories.e2e.build import BIN, ROOT

CONNECTIONS = (1, 50)
"""Each with one call in flight."""

LONGEST = 60
"""Seconds of a call: on a busy machine 50 explanations at once take more than those of the configurations."""

SHORTEST = 0.5
"""Seconds of load: ghz panics if they are over before it has begun, as on a busy machine."""


@dataclass(frozen=True, slots=True)
class Call:
    """A configuration of deploy/load: its name, the pods of one call, what to know of it, what is aimed at by
    connections.
    """

    name: str
    pods: int
    note: str
    targets: Mapping[int, Mapping[str, str]]


CALLS = (
    Call(
        "schedule",
        1,
        f"each pod has a UID of its own; {CHANGES}",
        {
            1: {"p50 µs": "300 / 180", "p99 µs": "800 / 400", "times null": "1.4 / 1.25"},
            50: {"pods/s": "6k / 10k"},
        },
    ),
    Call("schedule-batch", 100, SAME_REQUEST, {1: {"pods/s": "40k / 150k"}, 50: {"pods/s": "40k / 150k"}}),
    Call("schedule-reserve", 1, f"each pod takes a place; {CHANGES}", {1: {"times null": "2 / 1.4"}}),
    *(
        Call(name, 1, SAME_REQUEST, {1: {"times null": ratio}})
        for name, ratio in {
            "filter": "3 / 1.5",
            "filter-indices": "3 / 1.5",
            "score": "4 / 2",
            "normalize-score": "4 / 2",
            "explain": "10 / 5",
            "preempt": "- / 2",
            "reserve": "2 / 1.4",
            "bind": "2 / 1.4",
            "unreserve": "2 / 1.4",
            "unreserve-many": "2 / 1.4",
            "list-reservations": "2 / 1.4",
            "get-object": "2 / 1.4",
            "list-nodes": "2 / 1.4",
            "list-pods": "2 / 1.4",
            "list-pending-pods": "2 / 1.4",
            "list-plugins": "4 / 2",
            "list-profiles": "4 / 2",
            "get-capabilities": "4 / 2",
        }.items()
    ),
)
"""All of deploy/load but ``null``."""


def workloads(nodes: int, seconds: float) -> list[Workload]:
    """Return each call over one connection and over many."""
    return [
        Workload(
            f"ghz/{call.name}/{nodes}Nodes/{count}Connections",
            partial(_prepare, call, count, nodes, seconds),
            call.targets.get(count, {}),
            note=call.note,
        )
        for call in CALLS
        for count in CONNECTIONS
    ]


def _prepare(call: Call, connections: int, nodes: int, seconds: float, running: ExitStack) -> Repeat:
    server = start_server(running, nodes, flags={"--insecure-binding": "true"})["grpc"]
    channel = running.enter_context(grpc.insecure_channel(server, UNLIMITED))
    if call.name == "bind":
        Load.of("reserve").answer(channel)
    changes, idle = Changes(channel), start_null_server(running, Load.of(call.name).answer(channel))
    load(call.name, server, connections, max(seconds / 4, SHORTEST))

    def repeat() -> Sample:
        with changes.going_on(CHANGING):
            null = load(call.name, idle, connections, seconds)
            done = load(call.name, server, connections, seconds)
        return {
            "p50 µs": microseconds(done, 50),
            "p99 µs": microseconds(done, 99),
            "pods/s": done["rps"] * call.pods,
            "null p50 µs": microseconds(null, 50),
            "null p99 µs": microseconds(null, 99),
            "null rps": null["rps"],
            "times null": microseconds(done, 50) / microseconds(null, 50),
        }

    return repeat


def load(name: str, address: str, connections: int, seconds: float) -> dict[str, Any]:
    """ghz's report on a configuration of deploy/load.

    Raises:
        RuntimeError: Calls failed, or there were none.
    """
    flags = {
        "--connections": str(connections),
        "--concurrency": str(connections),
        "--duration": f"{seconds:.2f}s",
        "--timeout": f"{LONGEST}s",
        "--format": "json",
    }
    with (
        tempfile.NamedTemporaryFile("w", suffix=".json") as config,
        tempfile.NamedTemporaryFile(suffix=".json") as output,
    ):
        config.write(text_of(name))
        config.flush()
        flags["--config"] = config.name
        options = [word for flag in flags.items() for word in flag]
        command = [str(BIN / "ghz"), *options, "--output", output.name, address]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"ghz ended with {done.returncode}: {done.stderr or done.stdout}")
        report: dict[str, Any] = json.loads(Path(output.name).read_bytes())
    if report["statusCodeDistribution"] != {"OK": report["count"]}:
        raise RuntimeError(f"ghz {name}: {report['statusCodeDistribution']} {report['errorDistribution']}")
    return report


def microseconds(report: Mapping[str, Any], percent: int) -> float:
    """Return the latency that ``percent`` percent of the calls did not exceed."""
    found: int = next(
        entry["latency"] for entry in report["latencyDistribution"] if entry["percentage"] == percent
    )
    return found / 1e3


def main(arguments: Sequence[str] | None = None, folder: Path = FOLDER / "ghz") -> int:
    """Measure, print and write the report.

    Returns:
        0; 1 if ghz was not built.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.laboratories.bench.ghz", description=__doc__, allow_abbrev=False
    )
    add = parser.add_argument
    add("--nodes", type=int, default=5000, help="size of the cluster")
    add("--seconds", type=float, default=3.0, help="how long each measurement lasts")
    add("--repeats", type=int, default=5, help="repeats of each workload")
    add("--only", metavar="NAME", action="append", help="workloads with NAME in their name")
    add("--record", action="store_true", help="write the tables into docs/figures, too")
    args = parser.parse_args(arguments)
    if not (BIN / "ghz").exists():
        print("bench-ghz: ghz is not there; `make bench-ghz` builds it, which needs Go", file=sys.stderr)
        return 1
    known = workloads(args.nodes, args.seconds)
    if light.missing():
        print(f"bench-ghz: {light.missing()}", file=sys.stderr)
    else:
        known += light.workloads(args.nodes, args.seconds)
    chosen = [w for w in known if not args.only or any(part in w.name for part in args.only)]
    if not chosen:
        parser.error(f"no workload has {' or '.join(args.only)} in its name")
    found = measure_all(chosen, args.repeats)
    publish(
        "mooring called by ghz, beside an RPC that does nothing",
        found,
        folder,
        "bench-ghz" if args.record else "",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
