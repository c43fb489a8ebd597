"""``make bench PART=hosts``: the cost of a plugin of a host, by language, above a profile without it.

Each host serves the rules of ``tests/plugin_hosts/rules.py``; the clients' own checks (`make test-clients`)
build them. Processor time is that of this process and of the host. The sides take turns, a decision each.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from mooring.cluster.decoding import from_manifest
from mooring.framework import Plugin, Pod
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.cycle import evaluate_preemption
from mooring.runtime.engine import Engine
from mooring.testing.builders import Manifest, make_pod
from mooring_client.plugin_host.v1 import plugin_host_service_pb2 as pb
from tests.clients.building import CLIENTS, GUESTS, ROOT
from tests.laboratories.bench.cluster import node, node_name
from tests.laboratories.bench.in_process import SEED, new_engine
from tests.laboratories.bench.report import FOLDER, publish
from tests.laboratories.bench.steps import measure_all
from tests.laboratories.bench.workload import Repeat, Sample, Workload, percentile
from tests.plugin_hosts.drill import EVENTS, drilled
from tests.plugin_hosts.hosts import Hosted, connected
from tests.plugin_hosts.rules import HOST, IPS, PAIRS, RACK, USES
from tests.process import until
from tests.runtime.pure.engines import Rules

RACKS = 50
DECISIONS = 100
"""How many each side decides in a repeat."""

BATCHES, BATCH = 5, 100
"""How many batches each side places in a repeat, and how many pods a batch has."""

COLD, COLD_BY_NAME = "cold", "cold by name"
HIT, TIMES, PREEMPT = "calls a hit", f"{BATCH} like pods, times in process", "calls a Preempt"
TARGETS = {f"{COLD} ms over": "0.5 / -", HIT: "0 / -", TIMES: "1.5 / -", PREEMPT: "2 / -"}

DRILL_SECONDS, DEADLINE_SECONDS = 3.0, 1.0
"""How long a drill goes on around its event, and the deadline of calls that do not need the host."""

DRILL_TARGETS = {"decisions/s": "1,000 / -", "wrong": "0 / -", "back ms": "100 / -"}

Sides = tuple[Engine, Engine]
"""An engine without the host, and one with it."""


@dataclass(frozen=True)
class Meter:
    """A host, and what it has done.

    Attributes:
        hosted: The connection to it.
        process: Its process; 0 for a guest.
    """

    hosted: Hosted
    process: int

    @property
    def seconds(self) -> float:
        """The processor time of this process and of the host so far."""
        # Linux numbers the clock of another process so: its complemented id, and 2 for all of its threads.
        return time.process_time() + (time.clock_gettime(~self.process << 3 | 2) if self.process else 0)

    def null_call_seconds(self) -> float:
        """Return the processor time of a call that evaluates nothing."""
        used = []
        for _ in range(DECISIONS):
            before = self.seconds
            self.hosted.connection._stub.Describe(pb.DescribeRequest())
            used.append(self.seconds - before)
        return median(used)

    @property
    def calls(self) -> int:
        """The evaluations so far."""
        return self.hosted.connection.taken["Evaluate", True][0]


@contextmanager
def served(host: Sequence[str]) -> Iterator[Meter]:
    """Start a host by its command, or load the guest of that address, and connect to it."""
    if host[0].startswith("wasm:"):
        with connected(host[0]) as hosted:
            yield Meter(hosted, 0)
        return
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder) / "host.sock"
        process = subprocess.Popen([*host, f"unix:{socket}"])
        try:
            until(socket.exists)
            with connected(f"unix:{socket}") as hosted:
                yield Meter(hosted, process.pid)
        finally:
            process.terminate()
            process.wait()


def hosts() -> dict[str, list[str]]:
    """Return by name the commands of hosts, and the addresses of guests."""
    found = {f"{client}Host": [f"{ROOT}/clients/{client}/rules"] for client in CLIENTS}
    found["pythonHost"] = [sys.executable, "-m", "tests.plugin_hosts.rules"]
    found |= {f"{client}Guest": [f"wasm:{ROOT}/clients/{client}/{path}"] for client, path in GUESTS.items()}
    return found


def workloads(count: int) -> list[Workload]:
    """Return a workload for the host in each language, for each guest, and for each event of the drill."""
    return [
        *(
            Workload(f"hosts/{name}/{count}Nodes", partial(_prepare, host, count), TARGETS)
            for name, host in sorted(hosts().items())
        ),
        *(
            Workload(f"hosts/pythonHost/{event}UnderLoad", partial(_prepare_drill, event), DRILL_TARGETS)
            for event in EVENTS
        ),
    ]


def _prepare(host: Sequence[str], count: int, running: ExitStack) -> Repeat:
    meter = running.enter_context(served(host))
    own = new_engine(count, _node)
    cold = {COLD: "Rack", COLD_BY_NAME: "Requests"}
    sides = {name: (own, _with(meter.hosted.rule(rule), count)) for name, rule in cold.items()}
    in_process = _with(PAIRS["Rack"][0], count)
    alike = (_with(PAIRS["ScoreFree"][0], count), _with(meter.hosted.rule("ScoreFree"), count))
    numbers = itertools.count()

    def repeat() -> Sample:
        found: Sample = {}
        for name, pair in sides.items():
            used, waited = _over(pair, meter, (_pod(next(numbers)) for _ in range(DECISIONS)))
            found |= {f"{name} ms over": used * 1e3, f"{name} p50 ms over": waited * 1e3}
        used, _ = _over((own, in_process), meter, (_pod(next(numbers)) for _ in range(DECISIONS // 5)))
        found |= {"cold in process ms over": used * 1e3, "null call ms": meter.null_call_seconds() * 1e3}
        pod = _pod(next(numbers))
        _over(sides[COLD], meter, [pod])
        calls = meter.calls
        used, _ = _over(sides[COLD], meter, [pod] * DECISIONS)
        found |= {"hit ms over": used * 1e3, "calls a hit": (meter.calls - calls) / DECISIONS}
        found[TIMES] = _times_in_process(alike, meter, numbers)
        return found | {"calls a Preempt": _calls_of_preempt(meter, count)}

    repeat()
    return repeat


def _node(number: int) -> Manifest:
    labels = {RACK: f"rack-{number % RACKS}", HOST: node_name(number), IPS: "1"}
    return node(number, labels=labels)


def _pod(number: int) -> Pod:
    """Return a pod that no earlier answer is about, and the rules have not seen its values."""
    spec = {"tolerations": [{"key": f"example.com/team-{number}", "operator": "Exists"}]}
    requests = {"cpu": f"{100 + number}m"}
    return make_pod(f"pod-{number}", labels={"app": f"app-{number}"}, requests=requests, spec=spec)


def _with(rule: type[Plugin[Any]], count: int, *more: Pod) -> Engine:
    """Return an engine with the default profile and ``rule``."""
    return Rules(rule, [*map(from_manifest, map(_node, range(count))), *more]).engine


def _over(sides: Sides, meter: Meter, pods: Iterable[Pod]) -> tuple[float, float]:
    """Return by how many seconds the median decision is above that of the first side: used, and waited."""
    used: tuple[list[float], list[float]] = ([], [])
    waited: tuple[list[float], list[float]] = ([], [])
    for pod in pods:
        for engine, spent, took in zip(sides, used, waited, strict=True):
            before, began = meter.seconds, time.perf_counter()
            engine.decide(pod, engine.profile(), ALL_NODES, seed=SEED)
            took.append(time.perf_counter() - began)
            spent.append(meter.seconds - before)
    return median(used[1]) - median(used[0]), median(waited[1]) - median(waited[0])


def _times_in_process(sides: Sides, meter: Meter, numbers: Iterator[int]) -> float:
    """Return the ratio of the processor time of batches of like pods, each placed before the next one."""
    used: tuple[list[float], list[float]] = ([], [])
    for _ in range(BATCHES):
        pod = _pod(next(numbers))
        for engine, spent in zip(sides, used, strict=True):
            before = meter.seconds
            _place(engine, pod)
            spent.append(meter.seconds - before)
    return median(used[1]) / median(used[0])


def _place(engine: Engine, pod: Pod) -> None:
    """Place pods like ``pod`` as a batch does: the first is evaluated, and the others follow it."""
    profile, names = engine.profile(), [f"{pod.metadata.name}-{at}" for at in range(1, BATCH)]
    engine.place(pod, profile, ALL_NODES, seed=SEED)
    placed = engine.place_batch([(pod, profile)], [0] * len(names), names, names, seed=SEED)
    if len(placed) != len(names):
        raise RuntimeError(f"{len(placed)} of {len(names)} like pods were placed in one batch")


def _calls_of_preempt(meter: Meter, count: int) -> int:
    """Return how often a new engine asks about a pod that fits no node unless a pod gives way."""
    there = [make_pod(f"old-{at}", node=node_name(at), labels={USES: "v1"}) for at in range(count)]
    engine = _with(meter.hosted.rule("UnderlayLike"), count, *there)
    calls = meter.calls
    pod = make_pod("urgent", labels={USES: "v1"}, spec={"priority": 10})
    run = partial(evaluate_preemption, given=None, seed=SEED)
    found, _ = engine.evaluate(pod, engine.profile(), ALL_NODES, run=run)
    if found.preemption is None:
        raise RuntimeError(f"no pod gives way: {found.status}")
    return meter.calls - calls


def _prepare_drill(event: str, running: ExitStack) -> Repeat:
    folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
    drill = running.enter_context(drilled(folder, DEADLINE_SECONDS))
    load = drill.load

    def repeat() -> Sample:
        placed, failed, others, late, wrong = (
            load.placed,
            load.failed,
            len(load.others),
            load.late,
            len(load.wrong),
        )
        began = time.monotonic()
        time.sleep(DRILL_SECONDS / 2)
        back = drill.play(event)
        time.sleep(DRILL_SECONDS / 2)
        seconds = time.monotonic() - began
        return {
            "decisions/s": (load.placed + load.failed - placed - failed) / seconds,
            "failed": load.failed - failed,
            "wrong": len(load.wrong) - wrong,
            "back ms": back * 1e3,
            "others p99 ms": percentile(load.others[others:], 99) * 1e3,
            f"others after {DEADLINE_SECONDS} s": load.late - late,
        }

    return repeat


def main(arguments: Sequence[str] | None = None, folder: Path = FOLDER / "hosts") -> int:
    """Measure, print and write the report.

    Returns:
        0.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.laboratories.bench.hosts", description=__doc__, allow_abbrev=False
    )
    add = parser.add_argument
    add("--nodes", type=int, default=5000, help="size of the cluster")
    add("--repeats", type=int, default=5, help="repeats of each workload")
    add("--only", metavar="NAME", default="", help="hosts with NAME in their name")
    add("--record", action="store_true", help="write the tables into docs/figures, too")
    args = parser.parse_args(arguments)
    chosen = [each for each in workloads(args.nodes) if args.only in each.name]
    found = measure_all(chosen, args.repeats)
    publish("Plugins of hosts by language", found, folder, "bench-hosts" if args.record else "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
