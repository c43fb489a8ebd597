"""A real cluster that plays one set of manifests after the other, each in a state of its own.

kube-scheduler runs all the time. Before a set it is held (``arbiter``), so that its queue has all pods, in
the order of their creation, before the first of them is tried.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from tests.laboratories.doors.arbiter import HELD_RESOURCE, WEIGHTS, Arbiter
from tests.laboratories.doors.files import Posted
from tests.laboratories.e2e.api import ApiError, KeptApi, Manifest
from tests.laboratories.e2e.applying import path_of, path_to
from tests.laboratories.e2e.control_plane import page
from tests.laboratories.e2e.guarded import GuardedControlPlane
from tests.laboratories.e2e.kubelets import start_kwok
from tests.laboratories.e2e.objects import container, node, pod
from tests.laboratories.e2e.workloads import NAMESPACES, new_object
from tests.process import free_port, until, wait_until

OBJECT = "doors.example/object"
"""The annotation by which pods are known that came of the same object, whatever they are called."""

POOL = ("default", *NAMESPACES[:2])
"""The namespaces, which stay."""

_STAGES = ("node/fast/node-initialize", "pod/fast/pod-ready", "pod/fast/pod-delete")
_WORKLOADS = (
    "apps/v1/deployments",
    "apps/v1/replicasets",
    "apps/v1/statefulsets",
    "apps/v1/daemonsets",
    "batch/v1/jobs",
    "batch/v1/cronjobs",
    "v1/replicationcontrollers",
)
_NAMESPACED = (
    *_WORKLOADS,
    "v1/pods",
    "v1/services",
    "v1/persistentvolumeclaims",
    "v1/limitranges",
    "policy/v1/poddisruptionbudgets",
    "resource.k8s.io/v1/resourceclaims",
    "resource.k8s.io/v1/resourceclaimtemplates",
)
_OF_THE_CLUSTER = (
    "v1/nodes",
    "v1/persistentvolumes",
    "storage.k8s.io/v1/storageclasses",
    "storage.k8s.io/v1/csinodes",
    "node.k8s.io/v1/runtimeclasses",
    "scheduling.k8s.io/v1/priorityclasses",
    "resource.k8s.io/v1/deviceclasses",
    "resource.k8s.io/v1/resourceslices",
)
_SYSTEM = "system-"
"""How the names of priority classes begin that the API server makes."""

_NOW = "?gracePeriodSeconds=0&propagationPolicy=Background"
_MERGE = "application/merge-patch+json"
_SETTLE_SECONDS = 0.3
_HEARD_SECONDS = 0.1
"""How long admission and controllers take to see a new object."""
_ARRIVED = re.compile(r'"Add event for unscheduled pod" pod="([^"]+)"')
_TRIED = re.compile(
    r'"Attempting to schedule pod" pod="(?P<tried>[^"]+)"'
    r'|"Unable to schedule pod; no fit; waiting" pod="(?P<failed>[^"]+)" err=(?P<why>"(?:[^"\\]|\\.)*")'
    r'|"Successfully bound pod to node" pod="(?P<bound>[^"]+)" node="(?P<node>[^"]+)"'
)
"""The line about a new pod in kube-scheduler's log."""


@dataclass(frozen=True)
class Attempt:
    """kube-scheduler's result for one pod at one moment.

    Attributes:
        pod: NAMESPACE/NAME.
        node: The node that it was bound to; "" = none.
        message: Why not.
    """

    pod: str
    node: str = ""
    message: str = ""


