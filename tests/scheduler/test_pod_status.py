"""Statuses of pods: a failed write is logged, and keeps nothing else from being written."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest

from mooring.cluster.state import State
from mooring.framework import Pod
from mooring.framework.errors import UnavailableError
from mooring.scheduler.messages import CONDITION_LIMIT
from mooring.scheduler.pod_status import UNSCHEDULABLE, PodStatusWriter
from mooring.testing import make_node, make_pod

from .fakes import FakeClock
from .world import FakeCluster, World


@pytest.mark.parametrize(
    "failure",
    [UnavailableError("no answer", reason="API_SERVER_UNAVAILABLE"), ValueError("nonsense")],
    ids=["no answer", "a defect"],
)
def test_a_failure_is_told(failure: Exception, caplog: pytest.LogCaptureFixture) -> None:
    written: list[str] = []

    class Rejecting(FakeCluster):
        def patch_pod_status(self, pod: Pod, patch: Mapping[str, Any]) -> None:
            if pod.metadata.name == "first":
                raise failure
            written.append(pod.metadata.name)

    writer = PodStatusWriter(Rejecting(State()), FakeClock())
    for name in ("first", "second"):
        writer.expect_binding(make_pod(name), "n")
    writer.stop()
    assert "the status of pod default/first was not written" in caplog.text
    assert written == ["second"]


def test_a_very_long_message_is_cut_and_written_once() -> None:
    written: list[Any] = []

    class Keeping(FakeCluster):
        def patch_pod_status(self, pod: Pod, patch: Mapping[str, Any]) -> None:
            written.extend(patch["conditions"])

    writer = PodStatusWriter(Keeping(State()), FakeClock())
    message = "Insufficient example.com/device, " * 10_000
    writer.not_scheduled(make_pod("p"), UNSCHEDULABLE, message, None)
    writer.wait_until_written(make_pod("p"))
    writer.not_scheduled(make_pod("p", status={"conditions": list(written)}), UNSCHEDULABLE, message, None)
    writer.stop()
    (condition,) = written
    assert len(condition["message"]) == CONDITION_LIMIT
    assert condition["message"].startswith("Insufficient example.com/device, Insufficient")


def test_a_binding_comes_after_what_was_to_be_said_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The API server sets PodScheduled when it binds a pod; no earlier failure may be written over it."""
    world = World()
    written, write = threading.Event(), world.cluster.patch_pod_status
    found: list[bool] = []

    def write_late(pod: Pod, patch: Mapping[str, Any]) -> None:
        time.sleep(0.2)
        write(pod, patch)
        written.set()

    monkeypatch.setattr(world.cluster, "patch_pod_status", write_late)
    monkeypatch.setattr(world.cluster, "before_bind", lambda _: found.append(written.is_set()))
    world.cluster.put(make_pod("p"))
    world.scheduler.try_next()
    world.cluster.put(make_node("a"))
    world.clock.advance(10)
    world.settle()
    assert (world.cluster.node_of("p"), found) == ("a", [True])
