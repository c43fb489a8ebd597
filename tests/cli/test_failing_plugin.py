"""A plugin that raises: its author gets the traceback, and the answer does not claim that the pod doesn't
fit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import Started, call, fetch, serving_process, write_config, write_manifests

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
        """Return the lines of the plugin's own frames."""
        file = self.folder / "broken.py"
        return [
            "Traceback (most recent call last):",
            f'  File "{file}", line 9, in filter',
            "    return self.look(node)",
            f'  File "{file}", line 12, in look',
            '    raise ValueError("boom")',
            "ValueError: boom",
        ]


def broken_in(folder: Path) -> Broken:
    (folder / "broken.py").write_text(BOOM)
    profile = {"schedulerName": "default-scheduler", "plugins": {"filter": {"enabled": [{"name": "Boom"}]}}}
    write_config(folder / "config.yaml", profile)
    write_manifests(folder / "cluster.yaml", node_manifest("n1"), *map(pod_manifest, PODS))
    return Broken(folder)


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Broken:
    """Return a plugin in a folder of its own, since a process reports a raising line once."""
    monkeypatch.syspath_prepend(tmp_path)
    # The test removes the module that is imported under this name.
    monkeypatch.setitem(sys.modules, "broken", sys)
    del sys.modules["broken"]
    return broken_in(tmp_path)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broken, Started]]:
    there = broken_in(tmp_path_factory.mktemp("served"))
    flags = ("--source", f"files:{there.manifests}", *there.flags)
    with serving_process(there.folder, *flags, twins=there.twins) as started:
        yield there, started


def frames(text: str) -> list[str]:
    """Return the lines of the traceback in ``text``, which has exactly one."""
    assert text.count("Traceback (most recent call last):") == 1
    # The log indents them, so that none looks like an entry.
    lines = [line.removeprefix("    ") for line in text[text.index("Traceback") :].splitlines()]
    carets = [line for line in lines if set(line.strip()) - {"^", "~"}]
    return carets[: carets.index("ValueError: boom") + 1]


@pytest.mark.parametrize("remote", [False, True], ids=["offline", "of a server"])
def test_explain(
    remote: bool, broken: Broken, served: tuple[Broken, Started], capsys: pytest.CaptureFixture[str]
) -> None:
    server = ("--server", served[1].address("grpc"))
    where = server if remote else ("--manifests", broken.manifests, *broken.flags)
    shown = call(capsys, "explain", "web", *where)
    assert shown.code == 1
    assert f"\nfailed: {MESSAGE}\n" in shown.out
    assert "unschedulable" not in shown.out + shown.err
    if not remote:
        assert frames(shown.err) == broken.traceback
    answer = call(capsys, "explain", "web", *where, "-o", "json")
    assert answer.code == 1
    said = answer.document
    assert said["pod"] == "default/web"
    assert said["status"] == {"code": "Error", "plugin": "Boom", "reasons": [MESSAGE], "message": MESSAGE}
    assert said["selected"] is None


def test_schedule(broken: Broken, capsys: pytest.CaptureFixture[str]) -> None:
    shown = call(capsys, "schedule", "--manifests", broken.manifests, *broken.flags)
    assert shown.code == 1
    assert shown.out.count(f"failed: {MESSAGE}") == len(PODS)
    assert shown.out.endswith("0 of 3 pending pods placed, 3 failed\n")
    assert "unschedulable" not in shown.out + shown.err
    assert frames(shown.err) == broken.traceback
    answer = call(capsys, "schedule", "--manifests", broken.manifests, *broken.flags, "-o", "json")
    assert answer.code == 1
    assert {(row["code"], row["message"]) for row in answer.document} == {("Error", MESSAGE)}


def test_the_log_and_the_metric_of_a_server(
    served: tuple[Broken, Started], capsys: pytest.CaptureFixture[str]
) -> None:
    there, server = served
    for _ in range(3):
        assert call(capsys, "explain", "web", "--server", server.address("grpc")).code == 1
    _, metrics = fetch(f"http://{server.address('metrics')}/metrics")
    name = 'mooring_plugin_errors_total{extension_point="Filter",plugin="Boom"}'
    (value,) = (line.split()[-1] for line in metrics.decode().splitlines() if line.startswith(name))
    assert float(value) >= 3
    assert frames(server.log.read_text()) == there.traceback
