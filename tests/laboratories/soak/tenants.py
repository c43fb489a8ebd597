"""Rows S: what a tenant who creates pods and claims does to `mooring scheduler` and the pods of others."""

from __future__ import annotations

import itertools
import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from mooring.testing.builders import node_manifest
from tests.cli.commands import Started
from tests.cli.schedulers import node_of, pending, scheduler
from tests.fake_api_server import FakeApiServer
from tests.laboratories.soak.rounds import AT_END, Round, Row
from tests.plugins.test_dynamic_resources import claim, device_class, exactly, slice_of
from tests.plugins.test_selector_costs import OPTIONAL_900, nested_binds
from tests.process import until

log = logging.getLogger(__name__)

NODES, MANY_NODES = 50, 5_000
DEVICES = 8
FOLLOWING = 20
"""Pods that come right behind the one that does harm,"""
OTHERS = 100
"""and the pods after them, while it is parked; as many came before."""

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

PAUSE = 0.02
ATTEMPT_SECONDS = 1.0
"""The time that `mooring scheduler` leaves an attempt, by default."""

FOLLOWING_SECONDS = 10.0
"""A generous bound for the wait of the pods after it; 2 s is the aim on a machine without other work."""

SLOWER = 5.0
"""The factor by which the median pod after it may take longer."""

Bomb = Callable[[str], list[dict[str, Any]]]
"""From a name to a pod, perhaps with a claim."""


def claiming(expression: str) -> Bomb:
    """Return a pod whose claim's selector is ``expression``."""

    def made(name: str) -> list[dict[str, Any]]:
        asked = claim(name, exactly(selectors=[{"cel": {"expression": expression}}]))
        pod = pending(name, resourceClaims=[{"name": "gpu", "resourceClaimName": name}])
        return [asked, pod]

    return made


def nested_loops(items: int, times: int) -> str:
    """Costs nearly what Kubernetes allows for a device, at each device, and takes none of them."""
    numbers = [*range(items)]
    loop = f"{numbers}.all(a, {numbers}.all(b, a + b >= 0))"
    return " && ".join([*[loop] * times, "false"])


def resources(count: int) -> Bomb:
    """Return a pod with ``count`` extended resources that no node has."""

    def made(name: str) -> list[dict[str, Any]]:
        asked = {f"example.com/resource-{at}": "1" for at in range(count)}
        return [
            pending(
                name,
                containers=[{"name": "c", "image": "i", "resources": {"requests": asked, "limits": asked}}],
            )
        ]

    return made


def affinity(count: int) -> Bomb:
    """Return a pod that wants as many others near it, each term with a key of its own."""

    def made(name: str) -> list[dict[str, Any]]:
        terms = [
            {
                "weight": 1 + at % 100,
                "podAffinityTerm": {
                    "labelSelector": {"matchExpressions": [{"key": f"k{at}", "operator": "Exists"}]},
                    "topologyKey": f"zone-{at % 100}",
                },
            }
            for at in range(count)
        ]
        both = {"preferredDuringSchedulingIgnoredDuringExecution": terms}
        return [pending(name, affinity={"podAffinity": both, "podAntiAffinity": both})]

    return made


def spread(count: int) -> Bomb:
    """Return a pod that is to be spread by as many keys."""

    def made(name: str) -> list[dict[str, Any]]:
        return [
            pending(
                name,
                topologySpreadConstraints=[
                    {
                        "maxSkew": 1,
                        "topologyKey": f"zone-{at}",
                        "whenUnsatisfiable": "ScheduleAnyway",
                        "labelSelector": {"matchLabels": {"app": f"a{at}"}},
                    }
                    for at in range(count)
                ],
            )
        ]

    return made


def placed(sort: str, count: int, topology_key: str, values: int) -> Bomb:
    """Return a pod on a node, with ``count`` terms about other pods; ``{}`` in the topology key is each one's
    number, and each selector has ``values`` values.
    """

    def made(name: str) -> list[dict[str, Any]]:
        terms: list[dict[str, Any]] = [
            {
                "labelSelector": {
                    "matchExpressions": [
                        {"key": "app", "operator": "NotIn", "values": [f"v{at}-{i}" for i in range(values)]}
                    ]
                },
                "topologyKey": topology_key.format(at),
            }
            for at in range(count)
        ]
        if sort == PREFERRED:
            terms = [{"weight": 1, "podAffinityTerm": term} for term in terms]
        return [pending(name, nodeName="n1", affinity={"podAntiAffinity": {sort: terms}})]

    return made


