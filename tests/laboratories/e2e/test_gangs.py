"""Gangs in a real control plane of 1.36, whose pods wait one by one and are tried together."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process import wait_until

from . import objects
from .api import Api
from .build import SKEWED_RELEASE
from .control_plane import ControlPlane, OlderControlPlane
from .processes import MooringScheduler

pytestmark = pytest.mark.e2e

GATES = "--feature-gates=GenericWorkload=true,GangScheduling=true"
CONFIG = {"profiles": [{"schedulerName": "mooring"}], "leaderElection": {"leaderElect": False}}
GROUP = {
    "apiVersion": "scheduling.k8s.io/v1alpha2",
    "kind": "PodGroup",
    "metadata": {"name": "gang"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}},
}
GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"
LARGE = [{"name": "main", "image": "registry.example/app:1", "resources": {"requests": {"cpu": "3"}}}]


class OlderWithGroups(OlderControlPlane):
    """Alpha in Kubernetes 1.36: the API server has to be asked for it."""

    apiserver_flags = ("--runtime-config=scheduling.k8s.io/v1alpha2=true", GATES)


@pytest.fixture(scope="module")
def with_groups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with OlderWithGroups(tmp_path_factory.mktemp("groups")) as control_plane:
        yield control_plane


def reasons(api: Api) -> set[str]:
    return {event["reason"] for event in api.items("/api/v1/namespaces/default/events")}


def condition(api: Api) -> tuple[str, str, str]:
    """What the group's status says: type, status and reason."""
    status = api.call("GET", GROUPS + "/gang").get("status", {})
    (found,) = status.get("conditions") or [{"type": "", "status": "", "reason": ""}]
    return found["type"], found["status"], found["reason"]


def test_a_gang_is_bound_when_all_are_there_and_all_have_room(
    with_groups: ControlPlane, tmp_path: Path
) -> None:
    api = with_groups.api
    for name in ("a", "b"):
        api.create(objects.node(name))
    api.call("POST", GROUPS, GROUP)
    member = {"schedulerName": "mooring", "schedulingGroup": {"podGroupName": "gang"}, "containers": LARGE}
    flags = (GATES, f"--kube-version={SKEWED_RELEASE}")
    with MooringScheduler(tmp_path, with_groups.kubeconfig("mooring"), CONFIG, *flags) as running:
        for name in ("one", "two"):
            api.create(objects.pod(name, **member))
        api.create(objects.pod("alone", schedulerName="mooring"))
        api.wait_bound("alone")
        assert "pod default/two is gated by GangScheduling" in running.output()
        api.create(objects.pod("three", **member))
        wait_until(lambda: "FailedScheduling" in reasons(api), "one of them to find no room")
        assert [name for _, name in with_groups.bindings()] == ["alone"], "two of three have room"
        rejected = ("PodGroupScheduled", "False", "Unschedulable")
        wait_until(lambda: condition(api) == rejected, "the group's condition")
        api.create(objects.node("c"))
        for name in ("one", "two", "three"):
            api.wait_bound(name)
        wait_until(lambda: condition(api)[1] == "True", "the group's condition")
    assert sorted(name for _, name in with_groups.bindings()) == ["alone", "one", "three", "two"]