class DoorsCluster(GuardedControlPlane):
    """etcd, kube-apiserver, the controllers that make and judge objects, kwok, and kube-scheduler."""

    disabled_admission = "ServiceAccount,TaintNodesByCondition,StorageObjectInUseProtection"
    apiserver_flags = ()
    controllers = (
        "cronjob-controller",
        "daemonset-controller",
        "deployment-controller",
        "disruption-controller",
        "ephemeral-volume-controller",
        "job-controller",
        "persistentvolume-binder-controller",
        "replicaset-controller",
        "replicationcontroller-controller",
        "resourceclaim-controller",
        "serviceaccount-controller",
        "statefulset-controller",
    )

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.arbiter = Arbiter()
        self._telemetry = free_port()
        self._said = 0
        self._seen: Sequence[tuple[str, str, str]] = ()

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self.api = KeptApi(self.address, self._ca_file, self._tokens["admin"])
            self._running.append(start_kwok(self.kubeconfig("admin"), self.directory, _STAGES))
            profile = {
                "schedulerName": "default-scheduler",
                "plugins": {"multiPoint": {"enabled": WEIGHTS}},
            }
            config = {
                "profiles": [profile],
                "extenders": self.arbiter.configuration,
                "podInitialBackoffSeconds": 1,
                "podMaxBackoffSeconds": 1,
            }
            self._running.append(self.scheduler(config, port=self._telemetry))
            for name in POOL[1:]:
                self.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End what was started, the last first."""
        self.arbiter.released.set()
        super().stop()
        self.arbiter.stop()

    def hold(self) -> None:
        """Empties the cluster, and holds kube-scheduler."""
        self.arbiter.released.set()
        self.clear()
        self.api.create(node("hold"))
        self._hold()
        self.api.call("DELETE", f"/api/v1/nodes/hold{_NOW}")
        self._said = self.process("kube-scheduler").log.stat().st_size

    def _hold(self) -> None:
        """Hold kube-scheduler, which has a node for the pod that does that."""
        arbiter = self.arbiter
        arbiter.held.clear()
        arbiter.released.clear()
        arbiter.preferred = {}
        held = pod("hold", containers=[_HOLDING], tolerations=[{"operator": "Exists"}])
        self.api.create(held)
        if not arbiter.held.wait(30):
            raise TimeoutError("kube-scheduler does not ask about the pod that holds it")
        self.api.call("DELETE", f"{path_to(self.api, held)}{_NOW}")

    def make(self, posted: Sequence[Posted]) -> None:
        """Create the objects: first those by which others are judged, then pods and workloads, one by one.

        A workload has its pods before the next one comes.

        Raises ApiError when one is rejected.
        """
        for kinds in (_CLASSES, _OTHERS, _LATE):
            for one in posted:
                if _turn_of(one.manifest["kind"]) is kinds:
                    self._make(one)
            time.sleep(_HEARD_SECONDS)
        until(lambda: all(map(self._has_what_it_names, self.pods())), "the claims of pods")
        for one in posted:
            self._report(one.manifest)

    def run(self, preferred: Mapping[str, str]) -> list[Attempt]:
        """Let kube-scheduler continue, and return its attempts until nothing moves.

        Args:
            preferred: By pod the node that is to win among equals.
        """
        self.arbiter.preferred = preferred
        self.arbiter.released.set()
        self._wait_rest()
        return self._attempts()

    def _attempts(self) -> list[Attempt]:
        """Return the result of each attempt so far, in order: bindings are written while other pods are
        tried.
        """
        found: list[Attempt] = []
        open_: dict[str, int] = {}
        for line in _TRIED.finditer(self._log()):
            if line["tried"]:
                open_[line["tried"]] = len(found)
                found.append(Attempt(line["tried"]))
            elif line["failed"] in open_:
                found[open_[line["failed"]]] = Attempt(line["failed"], message=json.loads(line["why"]))
            elif line["bound"]:
                found[open_[line["bound"]]] = Attempt(line["bound"], line["node"])
        return [one for one in found if one.node or one.message]

    def fill(self, template: Manifest, count: int) -> int:
        """Have a ReplicaSet with a number of pods; return how many of them have a node."""
        labels = template["metadata"]["labels"]
        spec = {"replicas": count, "selector": {"matchLabels": labels}, "template": template}
        item = new_object("apps/v1", "ReplicaSet", "more", POOL[0], spec=spec)
        there = any(key_of(one) == key_of(item) for one in self._items("apps/v1/replicasets"))
        if there:
            self._wait_pods(
                self.api.call("PATCH", path_to(self.api, item), {"spec": {"replicas": count}}, _MERGE)
            )
        else:
            self._wait_pods(self.api.call("POST", path_of(self.api, item), item))
        self._wait_rest()
        # Pods get their nodes' topology as labels besides.
        made = [item for item in self.pods() if labels.items() <= item["metadata"].get("labels", {}).items()]
        return sum("nodeName" in item["spec"] for item in made)

    def place(self, item: Manifest) -> str:
        """Create a pod, and return the node that it gets; "" = none."""
        path = path_to(self.api, self.api.call("POST", path_of(self.api, item), item))
        self._wait_rest()
        return str(self.api.call("GET", path)["spec"].get("nodeName", ""))

    def waiting(self) -> list[str]:
        """Return the pods that have no node."""
        return [key_of(item) for item in self.pods() if "nodeName" not in item["spec"]]

    def remove_waiting(self) -> None:
        """Remove all pods without a node, with their workloads."""
        while objects := {_object_of(item) for item in self.pods() if "nodeName" not in item["spec"]} - {""}:
            for item in [one for path in (*_WORKLOADS, "v1/pods") for one in self._items(path)]:
                if _object_of(item.get("spec", {}).get("template", item)) in objects:
                    self._remove(item)
        self._wait_rest()

    def nodes(self) -> list[Manifest]:
        """Return all nodes."""
        return self.api.items("/api/v1/nodes")

    def add_node(self, item: Manifest) -> None:
        """Create a node, which has its DaemonSets' pods before others may come."""
        item["spec"]["unschedulable"] = True
        self.api.create(item)
        self._wait_rest()
        self.api.call("PATCH", path_to(self.api, item), {"spec": {"unschedulable": None}}, _MERGE)
        self._wait_rest()

    def label_node(self, name: str, labels: Mapping[str, str | None]) -> None:
        """Set labels of a node; one that is None is removed."""
        self.api.call("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"labels": labels}}, _MERGE)
        time.sleep(_HEARD_SECONDS)

    def delete_node(self, name: str) -> None:
        """Delete a node that has been drained."""
        self.api.call("DELETE", f"/api/v1/nodes/{name}{_NOW}")
        self._wait_rest()

    def drain(self, name: str, pods: Mapping[str, str]) -> dict[str, str]:
        """Cordons a node and evicts pods from it, in their order; returns by pod the one that replaces it.

        The node has no room for pods that tolerate the cordon, either.

        Args:
            name: The node.
            pods: For each pod the node that is to win among equals.
        """
        self._hold()
        path = f"/api/v1/nodes/{name}"
        self.api.call("PATCH", path, {"spec": {"unschedulable": True}}, _MERGE)
        self.api.call("PATCH", f"{path}/status", {"status": {"allocatable": {"pods": "0"}}}, _MERGE)
        time.sleep(_HEARD_SECONDS)
        successors: dict[str, str] = {}
        for key in pods:
            known = {item["metadata"]["uid"] for item in self.pods()}
            namespace, _, own = key.partition("/")
            eviction = new_object(
                "policy/v1", "Eviction", own, namespace, deleteOptions={"gracePeriodSeconds": 0}
            )
            self.api.call("POST", f"/api/v1/namespaces/{namespace}/pods/{own}/eviction", eviction)
            successors[key] = wait_until(partial(self._newcomer, known), f"a pod in place of {key}")
        self.run({successors[key]: node for key, node in pods.items()})
        return successors

    def _newcomer(self, known: set[str]) -> str | None:
        """Return the pod that isn't known, once it has all that it names."""
        new = [item for item in self.pods() if item["metadata"]["uid"] not in known]
        return key_of(new[0]) if new and self._has_what_it_names(new[0]) else None

    def arrived(self) -> list[Manifest]:
        """Return all pods, those without a node in the order in which kube-scheduler heard of them."""
        pods = {key_of(item): item for item in self.pods()}
        waiting = {key for key, item in pods.items() if _is_schedulable(item)}

        def heard() -> list[str] | None:
            found = _ARRIVED.findall(self._log())
            return found if waiting <= {*found} else None

        order = {key: at for at, key in enumerate(wait_until(heard, "kube-scheduler to hear of all pods"))}
        # Its other watches are as fast as that of the pods.
        time.sleep(_SETTLE_SECONDS)
        return sorted(pods.values(), key=lambda item: order.get(key_of(item), -1))

    def pods(self) -> list[Manifest]:
        """Return all pods."""
        return self.api.items("/api/v1/pods")

    def _log(self) -> str:
        """Return kube-scheduler's log since it was held."""
        with self.process("kube-scheduler").log.open("rb") as log:
            log.seek(self._said)
            return log.read().decode(errors="replace")

    def dump(self) -> list[Manifest]:
        """Return every object of the set, as the API server has it."""
        return [item for path in (*_OF_THE_CLUSTER, *_NAMESPACED) for item in self._items(path)] + [
            item for item in self.api.items("/api/v1/namespaces") if item["metadata"]["name"] in POOL
        ]

    def clear(self) -> None:
        """Remove everything, workloads first, and give the namespaces their earlier labels."""
        for name in POOL:
            there = self.api.call("GET", f"/api/v1/namespaces/{name}")
            if len(there["metadata"]["labels"]) > 1:
                there["metadata"]["labels"] = {}
                self.api.call("PUT", f"/api/v1/namespaces/{name}", there)
        wait_until(self._is_empty, "the cluster to be empty", pause=0.1)

    def _is_empty(self) -> bool:
        """Remove what there is; return whether there was nothing."""
        found = [item for path in (*_NAMESPACED, *_OF_THE_CLUSTER) for item in self._items(path)]
        for item in found:
            self._remove(item)
        return not found

    def _remove(self, item: Manifest) -> None:
        """Delete an object, whatever its finalizers wait for."""
        path = path_to(self.api, item)
        if item["metadata"].get("finalizers"):
            self.api.call("PATCH", path, {"metadata": {"finalizers": None}}, _MERGE)
        self._gone(f"{path}{_NOW}")

    def _gone(self, path: str) -> None:
        try:
            self.api.call("DELETE", path)
        except ApiError as error:
            if error.status != 404:
                raise

    def _items(self, path: str) -> list[Manifest]:
        root = f"/apis/{path}" if path.count("/") == 2 else f"/api/{path}"
        return [
            item
            for item in self.api.items(root)
            if not item["metadata"]["name"].startswith(_SYSTEM) and item["metadata"]["name"] != "kubernetes"
        ]

    def _make(self, posted: Posted) -> None:
        item = posted.manifest
        if item["kind"] == "Namespace":
            there = self.api.call("GET", path_to(self.api, item))
            there["metadata"]["labels"] |= item["metadata"].get("labels", {})
            self.api.call("PUT", path_to(self.api, item), there)
            return
        path = path_of(self.api, item)
        if item["kind"] == "StatefulSet":
            stored = self._make_in_order(path, posted)
        else:
            stored = self.api.call("POST", path, posted.text, posted.form)
        self._report(stored | {"status": item.get("status", {})})
        self._wait_pods(stored)

    def _report(self, item: Manifest) -> None:
        """Write the status that a pod was given; kwok may write its own start time before it sees it."""
        if item["kind"] == "Pod" and item.get("status"):
            status = {"status": item["status"]}
            self.api.call("PATCH", f"{path_to(self.api, item)}/status", status, _MERGE)

    def _make_in_order(self, path: str, posted: Posted) -> Manifest:
        """Make a StatefulSet of one pod larger and larger: several pods at a time come in any order."""
        item = self.api.call("POST", f"{path}?dryRun=All", posted.text, posted.form)
        for name in ("uid", "creationTimestamp", "resourceVersion", "managedFields"):
            item["metadata"].pop(name, None)
        wanted = item["spec"]["replicas"]
        item["spec"]["replicas"] = min(wanted, 1)
        stored = self.api.call("POST", path, item)
        for count in range(2, wanted + 1):
            self._wait_pods(stored)
            larger = {"spec": {"replicas": count}}
            stored = self.api.call("PATCH", path_to(self.api, item), larger, _MERGE)
        return stored

    def _wait_pods(self, item: Manifest) -> None:
        if item["kind"] in _MAKERS:
            path = path_to(self.api, item)
            wait_until(
                lambda: _has_its_pods(self.api.call("GET", path)), f"{path} to have its pods", 15, pause=0.01
            )

    def _has_what_it_names(self, item: Manifest) -> bool:
        """Return whether a pod has the claims that are made for it."""
        namespace, name = item["metadata"]["namespace"], item["metadata"]["name"]
        spec = item["spec"]
        claims = {one["name"] for one in spec.get("resourceClaims", ()) if "resourceClaimTemplateName" in one}
        volumes = [one["name"] for one in spec.get("volumes", ()) if "ephemeral" in one]
        if not claims and not volumes:
            return True
        found = self.api.call("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")
        there = self.api.items(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims")
        names = {one["metadata"]["name"] for one in there}
        made = {one["name"] for one in found["status"].get("resourceClaimStatuses", ())}
        return claims <= made and {f"{name}-{volume}" for volume in volumes} <= names

    def _wait_rest(self) -> None:
        self._seen = ()
        wait_until(self._is_at_rest, "kube-scheduler to be done", pause=_SETTLE_SECONDS)

    def _in_hand(self) -> int:
        """Return how many pods kube-scheduler will try soon, or is binding: a static volume takes it a
        second.
        """
        text = page(f"https://127.0.0.1:{self._telemetry}/metrics")
        return sum(map(int, _IN_HAND.findall(text)))

    def _is_at_rest(self) -> bool:
        """Return whether each pod has its verdict, and nothing has changed since the last look."""
        in_hand = self._in_hand()
        pods = self.pods()
        seen, self._seen = self._seen, [_state(item) for item in pods]
        judged = all(not _is_schedulable(item) or condition_of(item) for item in pods)
        going = any("deletionTimestamp" in item["metadata"] for item in pods)
        return judged and not going and not in_hand and seen == self._seen


_IN_HAND = re.compile(
    r'^scheduler_(?:pending_pods\{queue="(?:active|backoff)"|goroutines\{operation="binding")\} (\d+)$',
    re.MULTILINE,
)
_HOLD = "default/hold"
_HOLDING = container(**{HELD_RESOURCE: "1"})
_HOLDING["resources"]["limits"] = _HOLDING["resources"]["requests"]
_MAKERS = (
    "DaemonSet",
    "Deployment",
    "Job",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
)
_CLASSES = (
    "DeviceClass",
    "LimitRange",
    "Namespace",
    "PersistentVolume",
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
)
"""Kinds that are created first: admission reads them, and a volume that claims find is bound without
a wait.
"""

_LATE = (*_MAKERS, "CronJob", "Pod")
"""Kinds that are created last, after the objects that affect them."""

_OTHERS = ()


def _turn_of(kind: str) -> tuple[str, ...]:
    """Return which of the three turns has objects of this kind."""
    return next((kinds for kinds in (_CLASSES, _LATE) if kind in kinds), _OTHERS)


def condition_of(item: Manifest) -> Manifest:
    """Return the pod's condition PodScheduled; empty without one."""
    conditions = item["status"].get("conditions", [])
    return next((one for one in conditions if one["type"] == "PodScheduled"), {})


def _object_of(item: Manifest) -> str:
    """Return the object from which a pod or a template was made."""
    return str(item["metadata"].get("annotations", {}).get(OBJECT, ""))


def key_of(item: Manifest) -> str:
    """NAMESPACE/NAME."""
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"


def _is_schedulable(item: Manifest) -> bool:
    """Return whether kube-scheduler has to try the pod."""
    spec = item["spec"]
    return (
        "nodeName" not in spec
        and not spec.get("schedulingGates")
        and spec["schedulerName"] == "default-scheduler"
    )


def _state(item: Manifest) -> tuple[str, str, str]:
    return key_of(item), item["spec"].get("nodeName", ""), condition_of(item).get("message", "")


def _has_its_pods(item: Manifest) -> bool:
    """Return whether a workload's controller has made what it makes at first."""
    spec, status = item["spec"], item.get("status", {})
    if item["kind"] == "Job":
        wanted = min(spec["parallelism"], spec.get("completions", spec["parallelism"]))
        return bool(status.get("active", 0) == (0 if spec.get("suspend") else wanted))
    if status.get("observedGeneration", 0) < item["metadata"]["generation"]:
        return False
    if item["kind"] == "DaemonSet":
        return bool(status["currentNumberScheduled"] == status["desiredNumberScheduled"])
    return bool(status.get("replicas", 0) == spec["replicas"])
