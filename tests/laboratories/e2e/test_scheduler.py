"""`mooring scheduler` in a real control plane: each pod is bound once, by its own scheduler."""

import re
import signal
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.process import wait_until

from . import objects
from .api import Api, ApiError
from .control_plane import ControlPlane
from .processes import MooringScheduler
from .telemetry import fetch

pytestmark = pytest.mark.e2e

MINE = "mooring"
PROFILE = {"profiles": [{"schedulerName": MINE}]}
ALONE = {**PROFILE, "leaderElection": {"leaderElect": False}}


def make_nodes(api: Api, count: int) -> None:
    for number in range(count):
        api.create(objects.node(f"node-{number:03}"))


def make_pods(api: Api, names: Iterable[str], scheduler: str = MINE, **spec: Any) -> None:
    for name in names:
        api.create(objects.pod(name, schedulerName=scheduler, **spec))


def bound(api: Api) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in api.pods()}


def wait_all_bound(api: Api) -> dict[str, str]:
    return wait_until(lambda: found if all((found := bound(api)).values()) else None, "all pods to be bound")


def priority_class(api: Api, name: str, value: int) -> None:
    body = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }
    try:
        api.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body)
    except ApiError as error:
        if error.status != 409:
            raise


def reasons(api: Api, name: str) -> list[str]:
    events = api.items(f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={name}")
    return [event["reason"] for event in events]


def lease_holder(api: Api) -> str:
    lease = api.call("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/mooring")
    holder: str = lease["spec"]["holderIdentity"]
    return holder


@pytest.fixture
def api(control_plane: ControlPlane) -> Api:
    return control_plane.api


def scheduler(
    control_plane: ControlPlane, tmp_path: Path, config: dict[str, Any], *flags: str
) -> MooringScheduler:
    return MooringScheduler(tmp_path, control_plane.kubeconfig("mooring"), config, *flags)


def test_200_pods_on_20_nodes(control_plane: ControlPlane, api: Api, tmp_path: Path) -> None:
    make_nodes(api, 20)
    before = len(control_plane.bindings())
    with scheduler(control_plane, tmp_path, PROFILE) as running:
        make_pods(api, [f"p-{number:03}" for number in range(200)])
        places = wait_all_bound(api)
        assert Counter(places.values()).most_common()[0][1] <= 11, "spread over the nodes"
        assert lease_holder(api)
        assert fetch(f"{running.telemetry}/healthz") == fetch(f"{running.telemetry}/readyz") == "ok\n"
        metrics = fetch(f"{running.telemetry}/metrics")
        assert 'mooring_schedule_attempts_total{profile="mooring",result="scheduled"} 200.0' in metrics
        assert 'mooring_pending_pods{queue="active"} 0.0' in metrics
        wait_until(lambda: reasons(api, "p-000") == ["Scheduled"], "the event of p-000")
    assert lease_holder(api) == "", "the lease is let go at the end"
    posted = Counter(control_plane.bindings()[before:])
    assert posted == {("mooring", name): 1 for name in places}


def test_evaluated_and_feasible_nodes(control_plane: ControlPlane, api: Api, tmp_path: Path) -> None:
    """S5: four nodes, one of them tainted."""
    make_nodes(api, 3)
    control = objects.node("control-plane")
    control["spec"] = {"taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]}
    api.create(control)
    with scheduler(control_plane, tmp_path, ALONE) as running:
        make_pods(api, ["nginx"])
        node = api.wait_bound("nginx")
        line = (
            f'"Successfully bound pod to node" pod="default/nginx" node="{node}" '
            "evaluatedNodes=4 feasibleNodes=3"
        )
        wait_until(lambda: line in running.output(), "the line in the log")


def test_two_schedulers_side_by_side(control_plane: ControlPlane, api: Api, tmp_path: Path) -> None:
    make_nodes(api, 5)
    before = len(control_plane.bindings())
    with control_plane.scheduler({}), scheduler(control_plane, tmp_path, ALONE):
        for number in range(20):
            make_pods(api, [f"mine-{number}"])
            make_pods(api, [f"its-{number}"], "default-scheduler")
        wait_all_bound(api)
    who = {name: user for user, name in control_plane.bindings()[before:]}
    assert who == {
        **{f"mine-{number}": "mooring" for number in range(20)},
        **{f"its-{number}": "kube-scheduler" for number in range(20)},
    }


def test_a_less_important_pod_makes_room(control_plane: ControlPlane, api: Api, tmp_path: Path) -> None:
    priority_class(api, "low", 10)
    priority_class(api, "high", 1000)
    make_nodes(api, 1)
    big = [{"name": "main", "image": "registry.example/app:1", "resources": {"requests": {"cpu": "3"}}}]
    with scheduler(control_plane, tmp_path, ALONE):
        make_pods(api, ["low"], priorityClassName="low", containers=big)
        api.wait_bound("low")
        make_pods(api, ["high"], priorityClassName="high", containers=big)
        wait_until(lambda: api.pod("low")["metadata"].get("deletionTimestamp"), "the victim to leave")
        wait_until(lambda: api.pod("high")["status"].get("nominatedNodeName") == "node-000", "the nomination")
        conditions = {entry["type"]: entry for entry in api.pod("low")["status"]["conditions"]}
        assert conditions["DisruptionTarget"]["reason"] == "PreemptionByScheduler"
        message = api.wait_failed_scheduling("high", "Insufficient cpu")
        assert message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
        unscheduled = {entry["type"]: entry for entry in api.pod("high")["status"]["conditions"]}
        assert unscheduled["PodScheduled"]["reason"] == "Unschedulable"
        # No kubelet ends the victim here.
        api.call("DELETE", "/api/v1/namespaces/default/pods/low?gracePeriodSeconds=0")
        assert api.wait_bound("high") == "node-000"
        assert "Preempted" in reasons(api, "low")


def test_gates_and_room_that_comes_later(control_plane: ControlPlane, api: Api, tmp_path: Path) -> None:
    with scheduler(control_plane, tmp_path, ALONE):
        make_pods(api, ["gated"], schedulingGates=[{"name": "example.com/wait"}])
        make_pods(api, ["picky"], nodeSelector={"disk": "fast"})
        make_nodes(api, 1)
        api.wait_failed_scheduling("picky", "node(s) didn't match Pod's node affinity/selector")
        gated = api.pod("gated")
        del gated["spec"]["schedulingGates"]
        api.call("PUT", "/api/v1/namespaces/default/pods/gated", gated)
        assert api.wait_bound("gated") == "node-000"
        node = next(found for found in api.nodes() if found["metadata"]["name"] == "node-000")
        node["metadata"]["labels"]["disk"] = "fast"
        api.call("PUT", "/api/v1/nodes/node-000", node)
        assert api.wait_bound("picky") == "node-000"


@pytest.mark.parametrize("end", ["stop", "kill"], ids=["SIGTERM", "kill -9"])
def test_restart_in_the_middle(control_plane: ControlPlane, api: Api, tmp_path: Path, end: str) -> None:
    make_nodes(api, 10)
    before = len(control_plane.bindings())
    names = [f"p-{number:03}" for number in range(150)]
    with scheduler(control_plane, tmp_path, ALONE) as running:
        make_pods(api, names[:100])
        wait_until(lambda: any(bound(api).values()), "the first pods to be bound")
        getattr(running, end)()
        make_pods(api, names[100:])
        running.start()
        wait_all_bound(api)
    accepted = Counter(name for _, name in control_plane.bindings()[before:])
    assert accepted == dict.fromkeys(names, 1)


def has_bound(running: MooringScheduler) -> bool:
    """Return whether it says that it bound a pod."""
    return "Successfully bound pod" in running.output()


def test_a_standby_takes_over(control_plane: ControlPlane, api: Api, tmp_path: Path) -> None:
    """The leader is stopped and goes on later: it has bound nothing more, and ends."""
    pace = ["--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s"]
    pace += ["--leader-elect-retry-period=500ms"]
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    make_nodes(api, 3)
    first = scheduler(control_plane, tmp_path / "first", PROFILE, *pace)
    with first, scheduler(control_plane, tmp_path / "second", PROFILE, *pace) as second:
        make_pods(api, ["before"])
        api.wait_bound("before")
        # The scheduler hears of its binding after the pod is bound.
        wait_until(lambda: any(map(has_bound, (first, second))), "the binding to be told")
        leader, other = (first, second) if has_bound(first) else (second, first)
        holder = lease_holder(api)
        leader.signal(signal.SIGSTOP)
        make_pods(api, ["meanwhile"])
        api.wait_bound("meanwhile")
        assert lease_holder(api) != holder
        leader.signal(signal.SIGCONT)
        assert leader.wait_end() == 1
        make_pods(api, ["after"])
        api.wait_bound("after")
        wait_until(
            lambda: len(re.findall("Successfully bound pod", other.output())) == 2, "two bindings to be told"
        )
        leader.start()


UNSCHEDULABLE: dict[str, dict[str, Any]] = {
    "big": {"containers": [objects.container(cpu="100")]},
    "picky": {"nodeSelector": {"absent": "label"}},
    "attracted": {"affinity": objects.node_affinity(required={"absent": "label"})},
    "tolerant": {"tolerations": [{"operator": "Exists"}], "containers": [objects.container(memory="1Ti")]},
    "lonely": {"affinity": objects.required_pod_affinity({"app": "nobody"})},
    "spread": {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "absent",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "x"}},
            }
        ]
    },
    "claiming": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "absent"}}]},
    "gated": {"schedulingGates": [{"name": "example.com/wait"}]},
}


