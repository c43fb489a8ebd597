"""Bind and Schedule post real Bindings; what they did is read back from the API server."""

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from mooring_client.v1 import scheduling_service_pb2 as scheduling

from . import configurations, objects
from .api import Manifest
from .control_plane import ControlPlane
from .mooring_client import MooringClient
from .processes import MooringServer

pytestmark = pytest.mark.e2e


@pytest.fixture
def client(control_plane: ControlPlane, tmp_path: Path) -> Iterator[MooringClient]:
    """Yield a server that may bind, with two nodes and the pods `first` and `second` pushed."""
    for name in ("n1", "n2"):
        control_plane.api.create(objects.node(name))
    affinity = objects.node_affinity({objects.HOSTNAME: "n2"})
    control_plane.api.create(objects.pod("first"))
    control_plane.api.create(objects.pod("second", affinity=affinity))
    config, kubeconfig = configurations.mooring_node_affinity(), control_plane.kubeconfig("mooring")
    with (
        MooringServer(tmp_path, config, kubeconfig=kubeconfig) as server,
        MooringClient(server.address) as connected,
    ):
        connected.push(control_plane.api)
        yield connected


def rejection(client: MooringClient, pod: Manifest, node: str) -> tuple[grpc.StatusCode, bytes]:
    """Return the code and the encoded details of a Bind that must fail; ErrorInfo's reason is plain text in
    them.
    """
    with pytest.raises(grpc.RpcError) as caught:
        client.bind(pod, node)
    metadata = {item.key: item.value for item in caught.value.trailing_metadata()}
    details = metadata["grpc-status-details-bin"]
    assert isinstance(details, bytes)
    return caught.value.code(), details


def test_bind_posts_a_binding_once(control_plane: ControlPlane, client: MooringClient) -> None:
    pod = control_plane.api.pod("first")
    assert client.bind(pod, "n2") == scheduling.COMMIT_OUTCOME_BOUND
    assert control_plane.api.node_of("first") == "n2"
    assert control_plane.bindings()[-1] == ("mooring", "first")
    posted = len(control_plane.bindings())
    assert client.bind(pod, "n2") == scheduling.COMMIT_OUTCOME_ALREADY_BOUND
    assert len(control_plane.bindings()) == posted


def test_bind_to_another_node_is_rejected(control_plane: ControlPlane, client: MooringClient) -> None:
    pod = control_plane.api.pod("first")
    client.bind(pod, "n2")
    code, details = rejection(client, pod, "n1")
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert b"POD_BOUND_ELSEWHERE" in details
    assert control_plane.api.node_of("first") == "n2"


def test_bind_of_a_recreated_pod_leaves_the_new_one_alone(
    control_plane: ControlPlane, client: MooringClient
) -> None:
    old = control_plane.api.pod("first")
    control_plane.api.call("DELETE", "/api/v1/namespaces/default/pods/first?gracePeriodSeconds=0")
    control_plane.api.create(objects.pod("first"))
    code, details = rejection(client, old, "n1")
    assert code is grpc.StatusCode.ABORTED
    assert b"POD_RECREATED" in details
    assert control_plane.api.node_of("first") is None


def test_schedule_binds_what_it_chose(control_plane: ControlPlane, client: MooringClient) -> None:
    answer = client.schedule(control_plane.api.pod("second"), scheduling.COMMIT_MODE_BIND)
    assert list(answer.outcomes) == [scheduling.COMMIT_OUTCOME_BOUND]
    assert list(answer.nodes.names.names) == ["n2"]
    assert control_plane.api.node_of("second") == "n2"
