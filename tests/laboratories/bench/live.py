"""Pods bound per second: a binder that decides nothing, kube-scheduler and mooring's scheduler in turns.

    python -m tests.laboratories.bench.live --nodes 500 --pods 3000 --runs 5

Needs the programs of tests/laboratories/e2e. Each has a control plane of its own, on which all pods are there
before the scheduler starts. Once a tenth is bound it takes turns with the others, a quarter of a second each,
until each has bound all pods; the rate is that of its turns, by the audit log. Scheduler, API server and etcd
share the machine, so what a pod costs them in processor time bounds the rate.

By default the pods are a burst of like pods, and nothing else happens. With `--mixed` they are pods of
StatefulSets, each with a label of its own; one of ten sets is spread over zones, and one keeps its pods on
nodes of their own. With `--openb FOLDER` nodes and pods are those of a trace. With `--churn 50` 50 running
pods a second end, and as many others appear. With `--rules` mooring with an author's rule replaces the
others: the working directory has to be in PYTHONPATH.

With `--arriving` pods come while the scheduler runs: half of them as fast as they can be created, and then
the others at 80 % of the rate at which the first were bound. The figure is how long these wait, from right
before a pod is sent to the API server until the binding is answered.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path

from tests.laboratories.bench.live_workloads import LiveWorkload, bystander, like_pods, mixed_pods, openb
from tests.laboratories.bench.observed import Bindings
from tests.laboratories.bench.own_rules import Rule, configured
from tests.laboratories.bench.prepared_requests import Server, send
from tests.laboratories.bench.report import FOLDER, publish
from tests.laboratories.bench.rules import RULES
from tests.laboratories.bench.steps import steps
from tests.laboratories.bench.turns import Contestant, begun, take_turns
from tests.laboratories.bench.workload import Sample, figures, percentile
from tests.laboratories.e2e.api import Api
from tests.laboratories.e2e.control_plane import ControlPlane
from tests.laboratories.e2e.processes import MooringScheduler
from tests.laboratories.e2e.whole_schedulers import SCHEDULERS, StartScheduler
from tests.process import Process

LOAD = 0.8
NULL = "null-binder"


def null_binder(plane: ControlPlane, directory: Path, /, *_: str) -> AbstractContextManager[Process]:
    """Start the binder that decides nothing."""
    command = [sys.executable, "-m", "tests.laboratories.bench.null_binder", str(plane.kubeconfig("mooring"))]
    return Process(NULL, command, directory / f"{NULL}.log")


def mooring_with(rule: Rule, plane: ControlPlane, directory: Path, /, *flags: str) -> MooringScheduler:
    """`mooring scheduler` with an author's rule besides the default plugins."""
    plugin = ["--plugin", f"{rule.__module__}:{rule.__name__}"]
    config = {**configured(rule), "leaderElection": {"leaderElect": False}}
    return MooringScheduler(directory, plane.kubeconfig("mooring"), config, "--v=0", *plugin, *flags)


def main() -> int:
    with_rules: dict[str, StartScheduler] = {
        f"mooring with {rule.name}": partial(mooring_with, rule) for rule in RULES
    }
    contestants: dict[str, StartScheduler] = {NULL: null_binder, **SCHEDULERS, **with_rules}
    arguments = _parser(contestants).parse_args()
    if arguments.openb:
        workload = openb(arguments.openb, arguments.pods)
    else:
        workload = (mixed_pods if arguments.mixed else like_pods)(arguments.nodes, arguments.pods)
    usual = ["mooring", *with_rules] if arguments.rules else [NULL, *SCHEDULERS]
    names = [name for name in arguments.only or usual if not (arguments.arriving and name == NULL)]
    group = workload.name + (f"Churn{arguments.churn}" if arguments.churn else "")
    group += "Arriving" if arguments.arriving else ""
    samples: dict[str, list[Sample]] = {name: [] for name in names}
    with steps(arguments.runs) as bar:
        for _ in range(arguments.runs):
            bar.doing(group)
            measure = arriving if arguments.arriving else burst
            found = measure({name: contestants[name] for name in names}, workload, arguments.churn)
            bar.done()
            for name, sample in beside(found, NULL).items():
                samples[name].append(sample)
    publish(
        "Pods bound by whole schedulers",
        [
            figure
            for name in names
            for figure in figures(f"{group}/{name}", samples[name], wanted_of(name), {})
        ],
        FOLDER / "cluster",
        f"bench-cluster {group}" if arguments.record else "",
    )
    return 0


def _parser(contestants: Mapping[str, object]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=3000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--only", nargs="+", choices=contestants, metavar="NAME", help=f"some of: {', '.join(contestants)}"
    )
    parser.add_argument(
        "--rules", action="store_true", help="mooring with each of an author's rules, beside mooring without"
    )
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--mixed", action="store_true", help="pods that differ, instead of like ones")
    kinds.add_argument("--openb", type=Path, metavar="FOLDER", help="nodes and pods of the OpenB trace there")
    parser.add_argument(
        "--churn", type=int, default=0, metavar="COUNT", help="running pods replaced a second"
    )
    parser.add_argument("--arriving", action="store_true", help="how long pods wait that come one by one")
    parser.add_argument("--record", action="store_true", help="write the tables into docs/figures, too")
    return parser


