"""The harness itself: a real kube-scheduler binds a pod and says why it cannot bind another."""

import pytest

from . import objects
from .control_plane import ControlPlane

pytestmark = pytest.mark.e2e


def test_kube_scheduler_binds_a_pod(control_plane: ControlPlane) -> None:
    control_plane.api.create(objects.node("only"))
    control_plane.api.create(objects.pod("fits"))
    control_plane.api.create(objects.pod("nowhere", nodeSelector={"absent": "label"}))
    with control_plane.scheduler({}):
        assert control_plane.api.wait_bound("fits") == "only"
        control_plane.api.wait_failed_scheduling(
            "nowhere", "node(s) didn't match Pod's node affinity/selector"
        )
    assert control_plane.bindings()[-1] == ("kube-scheduler", "fits")
