"""Row G8: a former version next to this one, as in an upgrade and a rollback.

The former one is the latest tag, or without tags the last commit with another revision of the contract. Its
tree runs with the packages that are installed here.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from mooring.testing.builders import node_manifest
from tests.cli.commands import ANY_PORT, ROOT, Started, fetch, program
from tests.cli.schedulers import node_of, pending, scheduler_command
from tests.fake_api_server import FakeApiServer
from tests.laboratories import long_runs
from tests.laboratories.soak.rounds import Round, Row
from tests.process import until

TREES = long_runs.LEDGERS / "skew"
REVISION = "server/mooring/service/plugins.py"
LONGEST = 120.0
ROOM = 10_000
LISTENERS = (f"--{name}listen={ANY_PORT}" for name in ("", "health-", "metrics-", "extender-"))
SERVE = ("serve", "--source", "sample", "--drain-delay", "0", *LISTENERS)


def git(*arguments: str) -> bytes:
    """Return the output of git in this repository."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout


def has_history() -> bool:
    """Return whether there is a former version here: a shallow clone or a source distribution has none."""
    try:
        return bool(_former())
    except (OSError, subprocess.CalledProcessError):
        return False


def _former() -> str:
    tag = git("tag", "--list", "v*", "--sort=-v:refname").split()
    if tag:
        return tag[0].decode()
    changed = git("log", "-1", "--format=%H", "-G^CONTRACT_REVISION", "--", REVISION).decode().strip()
    return git("rev-parse", f"{changed}^").decode().strip() if changed else ""


@cache
def former() -> Mapping[str, str]:
    """Return the environment in which ``python -m mooring`` is the former version."""
    tree = TREES / _former()
    if not tree.exists():
        tree.parent.mkdir(parents=True, exist_ok=True)
        archive = git("archive", _former(), "server", "adapters", "clients/python")
        with tempfile.TemporaryDirectory(dir=tree.parent) as folder:
            with tarfile.open(fileobj=io.BytesIO(archive)) as files:
                files.extractall(folder, filter="data")
            Path(folder).rename(tree)
            Path(folder).mkdir()
    parts = (tree / part for part in ("server", "adapters", "clients/python"))
    return {"PYTHONPATH": os.pathsep.join(map(str, parts))}


@contextmanager
def running(version: str, folder: Path, module: str, *arguments: str) -> Iterator[Started]:
    """Run ``python -m MODULE`` of a version."""
    own = folder / f"{module}-{version}-{next(_NUMBERS)}"
    own.mkdir()
    twins = former() if version == "former" else {}
    with program(own, sys.executable, "-m", module, *arguments, twins=twins) as started:
        assert started.ready, f"{version}: {started.log.read_text()}"
        yield started


_NUMBERS = itertools.count()


def replicas(round_: Round, folder: Path) -> None:
    """The leader changes its version, and back: each pod is bound once."""
    order = round_.dice.choice((("former", "now", "former"), ("now", "former", "now")))
    with FakeApiServer() as fake:
        fake.add(*(node_manifest(f"n{at}", allocatable={"pods": ROOM}) for at in range(3)))
        command = scheduler_command(fake, folder)
        names: list[str] = []

        def bound(count: int) -> None:
            new = [f"p{len(names) + at}" for at in range(count)]
            fake.add(*map(pending, new))
            names.extend(new)
            until(lambda: all(node_of(fake, name) for name in new), "bindings", LONGEST)

        with ExitStack() as stack:
            leading = stack.enter_context(running(order[0], folder, "mooring", *command))
            bound(round_.some(5, 20))
            for version in order[1:]:
                following = stack.enter_context(running(version, folder, "mooring", *command))
                leading.process.send_signal(signal.SIGTERM)
                assert leading.process.wait(LONGEST) == 0
                bound(round_.some(5, 20))
                round_.faults += 1
                leading = following
        uids = [uid for uid, _, _ in fake.history.accepted_bindings()]
        assert len(uids) == len(set(uids)) == len(names), "I1"
        round_.count(fake)


def question(name: str) -> bytes:
    """Return the body of a filter call about a pod."""
    metadata = {"name": name, "namespace": "default", "uid": name}
    pod = {"metadata": metadata, "spec": {"containers": []}}
    return json.dumps({"Pod": pod, "Nodes": None, "NodeNames": ["worker-a1"]}).encode()


def adapter(folder: Path, server: str, of_adapter: str) -> None:
    """An extender of one version asks a server of the other one."""
    with running(server, folder, "mooring", *SERVE) as served:
        flags = ("--listen", ANY_PORT, "--server", served.address("grpc"))
        with running(of_adapter, folder, "mooring_extender", *flags) as extender:
            for verb in ("filter", "prioritize"):
                status, said = fetch(f"{extender.ready.split()[-1]}/{verb}", question("p"))
                assert status == 200, said
                answer = json.loads(said)
                assert not (isinstance(answer, dict) and answer.get("Error")), said


def recording(folder: Path, writer: str, reader: str) -> None:
    """A recording of one version is replayed by the other one; an older one may reject the format."""
    files = folder / f"recording-of-{writer}"
    with running(writer, folder, "mooring", *SERVE, f"--record-to={files}") as served:
        for at in range(20):
            assert fetch(f"{served.address('extender')}/filter", question(f"p{at}"))[0] == 200
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(LONGEST) == 0
    twins = former() if reader == "former" else {}
    done = subprocess.run(
        [sys.executable, "-m", "mooring", "replay", str(files)],
        env={**os.environ, **twins},
        capture_output=True,
        text=True,
        check=False,
    )
    rejected = reader == "former" and "format" in done.stderr and "Traceback" not in done.stderr
    assert done.returncode == 0 or rejected, f"{done.returncode}: {done.stdout[-500:]}{done.stderr}"


def old_and_new(round_: Round) -> None:
    """Replicas, adapters and recordings of two versions."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        replicas(round_, folder)
        for one, other in (("now", "former"), ("former", "now")):
            adapter(folder, one, other)
            recording(folder, one, other)
            round_.inputs += 2


ROWS = (Row("G8", "old_and_new", old_and_new),) if has_history() else ()
