"""mooring follows one release and the API server is of another: what one of them lacks is a warning."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process import wait_until

from . import objects
from .build import RELEASE, SKEWED_RELEASE
from .control_plane import GROUP_GATES, ControlPlane, ControlPlaneWithGroups, OlderControlPlane
from .processes import MooringScheduler, MooringServer
from .test_claims import CLAIMS, CLASSES, DRIVER, SLICES

pytestmark = pytest.mark.e2e

CONFIG = {"profiles": [{"schedulerName": "mooring"}], "leaderElection": {"leaderElect": False}}
NO_RULES = "the API server has no devicetaintrules in resource.k8s.io/v1 or resource.k8s.io/v1beta2"
NO_GROUPS = "the API server has no podgroups in scheduling.k8s.io/v1beta1 or scheduling.k8s.io/v1alpha2"
DEVICE_CLASS = {"metadata": {"name": "gpu"}, "spec": {"selectors": []}}
SLICE = {
    "metadata": {"name": "on-n1"},
    "spec": {
        "driver": DRIVER,
        "nodeName": "n1",
        "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "gpu-0"}],
    },
}
CLAIM = {
    "metadata": {"name": "gpu"},
    "spec": {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "gpu"}}]}},
}


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with OlderControlPlane(tmp_path_factory.mktemp("older")) as running:
        yield running


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlaneWithGroups(tmp_path_factory.mktemp("newer")) as running:
        yield running


def unexpected(log: str, *known: str) -> list[str]:
    """Return the lines about an error, or about something unknown in the cluster."""
    told = [line for line in log.splitlines() if re.match(r"\S+ (ERROR |WARNING mooring\.cluster)", line)]
    return [line for line in told if not any(text in line for text in known)]


def bind_one_of_each(plane: ControlPlane, follows: str, directory: Path, *flags: str) -> str:
    """Have `mooring scheduler` of a release bind a pod, one with a claim and one by preemption; return its
    log.
    """
    api = plane.api
    api.create(objects.node("n1"))
    for path, item in ((CLASSES, DEVICE_CLASS), (SLICES, SLICE), (CLAIMS, CLAIM)):
        api.call("POST", path, item)
    claim = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}
    most = {"schedulerName": "mooring", "containers": [objects.container(cpu="3")]}
    command = (f"--kube-version={follows}", *flags)
    with MooringScheduler(directory, plane.kubeconfig("mooring"), CONFIG, *command) as running:
        api.create(objects.pod("claims", schedulerName="mooring", **claim))
        api.create(objects.pod("large", **most))
        assert api.wait_bound("claims") == api.wait_bound("large") == "n1"
        assert api.call("GET", f"{CLAIMS}/gpu")["status"]["allocation"]
        api.create(objects.pod("too-large", **most))
        api.wait_failed_scheduling("too-large", "0/1 nodes are available: 1 Insufficient cpu.")
        api.call("DELETE", "/api/v1/namespaces/default/pods/large?gracePeriodSeconds=0")
        assert api.wait_bound("too-large") == "n1"
        return running.output()


def test_an_older_api_server(older: ControlPlane, tmp_path: Path) -> None:
    log = bind_one_of_each(older, RELEASE, tmp_path)
    assert NO_RULES in log
    assert unexpected(log, NO_RULES) == []


def test_a_newer_api_server(newer: ControlPlane, tmp_path: Path) -> None:
    log = bind_one_of_each(newer, SKEWED_RELEASE, tmp_path)
    assert unexpected(log) == []


def test_groups_that_the_api_server_does_not_have(older: ControlPlane, tmp_path: Path) -> None:
    source = f"kubernetes:{older.kubeconfig('mooring')}"
    with MooringServer(tmp_path, None, GROUP_GATES, source=source) as server:
        wait_until(lambda: NO_GROUPS in server.output(), "the warning of pod groups")
        assert unexpected(server.output(), NO_RULES, NO_GROUPS, "no workloads") == []
