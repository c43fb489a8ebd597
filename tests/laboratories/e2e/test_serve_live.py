"""`mooring serve --source kubernetes` with the real API server: what it commits is what the cluster has."""

from pathlib import Path

import grpc
import pytest

from mooring_client.v1 import scheduling_service_pb2 as scheduling
from tests.process import until

from . import objects
from .control_plane import ControlPlane
from .mooring_client import MooringClient
from .processes import MooringServer

pytestmark = pytest.mark.e2e


def test_a_batch_is_bound_as_the_followed_cluster_has_room(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    api = control_plane.api
    source = f"kubernetes:{control_plane.kubeconfig('mooring')}"
    with (
        MooringServer(tmp_path, source=source) as server,
        MooringClient(server.address) as client,
    ):
        for name in ("n1", "n2"):
            api.create(objects.node(name))
        for i in range(4):
            api.create(objects.pod(f"p{i}"))
        until(lambda: "mooring_source_synced" in server.metrics(), "the source's metrics")
        until(lambda: known(client, control_plane, "p3"), "the last pod to be known")
        for i in range(4):
            answer = client.schedule(api.pod(f"p{i}"), scheduling.COMMIT_MODE_BIND)
            assert list(answer.outcomes) == [scheduling.COMMIT_OUTCOME_BOUND]
            assert api.node_of(f"p{i}") == answer.nodes.names.names[0]
        assert {api.node_of(f"p{i}") for i in range(4)} == {"n1", "n2"}


def known(client: MooringClient, control_plane: ControlPlane, name: str) -> bool:
    """Return whether the server finds a node for the pod in a dry run."""
    try:
        answer = client.schedule(control_plane.api.pod(name), scheduling.COMMIT_MODE_DRY_RUN)
    except grpc.RpcError:
        return False
    return bool(answer.nodes.names.names and answer.nodes.names.names[0])
