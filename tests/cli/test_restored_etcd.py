"""A scheduler whose cluster goes back to a backup binds what waits again, and says so where people look."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import program, write_config
from tests.cli.schedulers import MINE, node_of, pending, probe
from tests.cluster.following import node, pod
from tests.fake_api_server import FakeApiServer
from tests.process import free_port, until

IN_A_POD = """
import sys
from mooring.app import scheduler
from mooring.cli import main

scheduler.own_pod = lambda state: state.find_pod("default", "myself")
sys.exit(main())
"""


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as running:
        running.add(node("n"), pod("myself", node="n"), pending("kept"))
        yield running


@pytest.mark.slow
def test_what_was_bound_since_the_backup_is_bound_again_and_an_event_says_why(
    fake: FakeApiServer, tmp_path: Path
) -> None:
    saved, script, port = fake.store.copy(), tmp_path / "in_a_pod.py", free_port()
    script.write_text(IN_A_POD)
    config = write_config(tmp_path / "config.yaml", MINE)
    source = f"kubernetes:{fake.kubeconfig(tmp_path / 'kubeconfig')}"
    command = [sys.executable, script, "scheduler", "--config", config, "--source", source]
    command += ["--bind-address=127.0.0.1", f"--secure-port={port}", "--leader-elect=false"]
    with program(tmp_path, *command, "--authorization-always-allow-paths=/*") as started:
        assert started.ready, started.log.read_text()
        fake.add(pending("lost"))
        until(lambda: node_of(fake, "kept") and node_of(fake, "lost"), "both pods to be bound")
        fake.stop()
        fake.store.restore(saved)
        fake.start()
        assert node_of(fake, "kept") == ""
        until(lambda: node_of(fake, "kept"), "the pod to be bound again")
        fake.add(pending("new"))
        until(lambda: node_of(fake, "new"), "the new pod to be bound")
        until(lambda: "ClusterWentBack" in {event["reason"] for event in fake.all("Event")}, "the Event")
        until(lambda: probe(port, "readyz")[0] == 200, "readiness")
        (line,) = (line for line in probe(port, "metrics")[1].splitlines() if "rollbacks_total{" in line)
        assert line.endswith(" 1.0")
    assert started.log.read_text().count("etcd went back") == 1
