"""NetworkTraffic follows a real Prometheus: load that moves, resets, nodes without measurement, an outage."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from mooring.cli import remote
from mooring_client.v1 import objects_pb2 as objects
from mooring_client.v1 import scheduling_service_pb2 as scheduling
from tests.process import wait_until

from . import objects as manifests
from .processes import MooringServer
from .prometheus import Exporter, Prometheus
from .traffic import Traffic, measure

pytestmark = pytest.mark.e2e

MAX_AGE_SECONDS = 6
ADDRESSES = {"n1": "127.0.0.11", "n2": "127.0.0.12", "n3": "127.0.0.13"}
UNMEASURED = "n4"
POD = manifests.pod("asked")


class Measured(Traffic):
    """mooring with NetworkTraffic over four nodes; three have an exporter."""

    def __init__(self, server: MooringServer, prometheus: Prometheus, exporters: dict[str, Exporter]) -> None:
        super().__init__(prometheus, exporters, server.metrics)
        self._server = server

    def explain(self) -> dict[str, Any]:
        """By node, the scores of NetworkTraffic for a pod that asks for nothing."""
        inline = objects.KubernetesObject(json=json.dumps(POD).encode())
        request = scheduling.ExplainRequest(pod=objects.PodSource(object=inline))
        nodes = remote.explain_plainly(self._server.address, request).document()["nodes"]
        return {name: node["scores"]["NetworkTraffic"] for name, node in nodes.items()}

    def raw(self) -> dict[str, int]:
        return {name: score["raw"] for name, score in self.explain().items()}

    def quietest(self) -> set[str]:
        """Return the nodes with the highest score."""
        final = {name: score["normalized"] for name, score in self.explain().items()}
        return {name for name, score in final.items() if score == max(final.values())}


@pytest.fixture
def measured(tmp_path: Path) -> Iterator[Measured]:
    with ExitStack() as running:
        exporters, prometheus = measure(running, tmp_path, ADDRESSES)
        server = MooringServer(tmp_path, config(prometheus.address), source=cluster(tmp_path))
        running.enter_context(server)
        found = Measured(server, prometheus, exporters)
        # A rate needs two scrapes; until then the nodes have no measurement.
        wait_until(lambda: min(found.raw().values()) > 0, "the first rates")
        yield found


def cluster(directory: Path) -> str:
    """Return the nodes as a file source; each has the address of its exporter."""
    file = directory / "cluster.json"
    items = []
    for name, address in {**ADDRESSES, UNMEASURED: "127.0.0.14"}.items():
        node = manifests.node(name)
        node["status"]["addresses"] = [{"type": "InternalIP", "address": address}]
        items.append(node)
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return f"files:{file}"


def config(address: str) -> dict[str, Any]:
    """NetworkTraffic alone scores; it asks every second."""
    args = {
        "prometheusAddress": address,
        "networkInterface": "eth0",
        "timeRangeInMinutes": 1,
        "refreshPeriod": "1s",
        "maxAge": f"{MAX_AGE_SECONDS}s",
    }
    score = {"disabled": [{"name": "*"}], "enabled": [{"name": "NetworkTraffic"}]}
    profile = {
        "schedulerName": "default-scheduler",
        "plugins": {"score": score},
        "pluginConfig": [{"name": "NetworkTraffic", "args": args}],
    }
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }


def test_placement_follows_the_load(measured: Measured) -> None:
    """Each time load moves, one scrape and one refresh later the decision is another."""
    for rate, quiet in ((1e6, "n1"), (1e8, "n2"), (1e10, "n3")):
        for name, exporter in measured.exporters.items():
            exporter.move(0.0 if name == quiet else rate)
        measured.one_scrape_and_refresh()
        assert measured.quietest() == {quiet}


def test_a_counter_that_begins_again_is_no_load(measured: Measured) -> None:
    for name, rate in {"n1": 1e6, "n2": 2e6, "n3": 3e6}.items():
        measured.exporters[name].move(rate)
    measured.one_scrape_and_refresh()
    assert measured.quietest() == {"n1"}
    measured.exporters["n1"].reset()
    measured.one_scrape_and_refresh()
    found = measured.raw()
    assert 0 < found["n1"] < found["n2"] < found["n3"]


def test_a_node_without_measurements_counts_as_the_busiest(measured: Measured) -> None:
    measured.exporters["n3"].move(1e7)
    measured.one_scrape_and_refresh()
    found = measured.explain()
    assert found[UNMEASURED] == found["n3"]
    assert found[UNMEASURED]["normalized"] == 0


def test_prometheus_killed_and_back(measured: Measured) -> None:
    """The last values stand, then all nodes are equal, then there are new ones; no decision fails."""
    for name, rate in {"n1": 1e6, "n2": 2e6, "n3": 3e6}.items():
        measured.exporters[name].move(rate)
    measured.one_scrape_and_refresh()
    before = measured.raw()
    measured.prometheus.stop()
    measured.wait_events("refresh_failed", 1)
    assert measured.raw() == before
    wait_until(lambda: measured.quietest() == {*ADDRESSES, UNMEASURED}, "the last values to be too old")
    assert measured.events("expired") == 1
    measured.prometheus.start()
    measured.one_scrape_and_refresh()
    assert measured.quietest() == {"n1"}


def test_one_query_per_refresh(measured: Measured) -> None:
    """However many decisions are made, and however many nodes there are."""
    queries, refreshed = measured.prometheus.queries(), measured.events("refreshed")
    while measured.events("refreshed") < refreshed + 5:
        measured.raw()
    lower = measured.events("refreshed") - refreshed
    asked = measured.prometheus.queries() - queries
    upper = measured.events("refreshed") - refreshed
    # The counters of two processes are not read at one moment: one question may be between them.
    assert lower - 1 <= asked <= upper + 1
