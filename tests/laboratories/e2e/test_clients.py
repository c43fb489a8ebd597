"""The example clients compose Filter, Score, NormalizeScore and Bind, and get Schedule's answer."""

import fcntl
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

CLIENTS = ROOT / "deploy" / "examples" / "clients"


def run(command: list[str], directory: Path) -> None:
    """Runs one build step of a client as its README says, with this environment's `buf` in the PATH.

    Steps of other processes wait: the clients share their folders.
    """
    path = f"{Path(sys.executable).parent}:{environment()['PATH']}"
    with (CACHE / "clients.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(command, cwd=directory, env={**environment(), "PATH": path}, check=True)


@pytest.fixture(scope="module")
def go_client() -> list[str]:
    """The command that starts the Go client."""
    program = CACHE / "go-client"
    run(["go", "generate", "./..."], CLIENTS / "go")
    run(["go", "build", "-o", str(program), "."], CLIENTS / "go")
    return [str(program)]


@pytest.fixture(scope="module")
def node_client() -> list[str]:
    """The command that starts the Node client."""
    node, npm = shutil.which("node"), shutil.which("npm")
    assert node is not None, "the example client needs Node"
    assert npm is not None, "the example client needs npm"
    run([npm, "install", "--no-package-lock", "--no-audit", "--no-fund"], CLIENTS / "node")
    return [node, str(CLIENTS / "node" / "client.js")]


def test_buf_generate_needs_nothing_but_go_and_node() -> None:
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    run(["buf", "generate"], ROOT)
    made = {file.suffix for file in (ROOT / "build").rglob("*scheduling_service*")}
    shutil.rmtree(ROOT / "build")
    assert made == {".go", ".ts"}


@pytest.fixture
def command(request: pytest.FixtureRequest) -> list[str]:
    """The client that the test's parameter names."""
    started_by: list[str] = request.getfixturevalue(f"{request.param}_client")
    return started_by


@pytest.fixture
def server(control_plane: ControlPlane, tmp_path: Path) -> Iterator[MooringServer]:
    """mooring with its default configuration, four nodes of which one is cordoned, and three pods."""
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


both_clients = pytest.mark.parametrize("command", ["go", "node"], indirect=True)


@both_clients
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


@both_clients
def test_client_agrees_that_no_node_is_feasible(
    control_plane: ControlPlane, server: MooringServer, command: list[str]
) -> None:
    result = ask(command, server.address, "nowhere", control_plane.api.pod("nowhere")["metadata"]["uid"])
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("no node is feasible: 0/4 nodes are available")


@both_clients
def test_client_fails_for_a_pod_that_nobody_knows(server: MooringServer, command: list[str]) -> None:
    result = ask(command, server.address, "unknown", "no-such-uid")
    assert result.returncode == 1
    assert "Schedule:" in result.stderr


@both_clients
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
