"""One round: all contestants bind the same pods in turn, on one control plane with the same nodes."""

from __future__ import annotations

import itertools
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from tests.bench.observed import Bindings, cpu_milliseconds
from tests.bench.peers.contestants import Running, Start
from tests.bench.peers.in_process import AS_ON_CLUSTERS
from tests.bench.workload import Sample
from tests.e2e.control_plane import ControlPlane
from tests.process import wait_until

DECISION = "decision ms"
PODS = "/api/v1/namespaces/default/pods"
LONGEST_SECONDS = 900.0

_ALGORITHM = re.compile(
    r"^(?:scheduler|mooring)_scheduling_algorithm_duration_seconds_(sum|count)\S* (\S+)$", re.MULTILINE
)


@contextmanager
def cluster(nodes: int) -> Iterator[ControlPlane]:
    """A control plane with so many of scheduler_perf's default nodes and no pods."""
    with tempfile.TemporaryDirectory(prefix="mooring-peers-") as folder, ControlPlane(Path(folder)) as plane:
        plane.api.create_all(AS_ON_CLUSTERS.nodes(nodes))
        yield plane


def bind(plane: ControlPlane, start: Start, pods: int) -> tuple[Sample, Sample]:
    """Let one contestant bind ``pods`` pods, all there before its scheduler starts; they are gone afterwards.

    Returns:
        Its rate, between the first and the last binding by the API server's audit log, and the mean of its
        decisions; and the milliseconds of CPU per pod of each program.
    """
    plane.api.create_all(map(AS_ON_CLUSTERS.pod, range(pods)))
    with ExitStack() as running:
        bindings = Bindings(plane.directory / "audit.log")
        contestant = start(running, plane)
        programs = {
            **contestant.processes(),
            "API server": [plane.process("kube-apiserver")],
            "etcd": [plane.process("etcd")],
        }
        # What starting costs is not counted, nor are the pods that were bound before readiness was seen.
        early, before = bindings.count(), cpu_milliseconds(programs)
        wait_until(partial(_all_bound, contestant, bindings, pods), f"{pods} bindings", LONGEST_SECONDS)
        after = cpu_milliseconds(programs)
        deciding = algorithm_seconds(contestant.metrics())
    plane.api.call("DELETE", f"{PODS}?gracePeriodSeconds=0")
    wait_until(lambda: not plane.api.items(f"{PODS}?limit=1"), "the pods to be gone")
    rate = {"pods/s": bindings.rate(), DECISION: deciding * 1e3}
    cpu = {name: (after[name] - before[name]) / (pods - early) for name in programs}
    return rate, {"ms/pod": sum(cpu.values()), **{f"{name} ms/pod": used for name, used in cpu.items()}}


def _all_bound(contestant: Running, bindings: Bindings, pods: int) -> bool:
    for process in itertools.chain(*contestant.processes().values()):
        process.check_alive()
    return bindings.count() >= pods


def against(rates: Mapping[str, Sample], others: Sequence[str]) -> dict[str, Sample]:
    """Each contestant's rate of one round, also in percent of those of ``others`` that took part."""
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
    """The mean of scheduling_algorithm_duration on a metrics page: finding a node, extenders included.

    Raises:
        ValueError: The page has none.
    """
    found = {kind: float(value) for kind, value in _ALGORITHM.findall(page)}
    if not found.get("count"):
        raise ValueError("scheduling_algorithm_duration_seconds has counted nothing")
    return found["sum"] / found["count"]