def wanted_of(name: str) -> Mapping[str, str]:
    """Return the targets of a contestant, least and aim by metric; only mooring has some."""
    return {f"% of {NULL}": "85 / 95", "p99 ms at 80 %": "150 / 50"} if name == "mooring" else {}


def beside(found: Mapping[str, Sample], base: str) -> dict[str, Sample]:
    """Return the samples of one round, those of others also in percent of ``base`` if that took part."""
    if base not in found:
        return dict(found)
    whole = found[base]["pods/s"]
    return {
        name: {"pods/s": sample["pods/s"], f"% of {base}": 100 * sample["pods/s"] / whole, **sample}
        for name, sample in found.items()
    }


def burst(schedulers: Mapping[str, StartScheduler], workload: LiveWorkload, churn: int) -> dict[str, Sample]:
    """Return the rates of one run, and the milliseconds of processor time a pod, without those of
    the start.
    """
    with ExitStack() as running:
        planes = {name: running.enter_context(_plane(workload)) for name in schedulers}
        for plane in planes.values():
            plane.api.create_all(workload.pods)
        begins = [running.enter_context(churning(plane.api, workload, churn)) for plane in planes.values()]
        contestants = {
            name: running.enter_context(_contestant(start, planes[name], workload.enough))
            for name, start in schedulers.items()
        }
        for begin in begins:
            begin()
        take_turns(contestants.values())
        return {name: contestant.sample() for name, contestant in contestants.items()}


@contextmanager
def _contestant(start: StartScheduler, plane: ControlPlane, enough: int) -> Iterator[Contestant]:
    bindings = Bindings(plane.directory / "audit.log")
    with start(plane, plane.directory) as scheduler:
        programs = {"scheduler": [_process(scheduler)], "server": _control_plane(plane)}
        with begun(programs, bindings, enough) as contestant:
            yield contestant


def arriving(
    schedulers: Mapping[str, StartScheduler], workload: LiveWorkload, churn: int
) -> dict[str, Sample]:
    """Return how fast pods are bound while they are created, and how long they wait when there are fewer of
    them.
    """
    return {name: _arriving(start, workload, churn) for name, start in schedulers.items()}


def _arriving(start: StartScheduler, workload: LiveWorkload, churn: int) -> Sample:
    with _plane(workload) as plane:
        server, half = Server.of(plane.kubeconfig("admin")), len(workload.pods) // 2
        requests = [server.post("/api/v1/namespaces/default/pods", pod) for pod in workload.pods]
        bindings = Bindings(plane.directory / "audit.log")
        with churning(plane.api, workload, churn) as begin, start(plane, plane.directory):
            begin()
            sent = send(server, requests[:half])
            bound = bindings.wait(half + workload.enough - len(requests), 0.1)
            rate = bound / (bindings.last - min(sent))
            sent += send(server, requests[half:], LOAD * rate)
            bindings.wait(workload.enough, 0.1)
    names = [pod["metadata"]["name"] for pod in workload.pods]
    late = zip(names[half:], sent[half:], strict=True)
    waits = [bindings.times[name] - at for name, at in late if name in bindings.times]
    return {
        "created and bound/s": rate,
        **{f"p{percent} ms at 80 %": 1e3 * percentile(waits, percent) for percent in (50, 99)},
    }


@contextmanager
def _plane(workload: LiveWorkload) -> Iterator[ControlPlane]:
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder)) as plane:
        plane.api.create_all(workload.nodes)
        yield plane


def _process(scheduler: Process | MooringScheduler) -> Process:
    return scheduler.process if isinstance(scheduler, MooringScheduler) else scheduler


def _control_plane(plane: ControlPlane) -> list[Process]:
    return [plane.process("kube-apiserver"), plane.process("etcd")]


@contextmanager
def churning(api: Api, workload: LiveWorkload, rate: int) -> Iterator[Callable[[], None]]:
    """Yield pods that run, as many as are replaced in ten seconds; from the call on ``rate`` of them a
    second.
    """
    running, end = 10 * rate, threading.Event()
    api.create_all(bystander(number, workload) for number in range(running))

    def replace() -> None:
        for number in itertools.count():
            if end.wait(1 / rate):
                return
            gone = f"/api/v1/namespaces/default/pods/{bystander(number, workload)['metadata']['name']}"
            api.call("DELETE", gone, {"gracePeriodSeconds": 0})
            api.create(bystander(running + number, workload))

    thread = threading.Thread(target=replace)
    try:
        yield thread.start if rate else lambda: None
    finally:
        end.set()
        if thread.is_alive():
            thread.join()


if __name__ == "__main__":
    sys.exit(main())
