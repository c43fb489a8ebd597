"""The real API server keeps the same contract as the fake of tests/fake_api_server."""

from collections.abc import Iterator

import pytest

from mooring.cluster.api import ApiServer
from tests.fake_api_server.contract import Contract

from .control_plane import ControlPlane

pytestmark = pytest.mark.e2e


class RealCluster:
    """kube-apiserver and etcd under the contract suite."""

    bookmark_seconds = 8
    """The last bookmark comes two seconds before the end of a watch."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self._control_plane = control_plane
        self.api = ApiServer.from_kubeconfig(control_plane.kubeconfig("mooring"))

    def compact(self) -> None:
        self._control_plane.compact()
        self._control_plane.restart_api_server()


class TestRealApiServer(Contract):
    """kube-apiserver keeps the contract."""

    @pytest.fixture
    def cluster(self, control_plane: ControlPlane) -> Iterator[RealCluster]:
        real = RealCluster(control_plane)
        yield real
        real.api.close()
