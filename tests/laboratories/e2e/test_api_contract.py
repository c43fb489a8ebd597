"""The real API server keeps the same contract as the fake of tests/fake_api_server."""

from collections.abc import Iterator
from typing import Any

import pytest

from mooring.cluster.api import ApiServer
from tests.fake_api_server.contract import Contract
from tests.process import until

from .control_plane import CROWD, ControlPlane

pytestmark = pytest.mark.e2e

_FLOW_CONTROL = "/apis/flowcontrol.apiserver.k8s.io/v1"
_ONE_SEAT = {
    "metadata": {"name": "one-seat"},
    "spec": {
        "type": "Limited",
        "limited": {
            "nominalConcurrencyShares": 0,
            "lendablePercent": 0,
            "borrowingLimitPercent": 0,
            "limitResponse": {"type": "Reject"},
        },
    },
}
_CROWD_FLOW = {
    "metadata": {"name": "crowd"},
    "spec": {
        "priorityLevelConfiguration": {"name": "one-seat"},
        "matchingPrecedence": 2,
        "rules": [
            {
                "subjects": [{"kind": "User", "user": {"name": CROWD}}],
                "resourceRules": [
                    {
                        "verbs": ["*"],
                        "apiGroups": ["*"],
                        "resources": ["*"],
                        "clusterScope": True,
                        "namespaces": ["*"],
                    }
                ],
            }
        ],
    },
}


class RealCluster:
    """kube-apiserver and etcd under the contract suite."""

    bookmark_seconds = 8
    """The last bookmark comes two seconds before the end of a watch."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self._control_plane = control_plane
        self.api = ApiServer.from_kubeconfig(control_plane.kubeconfig("mooring"))

    @property
    def crowded(self) -> ApiServer:
        """A client with one seat: who comes while it is taken is put off."""
        for path, item in (("prioritylevelconfigurations", _ONE_SEAT), ("flowschemas", _CROWD_FLOW)):
            self._control_plane.api.call("POST", f"{_FLOW_CONTROL}/{path}", item)
        flow = f"{_FLOW_CONTROL}/flowschemas/crowd"
        until(lambda: self._control_plane.api.call("GET", flow).get("status"), "the flow to be closed")
        return ApiServer.from_kubeconfig(self._control_plane.kubeconfig(CROWD))

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


def test_further_connections_resume_a_session(control_plane: ControlPlane) -> None:
    """Also after the server has started again and no longer knows the earlier ones."""
    api = ApiServer.from_kubeconfig(control_plane.kubeconfig("mooring"))

    def resumed() -> bool:
        assert api.request("GET", "/version").ok
        connected: Any = api._connection._origin.connect(5.0).socket
        with connected:
            return bool(connected.session_reused)

    assert resumed()
    control_plane.restart_api_server()
    api.close()
    assert resumed()
    api.close()
