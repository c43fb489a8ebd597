"""Pod groups in a real control plane: whole gangs are bound, or none of their pods, whatever happens.

`MOORING_E2E_GANGS` says how many gangs there are, on four times as many nodes; 36 and more have 4 to 40 pods.
`MOORING_E2E_SEED` makes other sizes.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest

from mooring_client.v1 import decision_service_pb2 as pb
from mooring_client.v1.decision_service_pb2_grpc import DecisionServiceStub
from tests.process import free_port, wait_until

from . import objects
from .api import Api
from .control_plane import GROUP_GATES, ControlPlaneWithGroups
from .processes import MooringScheduler
from .test_claims import CLAIMS, CLASSES, SLICES, release

pytestmark = pytest.mark.e2e

GANGS = int(os.environ.get("MOORING_E2E_GANGS", "8"))
SEED = int(os.environ.get("MOORING_E2E_SEED", "7"))
LARGEST = min(40, GANGS + 4)
GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
CPUS = 4
"""CPUs of a node."""

QPS = 60
"""Requests of a scheduler in a second: bindings take long enough that it can be ended among those of one
gang.
"""

CONFIG = {
    "profiles": [{"schedulerName": "mooring"}],
    "clientConnection": {"qps": QPS, "burst": 10},
    "leaderElection": {
        "leaderElect": True,
        "leaseDuration": "3s",
        "renewDeadline": "2s",
        "retryPeriod": "500ms",
    },
}
ALONE = {**CONFIG, "leaderElection": {"leaderElect": False}, "clientConnection": {"qps": 5000, "burst": 5000}}


@dataclass(frozen=True)
class Gang:
    """A gang of pods that all have to have a node.

    One that doesn't fit lacks a pod, or has one that no node takes.
    """

    name: str
    size: int
    fits: bool
    lacks_pod: bool = False

    def group(self) -> dict[str, Any]:
        return group(self.name, self.size)

    def pods(self) -> list[dict[str, Any]]:
        count = self.size - 1 if self.lacks_pod else self.size
        too_large = -1 if self.fits or self.lacks_pod else self.size // 2
        return [member(self.name, number, "5" if number == too_large else "1") for number in range(count)]


def group(name: str, min_count: int, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": min_count}}, **spec},
    }


def member(name: str, number: int, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    containers = [objects.container(cpu=cpu)]
    joined = {"schedulingGroup": {"podGroupName": name}, **spec}
    made = objects.pod(f"{name}-{number}", schedulerName="mooring", containers=containers, **joined)
    made["metadata"]["labels"] = {"app": name}
    return made


def single(number: int) -> dict[str, Any]:
    return objects.pod(f"single-{number}", schedulerName="mooring", containers=[objects.container(cpu="1")])


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlaneWithGroups]:
    with ControlPlaneWithGroups(tmp_path_factory.mktemp("groups")) as plane:
        for name, value in (("low", 1), ("high", 1000)):
            meta = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
            plane.api.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {**meta, "value": value})
        yield plane


@pytest.fixture
def api(control_plane: ControlPlaneWithGroups) -> Iterator[Api]:
    yield control_plane.api
    clear(control_plane.api)


def condition(api: Api, name: str) -> tuple[str, str, str]:
    """Return status, reason and message of the group's condition; empty before there is one."""
    status = api.call("GET", f"{GROUPS}/{name}").get("status", {})
    found = [each for each in status.get("conditions", ()) if each["type"] == "PodGroupInitiallyScheduled"]
    return (found[0]["status"], found[0]["reason"], found[0]["message"]) if found else ("", "", "")


def bound_by_gang(control_plane: ControlPlaneWithGroups) -> Counter[str]:
    """Return how many pods of each gang, and of the single ones, were bound, by the API server's
    own audit.
    """
    bindings = [name for _, name in control_plane.bindings()]
    assert len(bindings) == len(set(bindings)), "no pod is bound twice"
    return Counter(name.rpartition("-")[0] for name in bindings)


