"""Pods that a real kube-scheduler rejects: mooring explains each, and its first advice gets the pod bound."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, Self

import pytest

from mooring.framework.resources import counted_amounts, parse_amounts
from tests.laboratories.doors.asking import ask
from tests.plugins.rejections import FACTS, Fact
from tests.plugins.storage import BOUND, volume
from tests.plugins.waiting import GATES as GROUP_GATES
from tests.plugins.waiting import GROUPS, PREEMPTION, Waiting
from tests.process import wait_until

from .api import Api, ApiError, KeptApi, Manifest
from .applying import path_of, path_to
from .control_plane import ControlPlane

pytestmark = pytest.mark.e2e

GATES = f"TaintTolerationComparisonOperators=true,{GROUP_GATES}"
_KINDS = (
    "v1/pods",
    "v1/nodes",
    "v1/persistentvolumes",
    "v1/persistentvolumeclaims",
    "storage.k8s.io/v1/storageclasses",
    "storage.k8s.io/v1/csinodes",
    "storage.k8s.io/v1/csidrivers",
    "storage.k8s.io/v1/csistoragecapacities",
    "storage.k8s.io/v1/volumeattachments",
    "resource.k8s.io/v1/deviceclasses",
    "resource.k8s.io/v1/resourceslices",
    "resource.k8s.io/v1/resourceclaims",
    "policy/v1/poddisruptionbudgets",
    "scheduling.k8s.io/v1beta1/podgroups",
)
_MERGE = "application/merge-patch+json"
_HEARD_SECONDS = 0.2
"""How long kube-scheduler takes to see new objects."""
_TRIED_SECONDS = 1.0
"""How long it takes to try a group, and to give it no node."""
_BINDS_SECONDS = 15.0

NOT_PLAYED = {
    "name, another node": "a pod that names its node is never scheduled",
    "name, no such node": "a pod that names its node is never scheduled",
    "taint, Gt without its gate": "the gate is on here",
    "devices, no such claim": "kube-scheduler waits for the claim without a word",
    "its victims still terminate": "that follows each preemption here",
}


class Cluster(ControlPlane):
    """etcd, kube-apiserver and kube-scheduler, without controllers: written objects stay."""

    disabled_admission = (
        "ServiceAccount,TaintNodesByCondition,Priority,DefaultTolerationSeconds,StorageObjectInUseProtection"
    )
    apiserver_flags = (
        f"--feature-gates={GATES},UserNamespacesHostNetworkSupport=true",
        "--runtime-config=scheduling.k8s.io/v1beta1=true",
    )

    def __enter__(self) -> Self:
        super().__enter__()
        self.api = KeptApi(self.address, self._ca_file, self._tokens["admin"])
        config = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}
        self._running.append(self.scheduler(config, flags=[f"--feature-gates={GATES}"]))
        return self

    def clear(self) -> None:
        """Remove every object of the scenarios."""
        wait_until(self._is_empty, "the cluster to be empty", pause=0.05)

    def _is_empty(self) -> bool:
        found = [item for kind in _KINDS for item in items_of(self.api, kind)]
        for item in found:
            if item["metadata"].get("finalizers"):
                self.api.call("PATCH", path_to(self.api, item), {"metadata": {"finalizers": None}}, _MERGE)
            delete(self.api, item)
        return not found


def items_of(api: Api, kind: str) -> list[Manifest]:
    """Return all objects of a kind, each with its kind and version."""
    version, _, plural = kind.rpartition("/")
    found = api.call("GET", f"/apis/{version}/{plural}" if "/" in version else f"/api/{version}/{plural}")
    name = found["kind"].removesuffix("List")
    return [{"apiVersion": version, "kind": name, **item} for item in found["items"]]


def create(api: Api, item: Manifest) -> None:
    """Create an object with the status that it has."""
    item = deepcopy(item)
    item["metadata"].pop("uid", None)
    api.call("POST", f"{path_of(api, item)}?fieldValidation=Strict", item)
    if "status" in item and item["kind"] != "CSINode":
        patch = {"status": item["status"]}
        api.call("PATCH", f"{path_to(api, item)}/status", patch, _MERGE)


def delete(api: Api, item: Manifest) -> None:
    """Delete an object at once."""
    try:
        api.call("DELETE", f"{path_to(api, item)}?gracePeriodSeconds=0")
    except ApiError as error:
        if error.status != 404:
            raise


def condition(api: Api, pod: Manifest) -> Manifest:
    """Return the pod's condition PodScheduled; empty without one."""
    conditions = api.call("GET", path_to(api, pod))["status"].get("conditions", [])
    return next((one for one in conditions if one["type"] == "PodScheduled"), {})


