"""Hosts in processes of their own act and measure; they are killed, hang, are upgraded and lie under load."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.plugin_hosts.hosts import close_connections
from mooring.testing import node_manifest
from mooring_client import Client, Pods
from mooring_client.v1.scheduling_service_pb2 import COMMIT_MODE_BIND
from tests.cli.commands import serving
from tests.plugin_hosts.drill import EVENTS, Child, child, drilled
from tests.process import until

pytestmark = pytest.mark.slow

NODES = ("v1-a", "v1-b", "v2-a", "v2-b")


@pytest.mark.parametrize("event", EVENTS)
def test_a_server_under_load_gives_no_wrong_answer(event: str, tmp_path: Path) -> None:
    with drilled(tmp_path) as drill:
        drill.play(event)
    assert drill.load.wrong == []
    assert drill.load.late == 0


@contextmanager
def server(folder: Path, host: Child) -> Iterator[Client]:
    """A server that decides and binds with the host's plugins."""
    enabled = [{"name": "Only"}, {"name": "Quiet", "weight": 100}]
    configuration: Mapping[str, object] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "pluginHosts": [{"address": host.address, "evaluateTimeout": "20s", "actTimeout": "20s"}],
        "profiles": [{"plugins": {"multiPoint": {"enabled": enabled}}}],
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(configuration))
    (folder / "nodes.yaml").write_text(yaml.safe_dump_all(map(node_manifest, NODES)))
    flags = ("--source", f"files:{folder}/nodes.yaml", "--config", folder / "config.yaml")
    try:
        with serving(*flags) as ready, Client(ready.address("grpc")) as client:
            # v1-b has the lower measured value, once both are measured.
            until(lambda: asked(client, "any")[0] == "v1-b")
            yield client
    finally:
        close_connections()


def asked(client: Client, name: str, **options: Any) -> tuple[str, list[str]]:
    """Have a pod decided; return its node and the reasons against it."""
    containers = [{"name": "web"}]
    pod = {"metadata": {"name": name, "namespace": "default"}, "spec": {"containers": containers}}
    (placed,) = client.schedule([Pods(json.dumps(pod).encode(), uids=[name])], **options)
    return placed.node, list(placed.verdict.reasons)


def bound(client: Client, name: str) -> tuple[str, list[str]]:
    """Bind a pod; return what ``asked`` does."""
    return asked(client, name, commit_mode=COMMIT_MODE_BIND)


def test_a_host_acts_at_each_point_and_measures(tmp_path: Path) -> None:
    with child(tmp_path, "v1") as host, server(tmp_path, host) as client:
        assert bound(client, "web") == ("v1-b", [])
        assert host.done() == [f"{point} web v1-b" for point in ("reserve", "permit", "preBind", "postBind")]


@pytest.mark.parametrize(
    ("pod", "reason", "points"),
    [
        pytest.param("unlicensed", "no licence left", ("reserve", "unreserve"), id="reserve"),
        pytest.param("forbidden", "not permitted", ("reserve", "permit", "unreserve"), id="permit"),
        pytest.param("homeless", "no volume", ("reserve", "permit", "preBind", "unreserve"), id="preBind"),
    ],
)
def test_a_rejection_by_the_host_gives_back_what_it_kept(
    pod: str, reason: str, points: tuple[str, ...], tmp_path: Path
) -> None:
    with child(tmp_path, "v1") as host, server(tmp_path, host) as client:
        assert reason in bound(client, pod)[1]
        assert host.done() == [f"{point} {pod} v1-b" for point in points]
