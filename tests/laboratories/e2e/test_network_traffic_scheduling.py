"""S1 as it is deployed: the second scheduler places pods by the measurements of a real Prometheus."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.process import Process, wait_until

from . import objects
from .api import Api, Manifest
from .applying import apply, built, identity, metrics_token, scheduling, start, written
from .guarded import GuardedControlPlane
from .prometheus import Exporter, Prometheus
from .telemetry import fetch
from .traffic import Traffic, measure

pytestmark = pytest.mark.e2e

S1 = "examples/systems/s1-network-traffic"
ADDRESSES = {f"k8s-000{number}": f"127.0.0.2{number}" for number in range(1, 6)}
UNMEASURED = {"k8s-0006": "127.0.0.26", "k8s-0007": "127.0.0.27"}
EXPORTER = "example.com/exporter"
"""The label that distinguishes nodes with an exporter from others."""
TIMERS = "refreshPeriod: 1s\n      maxAge: 6s\n      timeRangeInMinutes: 1"


class Placing(Traffic):
    """The scheduler over seven nodes; all but two have an exporter."""

    def __init__(
        self,
        api: Api,
        scheduler: Process,
        metrics: Callable[[], str],
        prometheus: Prometheus,
        exporters: dict[str, Exporter],
    ) -> None:
        super().__init__(prometheus, exporters, metrics)
        self.scheduler = scheduler
        self._api = api
        self._placed = 0

    def place(self, **spec: Any) -> str:
        """Return the node of one more pod of the example's Deployment, with ``spec`` added to its own."""
        (workload,) = written(f"{S1}/nginx.yaml")
        self._placed += 1
        name = f"nginx-{self._placed}"
        template = workload["spec"]["template"]
        metadata = {**template["metadata"], "name": name}
        whole = {**template["spec"], **spec}
        self._api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole})
        return self._api.wait_bound(name)

    def deploy(self) -> str:
        """Return the node of the pod that the example's Deployment gets."""
        before = self._api.bound()
        apply(self._api, written(f"{S1}/nginx.yaml"))

        def probe() -> str | None:
            return next((node for name, node in self._api.bound().items() if name not in before), None)

        return wait_until(probe, "the Deployment's pod to be bound")

    def load(self, rate: float, quiet: str) -> None:
        """From now on ``quiet`` receives nothing and the others ``rate``; returns when it is measured."""
        for name, exporter in self.exporters.items():
            exporter.move(0.0 if name == quiet else rate)
        self.one_scrape_and_refresh()

    def reset(self, name: str) -> None:
        """The counter of the node begins at 0 again; returns when that is measured."""
        self.exporters[name].reset()
        self.one_scrape_and_refresh()


def pointed_at(address: str) -> list[Manifest]:
    """S1's manifests, with the Prometheus of this test and shorter times."""
    found = [*built(S1)]
    (at,) = [number for number, item in enumerate(found) if item["kind"] == "ConfigMap"]
    text = found[at]["data"]["config.yaml"].replace("http://prometheus.monitoring:9090", address)
    found[at] = {**found[at], "data": {"config.yaml": text.replace("timeRangeInMinutes: 5", TIMERS)}}
    return found


@pytest.fixture
def placing(tmp_path: Path) -> Iterator[Placing]:
    with ExitStack() as running:
        exporters, prometheus = measure(running, tmp_path, ADDRESSES)
        guarded = running.enter_context(GuardedControlPlane(tmp_path))
        for name, address in {**ADDRESSES, **UNMEASURED}.items():
            node = objects.node(name, {EXPORTER: str(name in exporters).lower()})
            node["status"]["addresses"] = [{"type": "InternalIP", "address": address}]
            guarded.api.create(node)
        manifests = pointed_at(prometheus.address)
        apply(guarded.api, manifests)
        # Lines about single nodes come at level 4.
        flags = scheduling(identity(guarded, "mooring-system", "mooring-scheduler")) | {"--v": "4"}
        scheduler = running.enter_context(start("scheduler", manifests, tmp_path, flags))
        page = f"https://127.0.0.1:{flags['--secure-port']}/metrics"
        metrics = partial(fetch, page, metrics_token(guarded))
        yield Placing(guarded.api, scheduler, metrics, prometheus, exporters)


def test_pods_go_where_the_network_is_quiet(placing: Placing) -> None:
    """Load moves, a counter begins again, Prometheus goes and comes back; each pod has the node of then."""
    first, second, third, fourth, fifth = ADDRESSES
    # The first choice is what has the scheduler ask at all; its pod should count on none of the five.
    placing.place(nodeSelector={EXPORTER: "false"})
    placing.load(1e6, first)
    assert placing.deploy() == first
    for rate, quiet in ((1e8, second), (1e10, third)):
        placing.load(rate, quiet)
        assert placing.place() == quiet
    placing.load(1e12, fourth)
    placing.reset(fourth)
    assert placing.place() == fourth
    for name in UNMEASURED:
        said = f"[NetworkTraffic] node '{name}' has no bandwidth measure, taken as the busiest"
        assert said in placing.scheduler.output()

    queries, refreshed = placing.prometheus.queries(), placing.events("refreshed")
    placing.wait_events("refreshed", 5)
    lower = placing.events("refreshed") - refreshed
    asked = placing.prometheus.queries() - queries
    # The counters of two processes are not read at one moment: one question may be between them.
    assert lower - 1 <= asked <= placing.events("refreshed") - refreshed + 1

    placing.load(1e14, fifth)
    placing.prometheus.stop()
    placing.wait_events("refresh_failed", 1)
    assert placing.place() == fifth
    equal = "rules read None from now on"
    wait_until(
        lambda: placing.place() and equal in placing.scheduler.output(), "the last values to be too old"
    )
    assert placing.events("expired") == 1
    placing.prometheus.start()
    placing.load(1e16, first)
    assert placing.place() == first
