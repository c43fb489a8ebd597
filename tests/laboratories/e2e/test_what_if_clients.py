"""The example clients in Go and Node ask what would happen, and get the same answers."""

import subprocess

import pytest

from mooring.testing import make_node, make_pod
from tests.process import environment
from tests.service.backends import listening, world

from .build import CACHE
from .test_clients import CLIENTS, node_client, run

pytestmark = pytest.mark.e2e

ROOM = {"cpu": "4", "memory": "8Gi", "pods": 10}
OWNED = {"ownerReferences": [{"kind": "ReplicaSet", "name": "rs", "uid": "rs", "controller": True}]}
ANSWERS = """\
room for 4 more pods
a stays: no controller would recreate it
b can go
large: 1 nodes leave 0 pods over
"""

__all__ = ["node_client"]


@pytest.fixture(scope="module")
def go_program() -> list[str]:
    """The command that starts the client in Go."""
    program = CACHE / "go-what-if"
    run(["go", "generate", "./..."], CLIENTS / "go")
    run(["go", "build", "-o", str(program), "./whatif"], CLIENTS / "go")
    return [str(program)]


@pytest.fixture(scope="module")
def node_program(node_client: list[str]) -> list[str]:
    """The command that starts the client in Node."""
    return [node_client[0], str(CLIENTS / "node" / "what-if.js")]


@pytest.mark.parametrize("program", ["go_program", "node_program"])
def test_both_say_what_would_happen(program: str, request: pytest.FixtureRequest) -> None:
    command: list[str] = request.getfixturevalue(program)
    nodes = [make_node(name, allocatable=ROOM) for name in "ab"]
    alone = make_pod("alone", node="a", requests={"cpu": "2"}, metadata={"uid": "alone"})
    owned = make_pod("owned", node="b", requests={"cpu": "2"}, metadata={"uid": "owned", **OWNED})
    with world(*nodes, alone, owned) as w, listening(w.backend) as address:
        said = subprocess.run(
            [*command, address, "8"], env=environment(), capture_output=True, text=True, check=False
        )
        assert len(w.state.snapshot.pods) == 2
    assert (said.stderr, said.returncode) == ("", 0)
    assert said.stdout.startswith(ANSWERS)
    assert "\nfits on a after: request\n" in said.stdout
    assert "\nthe group fits on a and b after: request\n" in said.stdout
