"""The published extender: its policy file, converted, and two extenders on one unmodified kube-scheduler."""

import json
import os
import ssl
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.process import wait_until

from . import objects
from .api import Manifest
from .applying import certificates, with_certificates
from .build import ROOT
from .control_plane import ControlPlane
from .processes import Adapter, MooringScheduler, MooringServer, mooring

pytestmark = pytest.mark.e2e

EXAMPLE = ROOT / "deploy" / "examples" / "systems" / "s4-extender"
PUBLISHED = "http://127.0.0.1:12345"
PREFIX = "/api/scheduler"
ROUNDS = int(os.environ.get("MOORING_E2E_ROUNDS", "5"))
"""How often what depends on chance is tried; more by hand."""


@pytest.fixture
def server(control_plane: ControlPlane, tmp_path: Path) -> Iterator[MooringServer]:
    """Yield the example's cluster on the API server, and its mooring, which follows it and may bind."""
    for item in yaml.safe_load_all((EXAMPLE / "cluster.yaml").read_text()):
        control_plane.api.create(ready(item))
    config = yaml.safe_load((EXAMPLE / "mooring.yaml").read_text())
    source = f"kubernetes:{control_plane.kubeconfig('mooring')}"
    with MooringServer(tmp_path, config, source=source) as running:
        yield running


@pytest.fixture
def adapter(server: MooringServer, tmp_path: Path) -> Iterator[Adapter]:
    """Yield the adapter of the example's scheduler.yaml, which binds for kube-scheduler's
    certificate alone.
    """
    tls = certificates(tmp_path / "tls")
    with Adapter(tmp_path, server.address, "--path-prefix", PREFIX, tls=tls) as running:
        yield running


def ready(item: Manifest) -> Manifest:
    """Return a node with the condition that a kubelet would give it; any other object as it is."""
    if item["kind"] == "Node":
        item["status"]["conditions"] = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
    return item


def scheduler_config(document: dict[str, Any], adapter: Adapter) -> dict[str, Any]:
    """Return kube-scheduler's configuration with the adapter's port instead of the published one."""
    published = PUBLISHED.replace("http", adapter.url.partition(":")[0])
    moved = json.loads(json.dumps(document).replace(published, adapter.url))
    if adapter.tls is not None:
        moved = with_certificates(moved, adapter.tls)
    return {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1, **moved}


def calls(adapter: Adapter) -> float:
    """Return how many verbs the adapter has answered."""
    context = None
    if adapter.tls is not None:
        context = ssl.create_default_context(cafile=adapter.tls / "ca.crt")
        context.load_cert_chain(adapter.tls / "mooring-client.crt", adapter.tls / "mooring-client.key")
    with urllib.request.urlopen(f"{adapter.url}/metrics", timeout=10, context=context) as response:
        lines = response.read().decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(ANSWERED))


ANSWERED = "mooring_extender_request_duration_seconds_count"


@pytest.mark.parametrize("mine", [pytest.param(False, id="kube-scheduler"), pytest.param(True, id="mooring")])
def test_each_extender_decides_about_its_resource(
    control_plane: ControlPlane, adapter: Adapter, tmp_path: Path, mine: bool
) -> None:
    """By an unmodified kube-scheduler, and with the same file by mooring scheduler."""
    api = control_plane.api
    config = scheduler_config(yaml.safe_load((EXAMPLE / "scheduler.yaml").read_text()), adapter)
    pods = {pod["metadata"]["name"]: pod for pod in yaml.safe_load_all((EXAMPLE / "pods.yaml").read_text())}
    own = MooringScheduler(tmp_path, control_plane.kubeconfig("kube-scheduler"), config)
    with own if mine else control_plane.scheduler(config):
        api.create(pods["both"])
        assert api.wait_bound("both") == "free"
        assert control_plane.bindings()[-1] == ("mooring", "both")
        api.create(pods["answers"])
        assert api.wait_bound("answers") == "slow"
        assert control_plane.bindings()[-1] == ("mooring", "answers")
        api.create(pods["streams"])
        assert api.wait_bound("streams") == "taken"
        assert control_plane.bindings()[-1] == ("kube-scheduler", "streams")
        asked = calls(adapter)
        api.create(pods["neither"])
        assert api.wait_bound("neither")
        assert calls(adapter) == asked
        # Nothing is left: of bandwidth by one extender's word, of IPs by the other's, of CPU by its own.
        again = {**pods["streams"], "metadata": {"name": "more"}}
        api.create(again)
        api.wait_failed_scheduling("more", "3 Insufficient example.com/bandwidth")
        again = {**pods["answers"], "metadata": {"name": "another"}}
        api.create(again)
        api.wait_failed_scheduling("another", "3 node(s) had no free underlay IP")
        api.create(objects.pod("huge", containers=[huge_container()]))
        api.wait_failed_scheduling("huge", "3 Insufficient cpu")


