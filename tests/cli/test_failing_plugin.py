"""A plugin that raises: its author gets the traceback, and nobody is told that the pod doesn't fit."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import BIN, Started, call, environment, fetch, serving, write_config, write_manifests

BOOM = """
from mooring.framework import FilterPlugin, Status


class Boom(FilterPlugin[None]):
    name = "Boom"

    def filter(self, state, pod, node):
        return self.look(node)

    def look(self, node):
        raise ValueError("boom")
"""
MESSAGE = "plugin 'Boom' failed at Filter: ValueError: boom"
PODS = ("web", "api", "db")


@dataclass(frozen=True)
class Broken:
    """A folder with the plugin, a configuration that enables it, and a cluster."""

    folder: Path

    @property
    def flags(self) -> tuple[str, ...]:
        return ("--config", str(self.folder / "config.yaml"), "--plugin", "broken:Boom")

    @property
    def twins(self) -> dict[str, str]:
        return {"PYTHONPATH": f"{self.folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}

    @property
    def manifests(self) -> str:
        return str(self.folder / "cluster.yaml")

    @property
    def traceback(self) -> list[str]:
        """What the author needs: the lines of the plugin's own frames."""
        file = self.folder / "broken.py"
        return [
            "Traceback (most recent call last):",
            f'  File "{file}", line 9, in filter',
            "    return self.look(node)",
            f'  File "{file}", line 12, in look',
            '    raise ValueError("boom")',
            "ValueError: boom",
        ]

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        command = [str(BIN / "mooring"), *argv]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment(self.twins)
        )


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Broken:
    folder = tmp_path_factory.mktemp("broken")
    (folder / "broken.py").write_text(BOOM)
    profile = {"schedulerName": "default-scheduler", "plugins": {"filter": {"enabled": [{"name": "Boom"}]}}}
    write_config(folder / "config.yaml", profile)
    write_manifests(folder / "cluster.yaml", node_manifest("n1"), *map(pod_manifest, PODS))
    return Broken(folder)


@pytest.fixture(scope="module")
def server(broken: Broken) -> Iterator[Started]:
    flags = ("--source", f"files:{broken.manifests}", *broken.flags)
    with serving(broken.folder, *flags, twins=broken.twins) as started:
        yield started


def frames(text: str) -> list[str]:
    """The lines of the traceback in ``text``, which has exactly one."""
    assert text.count("Traceback (most recent call last):") == 1
    # The log indents them, so that none looks like an entry.
    lines = [line.removeprefix("    ") for line in text[text.index("Traceback") :].splitlines()]
    carets = [line for line in lines if set(line.strip()) - {"^", "~"}]
    return carets[: carets.index("ValueError: boom") + 1]


@pytest.mark.parametrize("remote", [False, True], ids=["offline", "of a server"])
def test_explain(remote: bool, broken: Broken, server: Started) -> None:
    where = ("--server", server.address("grpc")) if remote else ("--manifests", broken.manifests)
    flags = () if remote else broken.flags
    shown = broken.run("explain", "web", *where, *flags)
    assert shown.returncode == 1
    assert f"\nfailed: {MESSAGE}\n" in shown.stdout
    assert "unschedulable" not in shown.stdout + shown.stderr
    if not remote:
        assert frames(shown.stderr) == broken.traceback
    document = broken.run("explain", "web", *where, *flags, "-o", "json")
    assert document.returncode == 1
    said = json.loads(document.stdout)
    assert said["pod"] == "default/web"
    assert said["status"] == {"code": "Error", "plugin": "Boom", "reasons": [MESSAGE], "message": MESSAGE}
    assert said["selected"] is None


def test_schedule(broken: Broken) -> None:
    shown = broken.run("schedule", "--manifests", broken.manifests, *broken.flags)
    assert shown.returncode == 1
    assert shown.stdout.count(f"failed: {MESSAGE}") == len(PODS)
    assert shown.stdout.endswith("0 of 3 pending pods placed, 3 failed\n")
    assert "unschedulable" not in shown.stdout + shown.stderr
    assert frames(shown.stderr) == broken.traceback
    document = broken.run("schedule", "--manifests", broken.manifests, *broken.flags, "-o", "json")
    assert document.returncode == 1
    assert {(row["code"], row["message"]) for row in json.loads(document.stdout)} == {("Error", MESSAGE)}


def test_the_log_and_the_metric_of_a_server(
    broken: Broken, server: Started, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        assert call(capsys, "explain", "web", "--server", server.address("grpc")).code == 1
    _, metrics = fetch(f"http://{server.address('metrics')}/metrics")
    name = 'mooring_plugin_errors_total{extension_point="Filter",plugin="Boom"}'
    (value,) = (line.split()[-1] for line in metrics.decode().splitlines() if line.startswith(name))
    assert float(value) >= 3
    assert frames(server.log.read_text()) == broken.traceback