def carry_out(api: Api, pod: Manifest, changes: Sequence[Manifest]) -> None:
    """Does what an advice says, and creates the pod again as it says."""
    pod = deepcopy(pod)
    for step in changes:
        match step["kind"]:
            case "toleration":
                taint = {name: step[name] for name in ("key", "value", "effect")}
                pod["spec"].setdefault("tolerations", []).append(taint)
            case "request":
                name, less = step["resource"], step["before"] - step["after"]
                for amounts in pod["spec"]["containers"][0]["resources"].values():
                    [own] = counted_amounts(parse_amounts({name: amounts[name]}, "")).values()
                    amounts[name] = f"{own - less}{'m' if name == 'cpu' else ''}"
            case "label":
                labels = {step["key"]: step["value"]}
                api.call("PATCH", f"/api/v1/nodes/{step['node']}", {"metadata": {"labels": labels}}, _MERGE)
            case "end" | "move":
                _leave(api, step)
            case "node":
                _add_node(api, step["node"], step["like"])
            case kind:
                raise AssertionError(f"nobody knows how to carry out {kind}: {step}")
    delete(api, pod)
    create(api, pod)


def _leave(api: Api, step: Manifest) -> None:
    """A pod leaves its node, and, if it moves, there is one like it on the other."""
    namespace, _, name = step["pod"].partition("/")
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    there = api.call("GET", path)
    api.call("DELETE", f"{path}?gracePeriodSeconds=0")
    if step["kind"] == "move":
        kept = {"name": name, "namespace": namespace, "labels": there["metadata"].get("labels", {})}
        spec = {**there["spec"], "nodeName": step["node"]}
        create(api, {"apiVersion": "v1", "kind": "Pod", "metadata": kept, "spec": spec})


def _add_node(api: Api, name: str, like: str) -> None:
    """A new node, and what its drivers report."""
    create(api, _new_node(api.call("GET", f"/api/v1/nodes/{like}"), name))
    for item in items_of(api, "storage.k8s.io/v1/csinodes"):
        if item["metadata"]["name"] == like:
            create(api, {**item, "metadata": {"name": name}})
    for item in items_of(api, "resource.k8s.io/v1/resourceslices"):
        spec = item["spec"]
        if spec.get("nodeName") == like:
            there = {**spec, "nodeName": name, "pool": {**spec["pool"], "name": name}}
            create(api, {**item, "metadata": {"name": f"{name}-{item['metadata']['name']}"}, "spec": there})


def provision(api: Api) -> None:
    """Make a volume for each claim whose node kube-scheduler has chosen, like a CSI driver."""
    for claim in items_of(api, "v1/persistentvolumeclaims"):
        name, spec = claim["metadata"]["name"], claim["spec"]
        chosen = "volume.kubernetes.io/selected-node" in claim["metadata"].get("annotations", {})
        if not chosen or spec.get("volumeName"):
            continue
        made = volume(f"made-{name}", size=spec["resources"]["requests"]["storage"])
        made["spec"]["claimRef"] = {
            "kind": "PersistentVolumeClaim",
            "namespace": "default",
            "name": name,
            "uid": claim["metadata"]["uid"],
        }
        create(api, {**made, "status": {"phase": "Bound"}})
        bound = {"metadata": {"annotations": BOUND}, "spec": {"volumeName": f"made-{name}"}}
        api.call("PATCH", path_to(api, claim), bound, _MERGE)
        api.call("PATCH", f"{path_to(api, claim)}/status", {"status": {"phase": "Bound"}}, _MERGE)


def placed(api: Api, pod: Manifest) -> str | None:
    """Return the node of a pod; None without one."""
    provision(api)
    return api.call("GET", path_to(api, pod))["spec"].get("nodeName") or None


