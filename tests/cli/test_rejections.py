"""An error that the user can fix is one line, with exit code 1 and without a traceback."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest

from mooring.cli import with_plugin
from mooring.framework import CycleState, FilterPlugin, NodeInfo, Pod, Status
from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import call, write_config, write_manifests


class NodeName(FilterPlugin[None]):
    name = "NodeName"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        raise AssertionError("never run")


def web(folder: Path) -> Path:
    return write_manifests(folder / "web.yaml", node_manifest("n1"), pod_manifest("web"))


SAMPLE = ("--source", "sample")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        pytest.param(
            ["config", "check", "none.yaml"], "none.yaml: can't be read: No such file", id="no config"
        ),
        pytest.param(["config", "show", "."], ".: can't be read: Is a directory", id="a directory"),
        pytest.param(["config", "check", "bytes"], "bytes: is not text in UTF-8", id="no text"),
        pytest.param(
            [
                *("explain", "web", "--manifests", "web.yaml"),
                *("--feature-gates", "DRADeviceTaints=false,DRADeviceTaintRules=true"),
            ],
            "mooring: feature-gates.DRADeviceTaint",
            id="gates without a file",
        ),
        pytest.param(["config", "convert", "web.yaml"], "web.yaml: ", id="no configuration"),
        pytest.param(
            ["schedule", "--manifests", "none.yaml"], "none.yaml: can't be read: No such", id="no manifest"
        ),
        pytest.param(
            ["schedule", "--manifests", "web.yaml", "--config", "none.yaml"],
            "none.yaml: can't be",
            id="--config",
        ),
        pytest.param(
            ["schedule", "--manifests", "web.yaml", "--profile", "x"],
            "no profile 'x'; there are:",
            id="profile",
        ),
        pytest.param(
            ["schedule", "--manifests", "bytes"], "bytes: is not text in UTF-8", id="manifest is not text"
        ),
        pytest.param(
            ["explain", "db", "--manifests", "web.yaml"],
            "no pod default/db in the manifests; pending there: default/web",
            id="unknown pod",
        ),
        pytest.param(["plugins", "--plugin", "x"], "'x' is not a plugin reference", id="malformed reference"),
        pytest.param(["plugins", "--plugin", "none:X"], "'none:X' can't be loaded", id="module unknown"),
        pytest.param(["plugins", "new", "lower"], "'lower' is not PascalCase", id="plugin name"),
        pytest.param(
            ["plugins", "new", "NodeName"], "a plugin named NodeName already exists", id="taken name"
        ),
        pytest.param(["plugins", "new", "Json"], "Python has a json already", id="name of a module"),
        pytest.param(["plugins", "new", "Class"], "Python has a class already", id="a keyword"),
        pytest.param(
            ["serve", "--source", "etcd"], "--source (--cluster): 'etcd' is not one of sample,", id="source"
        ),
        pytest.param(
            ["web", "--cluster", "etcd:1"],
            "--cluster: 'etcd:1' is not one of server:ADDRESS,",
            id="page's cluster",
        ),
        pytest.param(
            ["decisions", "--cluster", "files:a"],
            "--cluster: 'files:a' has no decisions: give server:ADDRESS",
            id="decisions of files",
        ),
        pytest.param(
            ["explain", "web", "--kubeconfig", "none"],
            "none: no such file; name a kubeconfig",
            id="no kubeconfig",
        ),
        pytest.param(["serve", *SAMPLE, "--listen", "here"], "'here' is not an address", id="address"),
        pytest.param(
            ["serve", *SAMPLE, "--listen", "0.0.0.0:0"], "can be reached from other machines", id="exposed"
        ),
        pytest.param(
            ["serve", *SAMPLE, "--tls-cert-file", "c"],
            "--tls-cert-file: is given together with",
            id="half of TLS",
        ),
        pytest.param(
            ["serve", *SAMPLE, "--tls-client-ca-file", "a"],
            "as --tls-client-ca-file needs",
            id="authority alone",
        ),
        pytest.param(
            ["serve", *SAMPLE, "--extender-listen", "127.0.0.1:0", "--extender-tls-private-key-file", "k"],
            "--extender-tls-cert-file: is given together with",
            id="half of the extender's TLS",
        ),
        pytest.param(
            ["serve", *SAMPLE, "--extender-listen", "127.0.0.1:0", "--extender-client-ca-file", "a"],
            "as --extender-client-ca-file needs",
            id="authority of the extender alone",
        ),
        pytest.param(
            ["serve", *SAMPLE, "--kubeconfig", "none"], "kubeconfig: none: no such file", id="kubeconfig"
        ),
        pytest.param(["serve", *SAMPLE, "--in-cluster"], "in-cluster: ", id="outside a cluster"),
        pytest.param(
            ["serve", *SAMPLE, "--in-cluster", "--kubeconfig", "x"],
            "together with --in-cluster",
            id="two API servers",
        ),
        pytest.param(
            ["explain", "web", "--server", "unix:none.sock"],
            "unix:none.sock: no mooring server can be reached there",
            id="no server",
        ),
    ],
)
def test_a_rejection(
    argv: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    web(tmp_path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    monkeypatch.chdir(tmp_path)
    result = call(capsys, *argv)
    assert (result.code, result.out) == (1, "")
    said_of_itself = [line for line in result.complaints if " INFO mooring.start: " in line]
    assert [line for line in result.complaints if not line.startswith("mooring: ")] == said_of_itself
    assert said in result.err


def test_all_faults_of_a_configuration_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = {"schedulerName": "a", "plugins": {"score": {"enabled": [{"name": "Nope"}]}}}
    file = write_config(tmp_path / "c.yaml", first, {"schedulerName": "a"}, parallelism="x")
    paths = ("parallelism: ", "profiles[0].plugins.score.enabled[0]: ", "profiles[1].schedulerName: ")
    faults = [rf"mooring: {file}:\d+: {re.escape(path)}" for path in paths]
    for argv in (["config", "check", file], ["schedule", "--config", file, "--manifests", web(tmp_path)]):
        result = call(capsys, *argv)
        assert result.code == 1
        assert all(map(re.match, faults, result.complaints))
        assert len(result.complaints) == len(faults)


def test_all_faults_of_the_manifests_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_manifests(
        tmp_path / "m.yaml",
        node_manifest("n1", allocatable={"cpu": "many"}),
        pod_manifest("web", requests={"cpu": "-1"}),
    )
    result = call(capsys, "schedule", "--manifests", file)
    assert result.code == 1
    assert [f"{file}:" in line for line in result.complaints] == [True, True]


def test_a_name_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (["plugins"], ["schedule", "--manifests", web(tmp_path)]):
        result = call(capsys, *argv, options=[with_plugin("NodeName", NodeName)])
        assert (result.code, result.out) == (1, "")
        assert "a plugin named NodeName already exists" in result.err


def test_a_reader_that_goes_away_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from mooring.cli import main

    class Closed:
        encoding = "utf-8"

        def __init__(self) -> None:
            self.file = (tmp_path / "out").open("w")

        def write(self, text: str) -> int:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")

        def flush(self) -> None:
            """Nothing was kept."""

        def isatty(self) -> bool:
            return False

        def fileno(self) -> int:
            return self.file.fileno()

    closed = Closed()
    monkeypatch.setattr("sys.stdout", closed)
    try:
        assert main(argv=["version"]) == 0
    finally:
        closed.file.close()
