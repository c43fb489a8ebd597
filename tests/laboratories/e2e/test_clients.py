"""The example in Go composes Filter, Score, NormalizeScore and Bind, and gets Schedule's answer."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process import environment

from . import objects
from .build import CACHE, ROOT
from .control_plane import ControlPlane
from .lying_server import lying_server
from .mooring_client import MooringClient
from .processes import MooringServer

pytestmark = pytest.mark.e2e

EXAMPLES = ROOT / "clients" / "go" / "examples"


def run(command: list[str], directory: Path) -> None:
    """Run one build step with this environment's `buf` in the PATH."""
    path = f"{Path(sys.executable).parent}:{environment()['PATH']}"
    subprocess.run(command, cwd=directory, env={**environment(), "PATH": path}, check=True)


@pytest.fixture(scope="module")
def command() -> list[str]:
    """Return the command that starts the example."""
    program = CACHE / "composed"
    run(["go", "build", "-o", str(program), "./composed"], EXAMPLES)
    return [str(program)]


def test_buf_generate_needs_nothing_but_go_and_node() -> None:
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    run(["buf", "generate"], ROOT)
    made = {file.suffix for file in (ROOT / "build").rglob("*scheduling_service*")}
    shutil.rmtree(ROOT / "build")
    assert made == {".go", ".ts"}


@pytest.fixture
def server(control_plane: ControlPlane, tmp_path: Path) -> Iterator[MooringServer]:
    """Yield mooring with its default configuration, four nodes, one of them cordoned, and three pods."""
    api = control_plane.api
    for name in ("n1", "n2", "n3"):
        api.create(objects.node(name))
    cordoned = objects.node("n4")
    cordoned["spec"] = {"unschedulable": True}
    api.create(cordoned)
    api.create(objects.pod("spread"))
    api.create(objects.pod("wishing", affinity=objects.node_affinity(preferred={objects.HOSTNAME: "n2"})))
    api.create(objects.pod("nowhere", nodeSelector={"absent": "label"}))
    with (
        MooringServer(tmp_path, kubeconfig=control_plane.kubeconfig("mooring")) as running,
        MooringClient(running.address) as client,
    ):
        client.push(api)
        yield running


def ask(command: list[str], address: str, name: str, uid: str) -> subprocess.CompletedProcess[str]:
    arguments = [*command, address, "default", name, uid]
    return subprocess.run(arguments, env=environment(), capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("pod", "nodes"),
    [
        pytest.param("spread", {"n1", "n2", "n3"}, id="ties"),
        pytest.param("wishing", {"n2"}, id="one best node"),
    ],
)
def test_client_binds_where_schedule_would(
    control_plane: ControlPlane, server: MooringServer, command: list[str], pod: str, nodes: set[str]
) -> None:
    result = ask(command, server.address, pod, control_plane.api.pod(pod)["metadata"]["uid"])
    assert result.returncode == 0, result.stderr
    bound = control_plane.api.node_of(pod)
    assert bound in nodes
    assert f"default/{pod} -> {bound}: COMMIT_OUTCOME_BOUND" in result.stdout
    assert result.stdout.startswith("NODE")
    assert "n4" not in result.stdout


def test_client_agrees_that_no_node_is_feasible(
    control_plane: ControlPlane, server: MooringServer, command: list[str]
) -> None:
    result = ask(command, server.address, "nowhere", control_plane.api.pod("nowhere")["metadata"]["uid"])
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("no node is feasible: 0/4 nodes are available")


def test_client_fails_for_a_pod_that_nobody_knows(server: MooringServer, command: list[str]) -> None:
    result = ask(command, server.address, "unknown", "no-such-uid")
    assert result.returncode == 1
    assert "Schedule:" in result.stderr


@pytest.mark.parametrize(
    ("node", "total", "ties", "code"),
    [
        pytest.param("n2", 20, ["n2"], 0, id="same"),
        pytest.param("n1", 20, ["n1"], 1, id="another best node"),
        pytest.param("n2", 20, ["n1", "n2"], 1, id="more ties"),
        pytest.param("n2", 21, ["n2"], 1, id="another total"),
        pytest.param("n1", 20, ["n2"], 1, id="selected node is not a tie"),
    ],
)
def test_client_notices_a_difference(
    command: list[str], node: str, total: int, ties: list[str], code: int
) -> None:
    with lying_server(node, total, ties) as address:
        result = ask(command, address, "any", "any")
    assert result.returncode == code, result.stderr
    assert ("Schedule" in result.stderr) == (code == 1)