def wait_half_bound(control_plane: ControlPlaneWithGroups, gangs: list[Gang]) -> str:
    """Wait until a gang is bound in part; return its name."""

    def probe() -> str | None:
        bound = bound_by_gang(control_plane)
        return next((each.name for each in gangs if 0 < bound[each.name] < each.size - 1), None)

    return wait_until(probe, "a gang to be bound in part", seconds=120, pause=0.002)


def clear(api: Api) -> None:
    for item in api.items(GROUPS):
        delete_group(api, item["metadata"]["name"])
    api.clear()


def delete_group(api: Api, name: str) -> None:
    """Delete the group though it has pods: no controller runs that takes off the finalizer that keeps it."""
    path = f"{GROUPS}/{name}"
    api.call("DELETE", path)
    body = api.call("GET", path)
    del body["metadata"]["finalizers"]
    api.call("PUT", path, body)


class Replicas:
    """Schedulers that take over from each other."""

    def __init__(self, control_plane: ControlPlaneWithGroups, folder: Path, stack: ExitStack) -> None:
        self._plane = control_plane
        self._folder = folder
        self._stack = stack
        self._started = 0
        self.running: list[MooringScheduler] = []

    def start(self) -> None:
        """One more, which leads if none else does."""
        folder = self._folder / str(self._started)
        folder.mkdir()
        self._started += 1
        kubeconfig = self._plane.kubeconfig("mooring")
        made = self._stack.enter_context(MooringScheduler(folder, kubeconfig, CONFIG, GROUP_GATES))
        self.running.append(made)


def test_never_a_gang_in_part(control_plane: ControlPlaneWithGroups, api: Api, tmp_path: Path) -> None:
    """Gangs among single pods; half of the gangs fit: through the death of one leader and the end of another.

    There is room for whom it has to be there and for nobody else: a gang that kept places it can't use, or
    lost one to another while its leader changed, would show.
    """
    draw = random.Random(SEED)
    sizes = [draw.randrange(4, LARGEST + 1) for _ in range(GANGS)]
    gangs = [Gang(f"g{at}", size, at % 2 == 0, at % 4 == 3) for at, size in enumerate(sizes)]
    fitting = [gang for gang in gangs if gang.fits]
    nodes = 4 * GANGS
    total = nodes * CPUS
    singles = total - sum(gang.size for gang in fitting)
    api.create_all(objects.node(f"n{number}") for number in range(nodes))
    pods = [pod for gang in gangs for pod in gang.pods()] + [single(number) for number in range(singles)]
    draw.shuffle(pods)
    for gang in gangs:
        api.call("POST", GROUPS, gang.group())
    before = sum(bound_by_gang(control_plane).values())
    began = time.monotonic()
    with ExitStack() as stack:
        replicas = Replicas(control_plane, tmp_path, stack)
        replicas.start()
        replicas.start()
        api.create_all(pods)
        first = wait_half_bound(control_plane, fitting)
        replicas.running[0].kill()
        bound = bound_by_gang(control_plane)
        # A killed leader's messages are lost: a gang that is bound isn't tried again.
        unsaid = {gang.name for gang in fitting if bound[gang.name] == gang.size}
        replicas.start()
        second = wait_half_bound(control_plane, [gang for gang in fitting if gang.name != first])
        replicas.running[1].stop()
        wait_until(
            lambda: sum(bound_by_gang(control_plane).values()) - before >= total,
            f"{total} pods to be bound",
            seconds=300,
        )
        took = time.monotonic() - began
        wanted = {gang.name: "True" if gang.fits else "" if gang.lacks_pod else "False" for gang in gangs}
        wait_until(
            lambda: all(
                condition(api, name)[0] in ({status, ""} if name in unsaid else {status})
                for name, status in wanted.items()
            ),
            f"the conditions {wanted}",
        )
        bound = bound_by_gang(control_plane)
    assert {gang.name: bound[gang.name] for gang in gangs} == {
        gang.name: gang.size if gang.fits else 0 for gang in gangs
    }
    assert bound["single"] == singles
    used = Counter(pod["spec"]["nodeName"] for pod in api.pods() if pod["spec"].get("nodeName"))
    assert max(used.values()) <= CPUS, "no node has more than fits"
    print(f"{len(gangs)} gangs, {len(pods)} pods, {total} bound in {took:.1f} s; in part: {first}, {second}")


