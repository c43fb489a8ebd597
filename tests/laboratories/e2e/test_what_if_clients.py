"""The example in Go asks what would happen."""

import subprocess

import pytest

from mooring.testing import make_node, make_pod
from tests.process import environment
from tests.service.backends import listening, world

from .build import CACHE
from .test_clients import EXAMPLES, run

pytestmark = pytest.mark.e2e

ROOM = {"cpu": "4", "memory": "8Gi", "pods": 10}
OWNED = {"ownerReferences": [{"kind": "ReplicaSet", "name": "rs", "uid": "rs", "controller": True}]}
ANSWERS = """\
room for 4 more pods
a stays: no controller would recreate it
b can go
large: 1 nodes leave 0 pods over
"""


def test_it_tells_what_would_happen() -> None:
    program = CACHE / "what-if"
    run(["go", "build", "-o", str(program), "./whatif"], EXAMPLES)
    nodes = [make_node(name, allocatable=ROOM) for name in "ab"]
    alone = make_pod("alone", node="a", requests={"cpu": "2"}, metadata={"uid": "alone"})
    owned = make_pod("owned", node="b", requests={"cpu": "2"}, metadata={"uid": "owned", **OWNED})
    with world(*nodes, alone, owned) as w, listening(w.backend) as address:
        said = subprocess.run(
            [str(program), address, "8"], env=environment(), capture_output=True, text=True, check=False
        )
        assert len(w.state.snapshot.pods) == 2
    assert (said.stderr, said.returncode) == ("", 0)
    assert said.stdout.startswith(ANSWERS)
    assert "\nfits on a after: request\n" in said.stdout
    assert "\nthe group fits on a and b after: request\n" in said.stdout