def test_the_same_is_said_as_by_kube_scheduler(control_plane: ControlPlane, api: Api, tmp_path: Path) -> None:
    """The Event and the condition of pods that fit no node."""
    make_nodes(api, 2)
    tainted = objects.node("tainted")
    tainted["spec"] = {"taints": [{"key": "dedicated", "effect": "NoSchedule"}]}
    api.create(tainted)
    with control_plane.scheduler({}), scheduler(control_plane, tmp_path, ALONE):
        for name, spec in UNSCHEDULABLE.items():
            make_pods(api, [f"its-{name}"], "default-scheduler", **spec)
            make_pods(api, [f"mine-{name}"], **spec)
        for name in UNSCHEDULABLE.keys() - {"gated"}:
            for whose in ("its", "mine"):
                api.wait_failed_scheduling(f"{whose}-{name}", "")
    said = {
        whose: {name: words(api, f"{whose}-{name}") for name in UNSCHEDULABLE} for whose in ("its", "mine")
    }
    assert said["mine"] == said["its"]
    assert said["mine"]["gated"] == ([], [("PodScheduled", "False", "SchedulingGated", None)])


def words(api: Api, name: str) -> tuple[list[Any], list[Any]]:
    """Return the Events about the pod and its conditions, without the differences between the two
    schedulers.
    """
    events = api.items(
        f"/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=regarding.name={name}"
    )
    told = sorted({(e["type"], e["reason"], e["action"], e["note"]) for e in events})
    conditions = api.pod(name)["status"].get("conditions", [])
    return told, [(c["type"], c["status"], c["reason"], message_of(c)) for c in conditions]


def message_of(condition: dict[str, Any]) -> str | None:
    return condition.get("message") if condition["reason"] != "SchedulingGated" else None
