"""One round: all contestants bind the same pods on the same nodes, each on a control plane of its own."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.laboratories.bench.observed import Bindings
from tests.laboratories.bench.peers.contestants import Start
from tests.laboratories.bench.peers.in_process import AS_ON_CLUSTERS
from tests.laboratories.bench.turns import Contestant, begun, take_turns
from tests.laboratories.bench.workload import Sample
from tests.laboratories.e2e.control_plane import ControlPlane

DECISION = "decision ms"

_ALGORITHM = re.compile(
    r"^(?:scheduler|mooring)_scheduling_algorithm_duration_seconds_(sum|count)\S* (\S+)$", re.MULTILINE
)


def bind(nodes: int, starts: Mapping[str, Start], pods: int) -> dict[str, tuple[Sample, Sample]]:
    """Let all contestants bind ``pods`` pods, all there before their schedulers start.

    Each begins alone, which gives the mean of its decisions; from a quarter of the pods on they take turns.

    Returns:
        For each, its rate in its turns, by the API server's audit log, and that mean; and the milliseconds of
        CPU per pod of each program.
    """
    with ExitStack() as running:
        planes = {name: running.enter_context(_cluster(nodes, pods)) for name in starts}
        at_work = {
            name: running.enter_context(_begun(start, planes[name], pods)) for name, start in starts.items()
        }
        take_turns(contestant for contestant, _ in at_work.values())
        return {name: _found(*one) for name, one in at_work.items()}


@contextmanager
def _cluster(nodes: int, pods: int) -> Iterator[ControlPlane]:
    """Yield a control plane with scheduler_perf's default nodes and pods, as many as given."""
    with tempfile.TemporaryDirectory(prefix="mooring-peers-") as folder, ControlPlane(Path(folder)) as plane:
        plane.api.create_all(AS_ON_CLUSTERS.nodes(nodes))
        plane.api.create_all(map(AS_ON_CLUSTERS.pod, range(pods)))
        yield plane


@contextmanager
def _begun(start: Start, plane: ControlPlane, pods: int) -> Iterator[tuple[Contestant, float]]:
    """Yield a contestant, and the mean seconds of its decisions so far: others' turns interrupt
    later ones.
    """
    with ExitStack() as running:
        bindings = Bindings(plane.directory / "audit.log")
        started = start(running, plane)
        programs = {
            **started.processes(),
            "API server": [plane.process("kube-apiserver")],
            "etcd": [plane.process("etcd")],
        }
        bindings.wait(pods // 4, programs=programs)
        deciding = algorithm_seconds(started.metrics())
        yield running.enter_context(begun(programs, bindings, pods)), deciding


def _found(contestant: Contestant, deciding: float) -> tuple[Sample, Sample]:
    cpu = dict(contestant.sample())
    rate = cpu.pop("pods/s")
    return {"pods/s": rate, DECISION: deciding * 1e3}, {"ms/pod": sum(cpu.values()), **cpu}


def against(rates: Mapping[str, Sample], others: Sequence[str]) -> dict[str, Sample]:
    """Return each contestant's rate of one round, also in percent of those of ``others`` that took part."""
    return {
        name: {
            **rate,
            **{
                f"% of {base}": 100 * rate["pods/s"] / rates[base]["pods/s"]
                for base in others
                if base in rates
            },
        }
        for name, rate in rates.items()
    }


def algorithm_seconds(page: str) -> float:
    """Return the mean of scheduling_algorithm_duration on a metrics page: finding a node, extenders included.

    Raises:
        ValueError: The page has none.
    """
    found = {kind: float(value) for kind, value in _ALGORITHM.findall(page)}
    if not found.get("count"):
        raise ValueError("scheduling_algorithm_duration_seconds has counted nothing")
    return found["sum"] / found["count"]