def test_a_group_makes_room_and_says_so(
    control_plane: ControlPlaneWithGroups, api: Api, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        api.create(objects.node(name))
    containers = [objects.container(cpu="3")]
    with MooringScheduler(tmp_path, control_plane.kubeconfig("mooring"), ALONE, GROUP_GATES) as running:
        for number in range(2):
            spec = {"priorityClassName": "low", "terminationGracePeriodSeconds": 0}
            api.create(objects.pod(f"low-{number}", schedulerName="mooring", containers=containers, **spec))
        api.wait_pods_bound(2)
        api.call("POST", GROUPS, group("high", 4, priorityClassName="high"))
        for number in range(4):
            api.create(member("high", number, "2", priorityClassName="high"))
        for number in range(4):
            api.wait_bound(f"high-{number}")
        wait_until(lambda: condition(api, "high")[0] == "True", "the group to be scheduled")
        assert {pod["metadata"]["name"] for pod in api.pods()} == {f"high-{number}" for number in range(4)}
        uid = api.call("GET", f"{GROUPS}/high")["metadata"]["uid"]
        events = api.items("/apis/events.k8s.io/v1/namespaces/default/events")
        told = [event for event in events if event["reason"] == "Preempted"]
        assert {event["note"] for event in told} == {f"Preempted by podgroup {uid} on node cluster"}
        assert {event["related"]["kind"] for event in told} == {"PodGroup"}
        assert "Pod group is waiting for preemption" in running.output()


def test_what_was_decided_for_each_pod_of_a_group_is_made_again(
    control_plane: ControlPlaneWithGroups, api: Api, tmp_path: Path
) -> None:
    """Each Event about a pod has its decision, which comes out the same with its group afterwards."""
    for name in ("a", "b"):
        api.create(objects.node(name))
    address = f"127.0.0.1:{free_port()}"
    listening = (GROUP_GATES, f"--grpc-listen={address}")
    kubeconfig = control_plane.kubeconfig("mooring")
    with (
        MooringScheduler(tmp_path, kubeconfig, ALONE, *listening),
        grpc.insecure_channel(address) as channel,
    ):
        for gang in (Gang("fits", 4, fits=True), Gang("large", 5, fits=False)):
            api.call("POST", GROUPS, gang.group())
            api.create_all(gang.pods())
        for number in range(4):
            api.wait_bound(f"fits-{number}")
        wait_until(lambda: condition(api, "large")[0] == "False", "the group to be rejected")
        decisions = DecisionServiceStub(channel)
        noted = decisions.ListDecisions(pb.ListDecisionsRequest(limit=100)).decisions
        kept = [one for one in noted if one.kind == pb.DECISION_KIND_SCHEDULE]
        again = [decisions.ExplainAt(pb.ExplainAtRequest(seq=one.seq)) for one in kept]
        assert [list(each.differences) for each in again] == [[]] * len(kept)
        results = {one.pod.name: one.result for one in kept}
        assert results == {
            **{f"fits-{number}": pb.DECISION_RESULT_SCHEDULED for number in range(4)},
            **{f"large-{number}": pb.DECISION_RESULT_UNSCHEDULABLE for number in range(5)},
        }


def test_bad_groups_hold_up_nobody(control_plane: ControlPlaneWithGroups, api: Api, tmp_path: Path) -> None:
    """Groups that come late, are not complete, or go: none of their pods is bound before all can be."""
    api.create(objects.node("a"))
    with MooringScheduler(tmp_path, control_plane.kubeconfig("mooring"), ALONE, GROUP_GATES):
        for name in ("missing", "grows", "goes"):
            api.create(member(name, 0))
        api.call("POST", GROUPS, group("grows", 2))
        api.call("POST", GROUPS, group("goes", 2))
        delete_group(api, "goes")
        api.create(member("goes", 1))
        api.create(objects.pod("alone", schedulerName="mooring"))
        api.wait_bound("alone")
        assert list(api.bound()) == ["alone"]
        api.create(member("grows", 1))
        assert {api.wait_bound("grows-0"), api.wait_bound("grows-1")} == {"a"}
        api.call("POST", GROUPS, group("missing", 1))
        api.wait_bound("missing-0")
        assert set(api.bound()) == {"alone", "grows-0", "grows-1", "missing-0"}
        assert condition(api, "missing")[:2] == ("True", "Scheduled")


def whole_kube_scheduler(plane: ControlPlaneWithGroups, _: Path) -> AbstractContextManager[Any]:
    return plane.scheduler({}, flags=[GROUP_GATES])


def whole_mooring(plane: ControlPlaneWithGroups, folder: Path) -> AbstractContextManager[Any]:
    config = {**ALONE, "profiles": [{"schedulerName": "default-scheduler"}]}
    return MooringScheduler(folder, plane.kubeconfig("mooring"), config, GROUP_GATES)


@pytest.mark.parametrize("start", [whole_kube_scheduler, whole_mooring], ids=["kube-scheduler", "mooring"])
def test_pods_share_the_claim_of_their_group(
    control_plane: ControlPlaneWithGroups,
    api: Api,
    tmp_path: Path,
    start: Callable[[ControlPlaneWithGroups, Path], AbstractContextManager[Any]],
) -> None:
    """With either scheduler; kube-scheduler tries the pods again that write the claim too late."""
    resource = {"apiVersion": "resource.k8s.io/v1"}
    api.create(objects.node("a"))
    pool = {"name": "a", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": "a", "pool": pool, "devices": [{"name": "d0"}]}
    asked = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
    for path, kind, name, body in (
        (CLASSES, "DeviceClass", "gpu", {}),
        (SLICES, "ResourceSlice", "s", spec),
        (CLAIMS, "ResourceClaim", "shared", asked),
    ):
        api.call("POST", path, {**resource, "kind": kind, "metadata": {"name": name}, "spec": body})
    entry = {"name": "gpu", "resourceClaimName": "shared"}
    with start(control_plane, tmp_path):
        make(api, group("share", 3, resourceClaims=[entry]), "1", "1", "1", resourceClaims=[entry])
        assert {api.wait_bound(f"share-{number}") for number in range(3)} == {"a"}
    uid = api.call("GET", f"{GROUPS}/share")["metadata"]["uid"]
    user = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "share", "uid": uid}
    status = api.call("GET", f"{CLAIMS}/shared")["status"]
    assert status["reservedFor"] == [user]
    assert [result["device"] for result in status["allocation"]["devices"]["results"]] == ["d0"]
    for path in (f"{CLAIMS}/shared", f"{SLICES}/s", f"{CLASSES}/gpu"):
        release(api, path)


def fits(api: Api) -> None:
    make(api, group("fits", 3), "1", "1", "1")


def fits_in_part(api: Api) -> None:
    """The third pod comes when the group has its place: whether it is tried with the others is chance."""
    make(api, group("part", 2), "3", "3")
    for first in ("part-0", "part-1"):
        api.wait_bound(first)
    join(api, "part", 2, "3")
    wait_until(lambda: said(api, "part")["pods"]["part-2"][1] or None, "the third pod to be told")


def fits_nowhere(api: Api) -> None:
    make(api, group("nowhere", 4), "3", "3", "3", "3")


def has_a_pod_too_large(api: Api) -> None:
    make(api, group("large", 2), "5", "1")


def has_another_priority(api: Api) -> None:
    make(api, group("priority", 2, priorityClassName="high"), "1", "1")


def has_no_gang(api: Api) -> None:
    basic = group("basic", 1)
    basic["spec"]["schedulingPolicy"] = {"basic": {}}
    make(api, basic, "3", "3", "3")


def makes_room(api: Api) -> None:
    spec = {"terminationGracePeriodSeconds": 300, "containers": [objects.container(cpu="3")]}
    for number, node in enumerate("ab"):
        api.create(objects.pod(f"low-{number}", nodeName=node, **spec))
    important = {"priorityClassName": "high"}
    make(api, group("room", 2, **important), "3", "3", **important)


def make(api: Api, made: dict[str, Any], *cpus: str, **spec: Any) -> None:
    """Create a group, and its pods in their order, the one scheduler's by default."""
    api.call("POST", GROUPS, made)
    for number, cpu in enumerate(cpus):
        join(api, made["metadata"]["name"], number, cpu, **spec)


def join(api: Api, name: str, number: int, cpu: str, **spec: Any) -> None:
    """Create one more pod of a group, the one scheduler's by default."""
    pod = member(name, number, cpu, **spec)
    del pod["spec"]["schedulerName"]
    api.create(pod)


def said(api: Api, name: str) -> dict[str, Any]:
    """Return the cluster's messages about a group and its pods, without the choice among equal nodes."""
    uid = api.call("GET", f"{GROUPS}/{name}")["metadata"]["uid"]
    pods = [pod for pod in api.pods() if pod["metadata"]["name"].startswith(f"{name}-")]
    events = api.items("/apis/events.k8s.io/v1/namespaces/default/events")
    told = {
        (event["regarding"]["name"], event["reason"], event["note"].replace(uid, "UID"))
        for event in events
        if event["reason"] in ("FailedScheduling", "Preempted")
    }
    found = {}
    for pod in pods:
        conditions = [each for each in pod["status"].get("conditions", ()) if each["type"] == "PodScheduled"]
        stated = [(each["status"], each.get("reason"), each.get("message")) for each in conditions]
        found[pod["metadata"]["name"]] = bool(pod["spec"].get("nodeName")), stated
    nominated = sorted(pod["status"].get("nominatedNodeName", "") for pod in pods)
    return {"group": condition(api, name), "pods": found, "nominated": nominated, "events": told}


HAPPENS: dict[str, Callable[[Api], None]] = {
    "fits": fits,
    "part": fits_in_part,
    "nowhere": fits_nowhere,
    "large": has_a_pod_too_large,
    "priority": has_another_priority,
    "basic": has_no_gang,
    "room": makes_room,
}
"""The events for groups, by their name."""


@pytest.fixture(scope="module")
def answers(
    control_plane: ControlPlaneWithGroups, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """Return the messages about each group with each scheduler in charge."""
    found: dict[str, dict[str, Any]] = {}
    for scheduler, start in (("kube-scheduler", whole_kube_scheduler), ("mooring", whole_mooring)):
        with start(control_plane, tmp_path_factory.mktemp(scheduler)):
            found[scheduler] = {name: told(control_plane.api, name) for name in HAPPENS}
    return found


def told(api: Api, name: str) -> dict[str, Any]:
    for node in "ab":
        api.create(objects.node(node))
    HAPPENS[name](api)
    wait_until(lambda: condition(api, name)[0], "the group's condition")
    answer = wait_until(partial(settled, api, name), "both to say no more")
    clear(api)
    return answer


def settled(api: Api, name: str) -> dict[str, Any] | None:
    """Return the messages about a group once they stay the same for a second."""
    before = said(api, name)
    time.sleep(1)
    return before if said(api, name) == before else None


@pytest.mark.parametrize("name", HAPPENS)
def test_a_group_is_told_what_kube_scheduler_tells_it(answers: dict[str, dict[str, Any]], name: str) -> None:
    assert answers["mooring"][name] == answers["kube-scheduler"][name]
