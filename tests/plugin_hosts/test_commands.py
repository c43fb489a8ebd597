"""Hosts in configurations and on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from mooring.config.types import PluginHostStanza
from mooring.plugin_hosts.hosts import close_connections
from mooring.testing import node_manifest, pod_manifest
from mooring_client.plugin_host.hosting import serve
from tests.cli.commands import call
from tests.plugin_hosts.rules import RackHosted

ADDRESS = "unix:{}/host.sock"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder with a host, a cluster, a pod and a configuration that names the host."""
    server = serve([RackHosted], ADDRESS.format(tmp_path), version="1")
    zone = "topology.kubernetes.io/zone"
    nodes = [node_manifest(f"n{at}", labels={zone: f"r{at}"}) for at in (1, 2)]
    pod = pod_manifest("web", labels={"app": "r2"})
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all([*nodes, pod]))
    yield tmp_path
    close_connections()
    server.stop(None).wait()


def configuration(folder: Path, **host: object) -> str:
    """Write a configuration; with ``host`` it names the host with these options."""
    document: dict[str, object] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Rack", "weight": 10}]}}}],
    }
    if host:
        document["pluginHosts"] = [host]
    (folder / "config.yaml").write_text(yaml.safe_dump(document))
    return str(folder / "config.yaml")


def test_a_host_of_the_configuration_decides(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configuration(cluster, address=ADDRESS.format(cluster), evaluateTimeout="20s", ignorable=False)
    files = "--manifests", cluster / "cluster.yaml", "--config", cluster / "config.yaml"
    assert call(capsys, "explain", "web", *files, "-o", "name").out == "node/n2\n"


def test_a_host_of_the_command_line_has_plugins(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = call(capsys, "config", "show", configuration(cluster), "--plugin-host", ADDRESS.format(cluster))
    assert "name: Rack" in shown.out


def test_plugins_are_listed_with_their_host(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = ADDRESS.format(cluster)
    listed = call(capsys, "plugins", "--plugin-host", address, "-o", "json").document
    assert [each["source"] for each in listed if each["name"] == "Rack"] == [f"plugin host {address}"]


def test_a_command_without_the_host_fails_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = configuration(tmp_path, address=ADDRESS.format(tmp_path))
    failed = call(capsys, "config", "show", file)
    assert failed.code != 0
    assert f"plugin host {ADDRESS.format(tmp_path)} does not answer" in failed.err


@pytest.mark.parametrize(
    ("host", "said"),
    [
        pytest.param({"address": 5}, "pluginHosts[0].address", id="type"),
        pytest.param({"evaluateTimeout": "1s"}, "pluginHosts[0].address: is required", id="no address"),
        pytest.param({"address": "unix:x", "adress": "y"}, "pluginHosts[0].adress", id="unknown"),
        pytest.param({"address": "10.0.0.1:80"}, "is not a loopback address", id="elsewhere"),
    ],
)
def test_a_faulty_host_is_told(
    host: dict[str, object], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = call(capsys, "config", "check", configuration(tmp_path, **host))
    assert failed.code != 0
    assert said in failed.err


def test_the_defaults_are_those_of_the_documents() -> None:
    host = PluginHostStanza("unix:x")
    assert (host.evaluate_timeout.total_seconds(), host.act_timeout.total_seconds()) == (0.1, 5)
