"""Statuses of pods: what can't be written is said, and keeps nothing else from being written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mooring.cluster.state import State
from mooring.framework import Pod
from mooring.framework.errors import UnavailableError
from mooring.scheduler.pod_status import PodStatusWriter
from mooring.testing import make_pod

from .fakes import FakeClock
from .world import FakeCluster


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