@dataclass
class Cluster:
    """An API server of ours with nodes and devices, and the scheduler at work on it.

    Attributes:
        fake: The API server.
        started: The scheduler.
    """

    fake: FakeApiServer
    started: Started
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def name(self) -> str:
        """Return a name that no other pod has."""
        return f"p-{next(self._numbers)}"

    def bound(self, count: int) -> list[float]:
        """Return the seconds from creation to binding of ``count`` pods that come one after the other,
        ascending.
        """
        created: dict[str, float] = {}
        for _ in range(count):
            name = self.name()
            created[name] = time.monotonic()
            self.fake.add(pending(name))
            time.sleep(PAUSE)
        until(lambda: all(node_of(self.fake, name) for name in created), f"{count} pods to be bound")
        seconds = [
            entry.call.at - created[name]
            for entry in self.fake.history.bindings()
            if (name := entry.call.path.split("/")[-2]) in created
        ]
        for name in created:
            self.fake.remove("Pod", name, "default")
        self.fake.history.clear()
        return sorted(seconds)


@cache
def cluster(size: int) -> Cluster:
    """Return one for all rows with ``size`` nodes that are played in this process; it ends with it."""
    folder = Path(AT_END.enter_context(tempfile.TemporaryDirectory()))
    fake = AT_END.enter_context(FakeApiServer())
    nodes = [f"n{at}" for at in range(size)]
    fake.add(*map(node_manifest, nodes), device_class())
    fake.add(*(slice_of(node, *({} for _ in range(DEVICES))) for node in nodes[:NODES]))
    started = AT_END.enter_context(scheduler(fake, folder, "--leader-elect=false"))
    assert started.ready, started.log.read_text()
    return Cluster(fake, started)


def beside(round_: Round, nodes: int, *bombs: Bomb) -> None:
    """Good pods before, right behind and long after each of the bombs."""
    target = cluster(nodes)
    fake = target.fake
    count = round_.some(OTHERS, OTHERS)
    target.bound(10)
    for bomb in bombs:
        calm = target.bound(max(10, count))
        name = target.name()
        made = bomb(name)
        fake.add(*made)
        following = target.bound(FOLLOWING)
        until(lambda: looked_at(fake, name), f"an attempt for {name}")  # noqa: B023 - called at once
        after = target.bound(max(10, count))
        log.info(
            "the last of %d pods behind it %.2f s; others p50 %.1f -> %.1f ms, p99 %.1f -> %.1f ms",
            *(FOLLOWING, following[-1]),
            *(seconds[int(len(seconds) * share)] * 1e3 for share in (0.5, 0.99) for seconds in (calm, after)),
        )
        for item in reversed(made):
            fake.remove(item["kind"], name, "default")
        round_.inputs += len(following) + len(after)
        round_.faults += 1
        assert target.started.process.poll() is None, "the scheduler has ended"
        if round_.size == 1.0:
            # Fewer pods say nothing of how long one takes: the API server is slow with huge ones, too.
            median = len(after) // 2
            assert after[median] <= SLOWER * calm[median]
            assert following[-1] <= FOLLOWING_SECONDS


def looked_at(fake: FakeApiServer, name: str) -> bool:
    """Return whether the pod is bound or has a reason why it is not."""
    found = fake.get("Pod", name)
    return bool(found and (found["spec"].get("nodeName") or found.get("status", {}).get("conditions")))


def played(*bombs: Bomb, nodes: int = NODES) -> Callable[[Round], None]:
    return lambda round_: beside(round_, nodes, *bombs)


PLACED = (
    placed(PREFERRED, 9_000, "zone-{}", 1),
    placed(REQUIRED, 9_000, "zone-{}", 1),
    placed(PREFERRED, 1_000, "kubernetes.io/hostname", 50),
)


ROWS = (
    Row("S1", "costly_selectors", played(claiming(nested_binds(12, 8)), claiming(nested_loops(60, 20)))),
    Row("S2", "long_patterns", played(claiming(f"'{'a' * 60}'.matches('{OPTIONAL_900}')"))),
    Row("S3", "huge_pods", played(resources(30_000), affinity(5_000), spread(5_000))),
    Row("S4", "placed_terms", played(*PLACED, nodes=MANY_NODES)),
)