def _new_node(like: Manifest, name: str) -> Manifest:
    labels = {**like["metadata"]["labels"]}
    if "kubernetes.io/hostname" in labels:
        labels["kubernetes.io/hostname"] = name
    taints = [
        one for one in like["spec"].get("taints", ()) if not one["key"].startswith("node.kubernetes.io/")
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints},
        "status": like["status"],
    }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Yield one for all scenarios."""
    with Cluster(tmp_path_factory.mktemp("explanations")) as running:
        yield running


@pytest.mark.parametrize(
    "fact", [pytest.param(fact, id=name) for name, fact in FACTS.items() if name not in NOT_PLAYED]
)
def test_a_rejected_pod_is_explained_and_helped(cluster: Cluster, fact: Fact) -> None:
    api = cluster.api
    cluster.clear()
    for item in fact.objects:
        create(api, item)
    time.sleep(_HEARD_SECONDS)
    create(api, fact.pod)
    said = wait_until(lambda: condition(api, fact.pod) or None, "kube-scheduler to judge the pod")
    assert said["status"] == "False"
    document = explained(cluster)
    if said["reason"] == "Unschedulable":
        assert document["status"]["message"] == said["message"]
    fact.check(document)
    advice = document["advice"]
    if fact.code == "SchedulingGated":
        # Nothing else keeps it waiting; it is bound once its gates are removed.
        assert document["otherwise"]["selected"] == "n1"
        api.call("PATCH", path_to(api, fact.pod), {"spec": {"schedulingGates": None}}, _MERGE)
    else:
        assert (advice is None, document["nothingHelps"]) == (fact.hopeless, fact.hopeless), advice
        if fact.hopeless:
            return
        carry_out(api, fact.pod, advice["changes"])
    wait_until(
        lambda: placed(api, fact.pod),
        f"the pod to be bound after: {advice}",
        seconds=_BINDS_SECONDS,
    )


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=name) for name, case in PREEMPTION.items() if name not in NOT_PLAYED],
)
def test_preemption_is_explained_and_carried_out(cluster: Cluster, case: Waiting) -> None:
    api = cluster.api
    cluster.clear()
    for item in case.objects:
        create(api, item)
    time.sleep(_HEARD_SECONDS)
    if not case.cleared:
        create(api, case.pod)
        said = wait_until(lambda: condition(api, case.pod) or None, "kube-scheduler to judge the pod")
        document = explained(cluster)
        assert document["status"]["message"] == said["message"]
        case.check(document)
        assert document["advice"]["text"] == case.advice
        carry_out(api, case.pod, document["advice"]["changes"])
    else:
        # A gate keeps kube-scheduler from clearing the node before mooring explains it.
        create(api, {**case.pod, "spec": {**case.pod["spec"], "schedulingGates": [{"name": "hold"}]}})
        case.check(explained(cluster))
        api.call("PATCH", path_to(api, case.pod), {"spec": {"schedulingGates": None}}, _MERGE)
        wait_until(lambda: nominated(api, case.pod) == case.cleared, f"{case.cleared} to be cleared")
        under_way = explained(cluster)["preemptionFindings"]
        assert [(one["code"], one["subject"]) for one in under_way] == [("PreemptionUnderWay", case.cleared)]
        pods = items_of(api, "v1/pods")
        gone = [pod for pod in pods if "deletionTimestamp" in pod["metadata"]]
        assert [f"default/{pod['metadata']['name']}" for pod in gone] == case.victims
        for pod in gone:
            delete(api, pod)
    wait_until(lambda: placed(api, case.pod), "the pod to be bound", seconds=_BINDS_SECONDS)
    assert not case.cleared or placed(api, case.pod) == case.cleared


@pytest.mark.parametrize("case", GROUPS.values(), ids=GROUPS.keys())
def test_a_waiting_group_is_explained_and_helped(cluster: Cluster, case: Waiting) -> None:
    api = cluster.api
    cluster.clear()
    for item in (*case.objects, case.pod):
        create(api, item)
    time.sleep(_TRIED_SECONDS)
    names = [pod["metadata"]["name"] for pod in items_of(api, "v1/pods") if is_waiting(pod)]
    assert len(names) == sum(is_waiting(item) for item in (*case.objects, case.pod))
    document = explained(cluster)
    case.check(document)
    advice = document["advice"]
    assert (advice["text"] if advice else "", document["nothingHelps"]) == (case.advice, not case.advice)
    for item in case.then:
        if item["kind"] == "Pod" and item["metadata"]["name"] in names:
            api.call("PATCH", path_to(api, item), {"spec": {"schedulingGates": None}}, _MERGE)
        else:
            delete(api, item)
            create(api, item)
    changes = advice["changes"] if advice else ()
    for item in filter(is_waiting, (*case.objects, case.pod) if advice else ()):
        carry_out(api, item, changes)
        changes = [step for step in changes if step["kind"] != "node"]
    for item in items_of(api, "v1/pods"):
        wait_until(partial(placed, api, item), "the group to be bound", seconds=_BINDS_SECONDS)


def is_waiting(item: Manifest) -> bool:
    """Return whether it is a pod without a node."""
    return item["kind"] == "Pod" and not item["spec"].get("nodeName")


def nominated(api: Api, pod: Manifest) -> str:
    """Return the node that is cleared for a pod; "" without one."""
    name: str = api.call("GET", path_to(api, pod))["status"].get("nominatedNodeName", "")
    return name


def explained(cluster: Cluster) -> Any:
    """Return the output of `mooring explain` about the pod in the cluster."""
    kubeconfig: Path = cluster.kubeconfig("admin")
    answer = ask("explain", "p", "--kubeconfig", kubeconfig, "-o", "json", "--feature-gates", GATES)
    assert answer.out, answer.complaints
    return answer.document
