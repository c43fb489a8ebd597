"""The default feature gates of a release are those that its kube-scheduler reports."""

import re
from pathlib import Path

import pytest

from mooring.framework.releases import FEATURE_GATES, Gates, KubeVersion
from tests.process import free_port

from .control_plane import ControlPlane, OlderControlPlane
from .telemetry import fetch

pytestmark = pytest.mark.e2e

_ENABLED = re.compile(r'^kubernetes_feature_enabled\{name="(\w+)",stage="\w*"\} ([01])$', re.MULTILINE)


@pytest.mark.parametrize("kind", [ControlPlane, OlderControlPlane], ids=lambda kind: kind.release)
def test_defaults_are_those_of_kube_scheduler(kind: type[ControlPlane], tmp_path: Path) -> None:
    port = free_port()
    with kind(tmp_path) as plane, plane.scheduler({}, port=port):
        metrics = fetch(f"https://127.0.0.1:{port}/metrics")
    theirs = {name: value == "1" for name, value in _ENABLED.findall(metrics)}
    version = KubeVersion.parse(kind.release)
    gates = Gates(version)
    ours = {
        name: gates.enabled(name)
        for name, gate in FEATURE_GATES.items()
        if gate.known_since <= version and (gate.removed_since is None or version < gate.removed_since)
    }
    assert ours.items() <= theirs.items(), ours.items() - theirs.items()