def huge_container() -> dict[str, Any]:
    requests = {"cpu": "100", "example.com/bandwidth": "1"}
    resources = {"requests": requests, "limits": {"example.com/bandwidth": "1"}}
    return {"name": "main", "image": "registry.example/app:1", "resources": resources}


def test_an_ip_that_comes_free_is_given_on(control_plane: ControlPlane, adapter: Adapter) -> None:
    api = control_plane.api
    config = scheduler_config(yaml.safe_load((EXAMPLE / "scheduler.yaml").read_text()), adapter)
    pods = {pod["metadata"]["name"]: pod for pod in yaml.safe_load_all((EXAMPLE / "pods.yaml").read_text())}
    with control_plane.scheduler(config):
        for name in ("first", "second", "third"):
            api.create({**pods["answers"], "metadata": {"name": name}})
        bound = wait_until(lambda: two_bound(control_plane), "two of three pods to be bound")
        (waiting,) = {"first", "second", "third"} - bound.keys()
        assert set(bound.values()) == {"slow", "free"}
        api.wait_failed_scheduling(waiting, "3 node(s) had no free underlay IP")
        api.call("DELETE", "/api/v1/namespaces/default/pods/earlier?gracePeriodSeconds=0")
        assert api.wait_bound(waiting) == "taken"


def test_forty_pods_at_once_get_no_more_bandwidth_than_there_is(
    control_plane: ControlPlane, adapter: Adapter
) -> None:
    """Bandwidth that one pod was promised counts for the next, however late the extender hears of it."""
    api = control_plane.api
    config = scheduler_config(yaml.safe_load((EXAMPLE / "scheduler.yaml").read_text()), adapter)
    streams = next(yaml.safe_load_all((EXAMPLE / "pods.yaml").read_text()))
    names = [f"streams-{number}" for number in range(40)]
    with control_plane.scheduler(config):
        for number in range(ROUNDS):
            api.clear()
            api.create(wide_node(f"wide-{number}"))
            pods = [{**streams, "metadata": {"name": name}} for name in names]
            api.create_all(pods, connections=len(pods))
            wait_until(lambda: all(map(is_tried, api.pods())), "every pod to be tried")
            assert len(api.bound()) == 10, f"round {number}"


def wide_node(name: str) -> Manifest:
    """Return a node with bandwidth for ten of the pods and CPU for all of them."""
    node = objects.node(name)
    for amounts in (node["status"]["capacity"], node["status"]["allocatable"]):
        amounts.update({"cpu": "64", "example.com/bandwidth": "6000"})
    return node


def is_tried(pod: Manifest) -> bool:
    """Return whether the scheduler has bound the pod, or found no place for it."""
    conditions = pod.get("status", {}).get("conditions", ())
    return any(condition["type"] == "PodScheduled" for condition in conditions)


def two_bound(control_plane: ControlPlane) -> dict[str, str] | None:
    found = {name: control_plane.api.node_of(name) for name in ("first", "second", "third")}
    bound = {name: node for name, node in found.items() if node}
    return bound if len(bound) == 2 else None


def test_the_converted_policy_asks_at_the_published_address(
    control_plane: ControlPlane, server: MooringServer, tmp_path: Path
) -> None:
    """kube-scheduler takes what the command wrote, and filters by the first of mooring's profiles."""
    api = control_plane.api
    converted = yaml.safe_load(mooring("config", "convert", EXAMPLE / "policy.json"))
    assert converted["extenders"][0]["urlPrefix"] == f"{PUBLISHED}{PREFIX}"
    api.create(next(yaml.safe_load_all((EXAMPLE / "pods.yaml").read_text())))
    with (
        Adapter(tmp_path, server.address, "--path-prefix", PREFIX) as plain,
        control_plane.scheduler(scheduler_config(converted, plain)),
    ):
        assert api.wait_bound("streams") in ("taken", "free")
        assert calls(plain)
