"""The status that the disruption controller would write for a budget in a file."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cluster.manifests import objects_from
from mooring.framework.objects import PodDisruptionBudget
from mooring.testing.builders import pod_manifest

Manifest = dict[str, Any]
SELECTOR = {"matchLabels": {"app": "web"}}


def budget(status: Manifest | None = None, **spec: Any) -> Manifest:
    head = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    return {**head, "spec": {"selector": SELECTOR, **spec}, **({"status": status} if status else {})}


def workload(kind: str, replicas: int, version: str = "apps/v1") -> Manifest:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c"}]}}
    spec = {"replicas": replicas, "selector": SELECTOR, "template": template}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "w"}, "spec": spec}


def pods(count: int, owner: str = "", version: str = "apps/v1", **status: Any) -> list[Manifest]:
    made = []
    for at in range(count):
        pod = pod_manifest(f"p-{at}", labels={"app": "web"})
        pod["status"] = status
        if owner:
            reference = {"apiVersion": version, "kind": owner, "name": "w", "uid": "1", "controller": True}
            pod["metadata"]["ownerReferences"] = [reference]
        made.append(pod)
    return made


NOT_READY: Manifest = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
READY: Manifest = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


@pytest.mark.parametrize(
    ("objects", "spec", "counts"),
    [
        pytest.param([workload("Deployment", 4)], {"maxUnavailable": 1}, (4, 4, 3, 1), id="deployment"),
        pytest.param(
            [workload("Deployment", 4)], {"maxUnavailable": "30%"}, (4, 4, 2, 2), id="a share rounds up"
        ),
        pytest.param([workload("StatefulSet", 3)], {"minAvailable": "50%"}, (3, 3, 2, 1), id="least share"),
        pytest.param([workload("StatefulSet", 3)], {"minAvailable": 2}, (3, 3, 2, 1), id="least number"),
        pytest.param(
            [workload("StatefulSet", 3)], {"minAvailable": 5}, (3, 3, 5, 0), id="more than there are"
        ),
        pytest.param([workload("ReplicaSet", 3)], {"maxUnavailable": 5}, (3, 3, 0, 3), id="all may go"),
        pytest.param(
            pods(3, "ReplicaSet", **READY), {"maxUnavailable": 1}, (3, 3, 2, 1), id="controller not there"
        ),
        pytest.param(
            pods(3, "Fleet", "example.com/v1"), {"maxUnavailable": 1}, (3, 3, 2, 1), id="foreign controller"
        ),
        pytest.param(
            [*pods(2, "ReplicaSet", **NOT_READY), workload("ReplicaSet", 2)],
            {"maxUnavailable": 1},
            (0, 2, 1, 0),
            id="not ready",
        ),
        pytest.param(
            [*pods(1, "ReplicaSet", phase="Pending"), workload("ReplicaSet", 1)],
            {"maxUnavailable": 1},
            (0, 1, 0, 0),
            id="pending",
        ),
        pytest.param(pods(2), {"minAvailable": 1}, (2, 2, 1, 1), id="pods alone, a number"),
        pytest.param(pods(2), {"maxUnavailable": 1}, (2, 0, 0, 0), id="pods alone have no scale"),
        pytest.param([], {"minAvailable": 0}, (0, 0, 0, 0), id="no pods"),
        pytest.param(
            pods(2, "DaemonSet"), {"maxUnavailable": 1}, (0, 0, 0, 0), id="a DaemonSet has no scale"
        ),
        pytest.param(pods(2), {"minAvailable": "1"}, (0, 0, 0, 0), id="neither number nor share"),
        pytest.param(
            [workload("Deployment", 2)],
            {"selector": None, "maxUnavailable": 1},
            (0, 0, 0, 0),
            id="no selector",
        ),
        pytest.param(
            [workload("Deployment", 2)],
            {"selector": {}, "maxUnavailable": 1},
            (2, 2, 1, 1),
            id="whole namespace",
        ),
    ],
)
def test_the_status(objects: list[Manifest], spec: Manifest, counts: tuple[int, ...]) -> None:
    loaded = objects_from([*objects, budget(**spec)], settled=True)
    [read] = [item for item in loaded.objects if isinstance(item, PodDisruptionBudget)]
    status = read.status
    found = status.current_healthy, status.expected_pods, status.desired_healthy, status.disruptions_allowed
    assert found == counts


def test_a_status_that_is_there_stays() -> None:
    given = budget({"disruptionsAllowed": 0, "currentHealthy": 1, "expectedPods": 1}, maxUnavailable=1)
    loaded = objects_from([workload("Deployment", 4), given], settled=True)
    [read] = [item for item in loaded.objects if isinstance(item, PodDisruptionBudget)]
    assert (read.status.disruptions_allowed, read.status.expected_pods) == (0, 1)
