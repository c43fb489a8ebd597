"""A client in Go, with objects that Kubernetes' own code encodes, asks the adapters that serve gRPC."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.estimator import asking as estimating
from tests.estimator.test_estimator import PENDING, ROOM
from tests.expander import asking as expanding
from tests.expander.test_expander import FULL
from tests.process import environment

from .build import CACHE, HERE, ROOT

pytestmark = pytest.mark.e2e

SOURCE = HERE / "tools" / "adapter_client"


def run(*command: str, directory: Path = ROOT) -> str:
    """Return the output of a command, with this environment's `buf` in the PATH."""
    path = f"{Path(sys.executable).parent}:{environment()['PATH']}"
    done = subprocess.run(
        command,
        cwd=directory,
        env={**environment(), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def client() -> str:
    """Return the client, built with stubs that are generated from the adapters' contracts."""
    program = CACHE / "adapter-client"
    run("buf", "generate", "--template", str(SOURCE / "buf.gen.yaml"))
    run("go", "build", "-o", str(program), ".", directory=SOURCE)
    return str(program)


def test_karmadas_questions_are_answered(client: str) -> None:
    with estimating.listener(*ROOM, *PENDING, cluster="member") as address:
        answers = run(client, "estimator", address).splitlines()
    assert answers == ["replicas as messages 8", "replicas as bytes 8", "sets 2", "unschedulable 1"]


def test_cluster_autoscalers_question_is_answered(client: str) -> None:
    with expanding.listener(FULL) as address:
        answers = run(client, "expander", address).splitlines()
    assert answers == ["best as messages large", "best as bytes large"]
