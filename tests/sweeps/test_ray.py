"""A sweep on a Ray cluster of two workers, one of which dies."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.commands import BIN, write_manifests
from tests.process import environment, free_port, until, wait_until
from tests.sweeps.test_sweep import node, pod

pytestmark = pytest.mark.packaging

QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DISABLE_IMPORT_WARNING": "1"}


@contextmanager
def ray_node(folder: Path, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a node of a Ray cluster with one processor; it has ended, with all that it started, after the
    block.
    """
    command = [
        str(BIN / "ray"),
        "start",
        "--block",
        "--num-cpus=1",
        "--disable-usage-stats",
        "--node-ip-address=127.0.0.1",
        *flags,
    ]
    with (folder / "ray.log").open("ab") as log:
        started = subprocess.Popen(
            command, stdout=log, stderr=log, env=environment(QUIET), start_new_session=True
        )
    try:
        yield started
    finally:
        started.terminate()
        started.wait(60)


def sweep(cluster: Path, to: Path, *flags: str) -> subprocess.Popen[str]:
    command = [
        BIN / "mooring",
        "sweep",
        "--workload",
        cluster,
        "--seeds",
        "0-39",
        "--shuffle",
        "--to",
        to,
        *flags,
    ]
    return subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(QUIET),
    )


@pytest.fixture
def short() -> Iterator[str]:
    """Yield a folder whose name leaves room for those of Ray's sockets."""
    with tempfile.TemporaryDirectory(prefix="ray") as folder:
        yield folder


def test_the_same_file_though_a_worker_dies(tmp_path: Path, short: str) -> None:
    items = [*(node(f"n{at}") for at in range(200)), *(pod(f"p{at}") for at in range(500))]
    cluster = write_manifests(tmp_path / "cluster.yaml", *items)
    here = sweep(cluster, tmp_path / "here.csv", "--workers", "2")
    shown, _ = here.communicate(timeout=300)
    assert here.returncode == 0, shown
    address = f"127.0.0.1:{free_port()}"
    port = address.rpartition(":")[2]
    head = ("--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={short}")
    with ray_node(tmp_path, *head), ray_node(tmp_path, f"--address={address}") as second:
        wait_until(lambda: "Ray runtime started" in (tmp_path / "ray.log").read_text(), "Ray to start")
        there = sweep(cluster, tmp_path / "there.csv", "--on", address)
        until(lambda: len(busy()) == 2, "both workers to be at a run")
        os.killpg(second.pid, signal.SIGKILL)
        shown, _ = there.communicate(timeout=300)
    assert there.returncode == 0, shown
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()


def busy() -> list[str]:
    """Return the processes that are at a run: Ray calls a worker like what it works on."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            title = (process / "cmdline").read_bytes()
            if b"ray::placed_or_why" in title:
                found.append(process.name)
    return found
