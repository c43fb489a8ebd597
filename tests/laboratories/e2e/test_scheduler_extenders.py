"""`mooring scheduler` calls extenders as an unmodified kube-scheduler does: the same requests and words."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.process import wait_until
from tests.scheduler.extenders import Recorded, http_extender

from . import objects
from .api import Api, ApiError, Manifest
from .control_plane import ControlPlane
from .processes import MooringScheduler

pytestmark = pytest.mark.e2e

Requests = dict[tuple[str, str], Any]
"""The first request of each verb about each pod."""

Running = Callable[[dict[str, Any]], AbstractContextManager[Any]]
"""Starts a scheduler with a configuration."""

NOT_NOW = {"Error": "not now"}
ASKED = {(verb, pod) for verb in ("filter", "prioritize", "bind") for pod in ("plain", "rich")}
ASKED |= {("preempt", "high")}


def answer_filter(request: dict[str, Any]) -> dict[str, Any]:
    return {"Nodes": request["Nodes"], "NodeNames": request["NodeNames"]}


ANSWERS = {
    "filter": answer_filter,
    "prioritize": [{"Host": "node-1", "Score": 3}],
    "bind": NOT_NOW,
    "preempt": {"NodeNameToMetaVictims": {}},
}


def configuration(url: str, *, capable: bool) -> dict[str, Any]:
    stanza = {
        "urlPrefix": url,
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 2,
        "bindVerb": "bind",
        "preemptVerb": "preempt",
        "nodeCacheCapable": capable,
    }
    return {
        "leaderElection": {"leaderElect": False},
        "percentageOfNodesToScore": 0,
        "profiles": [{"schedulerName": "default-scheduler"}],
        "extenders": [stanza],
    }


def rich_pod() -> Manifest:
    """Return a pod with fields that are easily lost on the way."""
    main = {
        **objects.container(cpu="0.1", memory="64Mi"),
        "env": [{"name": "A", "value": ""}],
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }
    spec = {
        "containers": [main],
        "initContainers": [
            {"name": "init", "image": "i", "command": ["sh", "-c", "echo '<a & b>' \u2028 \U0001f600"]}
        ],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
        "affinity": objects.node_affinity(preferred={objects.HOSTNAME: "node-1"}),
        "tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}],
        "nodeSelector": {},
        "terminationGracePeriodSeconds": 0,
        "enableServiceLinks": False,
    }
    pod = objects.pod("rich", **spec)
    pod["metadata"]["annotations"] = {"example.com/odd": 'tab\t nl\n <x> & "quoted" \u6f22'}
    return pod


@pytest.fixture
def api(control_plane: ControlPlane) -> Api:
    """Return two nodes that are nearly full of less important pods, pods that fit, and one that doesn't."""
    api = control_plane.api
    for name, value in (("low", 10), ("high", 1000)):
        priority_class(api, name, value)
    for number in (1, 2):
        api.create(objects.node(f"node-{number}", {"zone": f"z{number}"}))
        full = [objects.container(cpu="3")]
        api.create(
            objects.pod(f"low-{number}", containers=full, nodeName=f"node-{number}", priorityClassName="low")
        )
    for pod in (
        objects.pod("plain"),
        rich_pod(),
        objects.pod("high", containers=[objects.container(cpu="2")], priorityClassName="high"),
    ):
        api.create(pod)
    return api


def priority_class(api: Api, name: str, value: int) -> None:
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    try:
        api.call("POST", path, {**kind, "metadata": {"name": name}, "value": value})
    except ApiError as error:
        if error.status != 409:
            raise


def first_requests(running: Recorded) -> Requests:
    found: Requests = {}
    for verb, body in running.requests:
        pod = body["PodName"] if verb == "bind" else body["Pod"]["metadata"]["name"]
        found.setdefault((verb, pod), body)
    return found


def comparable(request: dict[str, Any]) -> dict[str, Any]:
    """Without the order of nodes, which is that of a race, and the selected one, which is one of several."""
    sorted_: dict[str, Any] = json.loads(json.dumps(request))
    if sorted_.get("NodeNames"):
        sorted_["NodeNames"].sort()
    if sorted_.get("Nodes"):
        sorted_["Nodes"]["items"].sort(key=lambda node: node["metadata"]["name"])
    return sorted_


def asked(api: Api, start: Running, *, capable: bool) -> tuple[Requests, dict[str, Any]]:
    """Return a scheduler's first requests about each pod, and its messages about the pods."""
    with http_extender(ANSWERS) as running, start(configuration(running.url, capable=capable)):
        wait_until(lambda: first_requests(running).keys() >= ASKED, "every verb to be asked")
        said = wait_until(lambda: conditions(api), "every pod to be told of")
    return {key: comparable(body) for key, body in first_requests(running).items()}, said


def conditions(api: Api) -> dict[str, Any] | None:
    """By pod, reason and message of the condition PodScheduled, once all have one."""
    found = {}
    for name in ("plain", "rich", "high"):
        for condition in api.pod(name).get("status", {}).get("conditions", ()):
            if condition["type"] == "PodScheduled":
                found[name] = condition["reason"], condition["message"]
    return found if len(found) == 3 else None


@pytest.fixture
def mooring_scheduler(control_plane: ControlPlane, tmp_path: Path) -> Running:
    return lambda config: MooringScheduler(tmp_path, control_plane.kubeconfig("mooring"), config)


@pytest.fixture
def kube_scheduler(control_plane: ControlPlane) -> Running:
    return control_plane.scheduler


@pytest.mark.parametrize("capable", [pytest.param(True, id="by name"), pytest.param(False, id="by node")])
def test_the_requests_are_those_of_kube_scheduler(
    api: Api, kube_scheduler: Running, mooring_scheduler: Running, capable: bool
) -> None:
    # The first run leaves its words on the pods; from then on they stay as they are.
    asked(api, kube_scheduler, capable=capable)
    theirs, they_say = asked(api, kube_scheduler, capable=capable)
    ours, we_say = asked(api, mooring_scheduler, capable=capable)
    assert ours == theirs
    assert we_say == they_say
