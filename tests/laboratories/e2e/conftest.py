"""Processes that the end-to-end tests share: one control plane for all, emptied before each test."""

import os
from collections.abc import Iterator

import pytest

from .applying import written
from .build import PROGRAMS, RELEASE
from .control_plane import ControlPlane
from .guarded import GuardedControlPlane


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker of these tests known, and have mooring follow the release of those programs."""
    config.addinivalue_line("markers", "e2e: needs the real programs that laboratories/e2e/build.py builds")
    os.environ["MOORING_KUBE_VERSION"] = RELEASE


@pytest.fixture(scope="session", autouse=True)
def binaries() -> None:
    """The programs must have been built: a missing one fails the run rather than skipping it."""
    missing = [program.label for program in PROGRAMS if not program.path.exists()]
    if missing:
        pytest.fail(f"{', '.join(missing)} not built: run `make e2e` first", pytrace=False)


@pytest.fixture(scope="session")
def shared_control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """etcd and kube-apiserver, running; use `control_plane` in tests."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as running:
        yield running


@pytest.fixture
def control_plane(shared_control_plane: ControlPlane) -> ControlPlane:
    """Return the shared control plane without any node, pod or event, and without a scheduler."""
    shared_control_plane.api.clear()
    return shared_control_plane


@pytest.fixture(scope="module")
def shared_guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedControlPlane]:
    """Yield one for each module, since what is applied stays; use `guarded` in tests."""
    with GuardedControlPlane(tmp_path_factory.mktemp("guarded")) as running:
        yield running


@pytest.fixture
def guarded(shared_guarded: GuardedControlPlane) -> GuardedControlPlane:
    """Without any node, pod or event."""
    shared_guarded.clear()
    return shared_guarded


@pytest.fixture
def four_nodes(guarded: GuardedControlPlane) -> None:
    """S5's cluster: one of the nodes is tainted."""
    for node in written("examples/systems/s5-framework/cluster.yaml"):
        node["status"]["conditions"] = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
        guarded.api.create(node)
