"""Pods that fit no node, and the facts in the explanation of each: code, subject, words and holders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mooring.testing.builders import node_manifest, pod_manifest
from tests.plugins import storage
from tests.plugins.storage import claim as volume_claim
from tests.plugins.storage import csi_driver, csi_node, placed_pod, storage_class, using, volume

Manifest = dict[str, Any]
HOST = "kubernetes.io/hostname"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
ZONE = "topology.kubernetes.io/zone"
TAINT = {"key": "maintenance", "effect": "NoSchedule"}
SLA = {"key": "example.com/sla", "value": "900", "effect": "NoSchedule"}
COMPARING = {"TaintTolerationComparisonOperators": True}


def node(name: str = "n1", **fields: Any) -> Manifest:
    return node_manifest(name, **{"labels": {HOST: name}, **fields})


def with_limits(amounts: Mapping[str, str], name: str = "p", node: str = "") -> Manifest:
    """Return a pod that requests resources which allow no overcommitment, so its limits equal
    its requests.
    """
    pod = pod_manifest(name, requests=amounts, node=node)
    pod["spec"]["containers"][0]["resources"]["limits"] = dict(amounts)
    return pod


def tolerating(**toleration: str) -> Manifest:
    return pod_manifest("p", spec={"tolerations": [{"key": "example.com/sla", **toleration}]})


def with_port(name: str, node: str = "", port: int = 80, **fields: Any) -> Manifest:
    pod = pod_manifest(name, node=node) if node else pod_manifest(name)
    pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": port, **fields}]
    return pod


def required(*expressions: tuple[str, str, Sequence[str]]) -> Manifest:
    conditions = [
        {"key": key, "operator": operator, "values": [*values]} for key, operator, values in expressions
    ]
    terms = {"nodeSelectorTerms": [{"matchExpressions": conditions}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return pod_manifest("p", spec={"affinity": affinity})


def either(*expressions: tuple[str, str, Sequence[str]]) -> Manifest:
    terms = [
        {"matchExpressions": [{"key": key, "operator": op, "values": [*some]}]}
        for key, op, some in expressions
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return pod_manifest("p", spec={"affinity": {"nodeAffinity": required}})


def named(*names: str) -> Manifest:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]
    terms = {"nodeSelectorTerms": [{"matchFields": fields}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return pod_manifest("p", spec={"affinity": affinity})


def near(*labels: Mapping[str, str], kind: str = "podAffinity", key: str = HOST, **own: str) -> Manifest:
    terms = [{"topologyKey": key, "labelSelector": {"matchLabels": dict(each)}} for each in labels]
    affinity = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return pod_manifest("p", labels=own, spec={"affinity": affinity})


def spread(key: str = HOST, skew: int = 1, **fields: Any) -> Manifest:
    selector = {"matchLabels": {"app": "web"}}
    constraint = {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
    }
    return pod_manifest("p", labels={"app": "web"}, spec={"topologySpreadConstraints": [constraint | fields]})


def two_spreads(*keys: str) -> Manifest:
    pod = spread(keys[0], skew=2)
    pod["spec"]["topologySpreadConstraints"] += spread(keys[1])["spec"]["topologySpreadConstraints"]
    return pod


def near_of(namespace: str) -> Manifest:
    pod = near({"app": "web"})
    [term] = pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    term["namespaces"] = [namespace]
    return pod


def with_ports(name: str, *ports: int) -> Manifest:
    pod = pod_manifest(name)
    pod["spec"]["containers"][0]["ports"] = [{"containerPort": each, "hostPort": each} for each in ports]
    return pod


def web(name: str, node: str) -> Manifest:
    return pod_manifest(name, node=node, labels={"app": "web"})


GROWS = pod_manifest(
    "grows",
    node="n1",
    requests={"cpu": "3800m"},
    status={
        "phase": "Running",
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}],
        "containerStatuses": [
            {"name": "main", "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}}
        ],
    },
)
INIT = {"name": "init", "image": "i", "resources": {"requests": {"cpu": "3"}}}
STARTED = pod_manifest(
    "started", node="n1", requests={"cpu": "1"}, spec={"initContainers": [INIT]}, status={"phase": "Running"}
)
CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {},
}
HALVES = [{"counterSet": "set", "counters": {"slices": {"value": "2"}}}]
COUNTERS = {"sharedCounters": [{"name": "set", "counters": {"slices": {"value": "3"}}}]}


def claim(name: str, expression: str = "", holds: str = "", pool: str = "n1", **exactly: Any) -> Manifest:
    exactly = {"deviceClassName": "gpu", **exactly}
    if expression:
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    made: Manifest = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
    }
    if holds:
        result = {"request": "r", "driver": "gpu.example.com", "pool": pool, "device": holds}
        there = [{"key": "metadata.name", "operator": "In", "values": [pool]}]
        selector = {"nodeSelectorTerms": [{"matchFields": there}]}
        made["status"] = {"allocation": {"devices": {"results": [result]}, "nodeSelector": selector}}
    return made


def shared(claim: Manifest, pod: str) -> Manifest:
    """Return the claim, as a pod uses it; kube-scheduler takes the devices of one that no pod uses."""
    users = [{"resource": "pods", "name": pod, "uid": f"uid-{pod}"}]
    return {**claim, "status": {**claim["status"], "reservedFor": users}}


def devices(*several: Manifest, name: str = "n1-gpus", slices: int = 1, **spec: Any) -> list[Manifest]:
    """Return the class gpu, and a slice of the node n1 with these devices."""
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": slices}
    fields = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, **spec}
    listed = {"devices": list(several)} if several else {}
    made = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {**fields, **listed},
    }
    return [CLASS, made]


def claiming(name: str) -> Manifest:
    return pod_manifest("p", spec={"resourceClaims": [{"name": "d", "resourceClaimName": name}]})


CORDON = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
RULES = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}]
RESTARTING = pod_manifest(
    "p",
    spec={
        "containers": [{"name": "main", "image": "i", "restartPolicy": "Never", "restartPolicyRules": RULES}]
    },
)
ASKING = {"containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}
FOUR = {"cpu": "4", "memory": "8Gi", "pods": "110"}


LOCAL = storage_class(provisioner=NO_PROVISIONER)
IN_X = node(labels={HOST: "n1", ZONE: "x"})
IN_Y_ALONE = [{"matchLabelExpressions": [{"key": ZONE, "values": ["y"]}]}]
SELECTED = {"annotations": {"volume.kubernetes.io/selected-node": "n2"}}
ONE_POD = ["ReadWriteOncePod"]


def with_volumes(*volumes: str | Mapping[str, Any]) -> Manifest:
    return pod_manifest("p", **using(*volumes))


def disk(kind: str, **fields: Any) -> Manifest:
    return {kind: fields}


def bound(name: str = "c", **fields: Any) -> list[Manifest]:
    return [volume_claim(name, volume=f"pv-{name}"), volume(f"pv-{name}", **fields)]


def attached(name: str, volume_name: str, node: str = "n1") -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": name},
        "spec": {
            "attacher": storage.DRIVER,
            "nodeName": node,
            "source": {"persistentVolumeName": volume_name},
        },
        "status": {"attached": True},
    }


def room(size: str) -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "room", "namespace": "default"},
        "storageClassName": "wait",
        "capacity": size,
        "nodeTopology": {},
    }


def zoned(value: str, key: str = ZONE) -> Manifest:
    return {"metadata": {"labels": {key: value}}}


_ROWS: dict[str, tuple[list[Manifest], Manifest, tuple[str, str, str, list[str]]]] = {
    "fit, too little free": (
        [node(allocatable=FOUR), pod_manifest("a", node="n1", requests={"cpu": "3500m"})],
        pod_manifest("p", requests={"cpu": "1"}),
        ("InsufficientResource", "cpu", "needs 1 cpu; 0.5 of 4 free", ["default/a"]),
    ),
    "fit, the node is too small": (
        [node(allocatable=FOUR)],
        pod_manifest("p", requests={"memory": "9Gi"}),
        ("NodeTooSmall", "memory", "needs 9Gi memory, but the whole node has 8Gi", []),
    ),
    "fit, not offered": (
        [node(allocatable=FOUR)],
        with_limits({"example.com/gpu": "1"}),
        ("ResourceNotOffered", "example.com/gpu", "which the node does not offer", []),
    ),
    "fit, too many pods": (
        [node(allocatable={**FOUR, "pods": "1"}), pod_manifest("a", node="n1")],
        pod_manifest("p"),
        ("TooManyPods", "pods", "the node has 1 pod, and its limit is 1", ["default/a"]),
    ),
    "fit, a deferred resize": (
        [node(allocatable=FOUR), GROWS],
        pod_manifest("p", requests={"cpu": "500m"}),
        (
            "InsufficientResource",
            "cpu",
            "counts as 3.8 because its resize is deferred; it has 1",
            ["default/grows"],
        ),
    ),
    "fit, an init container that has ended": (
        [node(allocatable=FOUR), STARTED],
        pod_manifest("p", requests={"cpu": "2"}),
        (
            "InsufficientResource",
            "cpu",
            "counts as 3 because of an init container that has ended; the others request 1",
            ["default/started"],
        ),
    ),
    "taint, none tolerated": (
        [node(taints=[TAINT])],
        pod_manifest("p"),
        ("TaintNotTolerated", "maintenance:NoSchedule", "taint maintenance:NoSchedule is not tolerated", []),
    ),
    "taint, another value": (
        [node(taints=[SLA])],
        tolerating(value="800"),
        ("TaintNotTolerated", "example.com/sla=900:NoSchedule", 'the toleration is for the value "800"', []),
    ),
    "taint, another effect": (
        [node(taints=[SLA])],
        tolerating(operator="Exists", effect="NoExecute"),
        ("TaintNotTolerated", "example.com/sla=900:NoSchedule", "the toleration is for NoExecute", []),
    ),
    "taint, Gt without its gate": (
        [node(taints=[SLA])],
        tolerating(operator="Gt", value="800", effect="NoSchedule"),
        (
            "TaintNotTolerated",
            "example.com/sla=900:NoSchedule",
            "operator Gt has no effect while the feature gate",
            [],
        ),
    ),
    "taint, Gt of an equal value": (
        [node(taints=[SLA])],
        tolerating(operator="Gt", value="900", effect="NoSchedule"),
        ("TaintNotTolerated", "example.com/sla=900:NoSchedule", "900 is not greater than 900", []),
    ),
    "taint, Gt of a word": (
        [node(taints=[{**SLA, "value": "high"}])],
        tolerating(operator="Gt", value="900", effect="NoSchedule"),
        (
            "TaintNotTolerated",
            "example.com/sla=high:NoSchedule",
            'the value "high" of the taint is not an integer',
            [],
        ),
    ),
    "selector, another value": (
        [node(labels={"disk": "hdd"})],
        pod_manifest("p", spec={"nodeSelector": {"disk": "ssd"}}),
        (
            "NodeSelectorMismatch",
            "disk=ssd",
            "the node selector asks for disk=ssd, but the node has disk=hdd",
            [],
        ),
    ),
    "selector, no label": (
        [node()],
        pod_manifest("p", spec={"nodeSelector": {"disk": "ssd"}}),
        ("NodeSelectorMismatch", "disk=ssd", "the node lacks the label disk", []),
    ),
    "affinity, In": (
        [node(labels={"disk": "hdd"})],
        required(("disk", "In", ["ssd", "nvme"])),
        ("NodeAffinityMismatch", "disk In [ssd, nvme]", "the node has disk=hdd", []),
    ),
    "affinity, the condition that fails alone": (
        [node(labels={"disk": "hdd", "size": "9"})],
        required(("disk", "In", ["hdd"]), ("size", "Gt", ["9"])),
        ("NodeAffinityMismatch", "size Gt 9", "asks for size above 9, but the node has size=9", []),
    ),
    "affinity, Exists": (
        [node()],
        required(("disk", "Exists", [])),
        ("NodeAffinityMismatch", "disk Exists", "the node lacks the label disk", []),
    ),
    "affinity, a name": (
        [node()],
        named("n2"),
        ("NodeAffinityMismatch", "metadata.name=n2", "asks for the node n2, but this is n1", []),
    ),
    "affinity, two names at once": (
        [node()],
        named("n1", "n2"),
        ("NodeAffinityConflict", "metadata.name=n1 and metadata.name=n2", "no node can meet", []),
    ),
    "cordon": (
        [node(spec={"unschedulable": True})],
        pod_manifest("p"),
        ("NodeCordoned", "n1", "the node is cordoned", []),
    ),
    "cordon, the toleration is for another effect": (
        [node(spec={"unschedulable": True})],
        pod_manifest("p", spec={"tolerations": [{**CORDON, "effect": "NoExecute"}]}),
        ("NodeCordoned", "n1", "the node is cordoned", []),
    ),
    "name, another node": (
        [node(), node("n2", spec={"unschedulable": True})],
        pod_manifest("p", node="n2"),
        ("NodeNameMismatch", "n2", "the pod names the node n2", []),
    ),
    "name, no such node": (
        [node()],
        pod_manifest("p", node="n9"),
        ("NodeNameMismatch", "n9", "the pod names the node n9", []),
    ),
    "feature, restarts of all containers": (
        [node()],
        RESTARTING,
        (
            "FeatureNotDeclared",
            "RestartAllContainersOnContainerExits",
            "which the node does not declare",
            [],
        ),
    ),
    "feature, user namespaces in the host's network": (
        [node()],
        pod_manifest("p", spec={"hostNetwork": True, "hostUsers": False}),
        ("FeatureNotDeclared", "UserNamespacesHostNetworkSupport", "which the node does not declare", []),
    ),
    "feature, one of two": (
        [node(status={"declaredFeatures": ["RestartAllContainersOnContainerExits"]})],
        {**RESTARTING, "spec": {**RESTARTING["spec"], "hostNetwork": True, "hostUsers": False}},
        ("FeatureNotDeclared", "UserNamespacesHostNetworkSupport", "which the node does not declare", []),
    ),
    "port, the holder has one address": (
        [node(), with_port("a", "n1", hostIP="10.0.0.1")],
        with_port("p"),
        ("PortTaken", "80/TCP", "taken by default/a (10.0.0.1:80/TCP)", ["default/a"]),
    ),
    "port, of two pods": (
        [node(), with_port("a", "n1", hostIP="10.0.0.1"), with_port("b", "n1", hostIP="10.0.0.2")],
        with_port("p"),
        ("PortTaken", "80/TCP", "host port 80/TCP is taken", ["default/a", "default/b"]),
    ),
    "port, the same protocol alone counts": (
        [node(), with_port("a", "n1", protocol="UDP"), with_port("b", "n1")],
        with_port("p", protocol="UDP"),
        ("PortTaken", "80/UDP", "host port 80/UDP is taken", ["default/a"]),
    ),
    "port, the same": (
        [node(), with_port("a", "n1")],
        with_port("p"),
        ("PortTaken", "80/TCP", "host port 80/TCP is taken", ["default/a"]),
    ),
    "port, an address of all": (
        [node(), with_port("a", "n1")],
        with_port("p", hostIP="10.0.0.1"),
        ("PortTaken", "10.0.0.1:80/TCP", "taken by default/a (80/TCP)", ["default/a"]),
    ),
    "spread, too many here": (
        [node(), node("n2", spec={"unschedulable": True}), web("a", "n1")],
        spread(),
        (
            "SpreadSkew",
            HOST,
            "n1 has 1 matching pod, and n2 (cordoned) has the fewest, 0; it counts because",
            ["default/a", "n2"],
        ),
    ),
    "spread, a tainted domain": (
        [node(), node("n2", taints=[TAINT]), web("a", "n1")],
        spread(),
        (
            "SpreadSkew",
            HOST,
            "n2 (tainted maintenance:NoSchedule) has the fewest, 0; it counts because nodeTaintsPolicy",
            ["default/a", "n2"],
        ),
    ),
    "spread, fewer domains than minDomains": (
        [node(), web("a", "n1")],
        spread(minDomains=2),
        ("SpreadSkew", HOST, "fewer domains than minDomains 2", ["default/a", "n1"]),
    ),
    "spread, no label": (
        [node()],
        spread(ZONE),
        ("SpreadLabelMissing", ZONE, f"the node lacks the label {ZONE}", []),
    ),
    "spread, pods on another node of the zone": (
        [
            node(labels={HOST: "n1", ZONE: "x"}),
            node("n2", labels={HOST: "n2", ZONE: "x"}, spec={"unschedulable": True}),
            node("n3", labels={HOST: "n3", ZONE: "y"}, spec={"unschedulable": True}),
            web("a", "n2"),
        ],
        spread(ZONE),
        ("SpreadSkew", ZONE, "matching pods: default/a on n2", ["default/a", "y"]),
    ),
    "spread, maxSkew 2": (
        [node(), node("n2", spec={"unschedulable": True}), web("a", "n1"), web("b", "n1")],
        spread(skew=2),
        (
            "SpreadSkew",
            HOST,
            "maxSkew 2: n1 has 2 matching pods, and n2 (cordoned) has the fewest, 0",
            ["default/a", "default/b", "n2"],
        ),
    ),
    "spread, taints are honored": (
        [
            node(),
            node("n2", taints=[TAINT]),
            node("n3", allocatable={**FOUR, "cpu": "0"}),
            web("a", "n1"),
        ],
        {**(honoring := spread(nodeTaintsPolicy="Honor")), "spec": {**honoring["spec"], **ASKING}},
        (
            "SpreadSkew",
            HOST,
            "n3 has the fewest, 0; n2 does not count because of node affinity or taints",
            ["default/a", "n3"],
        ),
    ),
    "near, no pod anywhere": (
        [node()],
        near({"app": "db"}),
        ("PodAffinityNoMatch", "app=db", "no pod on any node matches app=db", []),
    ),
    "near, on another node": (
        [node(), node("n2", spec={"unschedulable": True}), web("a", "n2")],
        near({"app": "web"}),
        (
            "PodAffinityNotNear",
            "app=web",
            f"no pod in {HOST}=n1 matches app=web, only others do: default/a on n2",
            ["default/a"],
        ),
    ),
    "near, no pod for all terms": (
        [node(), web("a", "n1"), pod_manifest("b", node="n1", labels={"env": "prod"})],
        near({"app": "web"}, {"env": "prod"}),
        (
            "PodAffinityNoCommonMatch",
            "app=web and env=prod",
            "no single pod matches all 2 terms; default/a matches term 1, default/b matches term 2",
            [],
        ),
    ),
    "near, no label": (
        [node(), web("a", "n1")],
        near({"app": "web"}, key=ZONE),
        ("PodAffinityLabelMissing", "app=web", f"the node lacks the label {ZONE}", []),
    ),
    "apart": (
        [node(), web("a", "n1")],
        near({"app": "web"}, kind="podAntiAffinity"),
        (
            "PodAntiAffinity",
            "app=web",
            f"must not be near pods that match app=web, and {HOST}=n1 has some: default/a",
            ["default/a"],
        ),
    ),
    "apart, as others want": (
        [
            node(),
            {
                **near({"app": "web"}, kind="podAntiAffinity"),
                "metadata": {"name": "a", "namespace": "default"},
            },
        ],
        web("p", ""),
        ("PodAntiAffinityOfOthers", HOST, f"pods in {HOST}=n1 must not be near this pod", ["default/a"]),
    ),
    "devices, in use": (
        [node(), *devices({"name": "gpu-0"}), claim("used", holds="gpu-0"), claim("mine")],
        claiming("mine"),
        ("DevicesTaken", "default/mine/r", "device gpu-0 is in use; taken by default/used", ["default/used"]),
    ),
    "devices, none matches": (
        [node(), *devices({"name": "gpu-0"}), claim("mine", "device.driver == 'other'")],
        claiming("mine"),
        ("DevicesUnmatched", "default/mine/r", "device gpu-0 does not match the selector device.driver", []),
    ),
    "devices, none there": (
        [node(), CLASS, claim("mine")],
        claiming("mine"),
        ("DevicesUnmatched", "default/mine/r", "needs 1 device, but the node has none", []),
    ),
    "a gate": (
        [node()],
        pod_manifest("p", spec={"schedulingGates": [{"name": "example.com/quota"}]}),
        ("SchedulingGated", "example.com/quota", "waiting for scheduling gates", []),
    ),
    "claim, missing": (
        [node()],
        with_volumes("data"),
        ("ClaimNotFound", "data", "claim default/data does not exist", []),
    ),
    "claim, missing, of an ephemeral volume": (
        [node()],
        with_volumes(disk("ephemeral", volumeClaimTemplate={"spec": volume_claim()["spec"]})),
        ("ClaimNotFound", "p-v0", "the controller of ephemeral volumes has not made it yet", []),
    ),
    "claim, a class that binds at once": (
        [node(), volume_claim(), storage_class(mode="Immediate")],
        with_volumes("c"),
        ("ClaimUnbound", "default/c", "claim default/c has no volume; class wait binds at once", []),
    ),
    "claim, a class that binds at once, without a provisioner": (
        [node(), volume_claim(), storage_class(provisioner=NO_PROVISIONER, mode="Immediate")],
        with_volumes("c"),
        ("ClaimUnbound", "default/c", "class wait binds at once and has no provisioner", []),
    ),
    "claim, no class": (
        [node(), volume_claim(storage_class=None)],
        with_volumes("c"),
        ("ClaimUnbound", "default/c", "claim default/c has no volume; it has no class", []),
    ),
    "claim, a class that is not there": (
        [node(), volume_claim(storage_class="fast")],
        with_volumes("c"),
        ("ClaimUnbound", "default/c", "class fast does not exist", []),
    ),
    "claim, bound to a volume that is not there": (
        [node(), volume_claim(volume="gone")],
        with_volumes("c"),
        ("VolumeMissing", "gone", "claim default/c is bound to volume gone, which does not exist", []),
    ),
    "volume, of another node": (
        [IN_X, *bound(zone="y")],
        with_volumes("c"),
        (
            "VolumeNodeAffinity",
            "pv-c",
            f"volume pv-c of claim default/c is for nodes with {ZONE}=y, but the node has {ZONE}=x",
            [],
        ),
    ),
    "volume, the node has no such label": (
        [node(), *bound(zone="y")],
        with_volumes("c"),
        ("VolumeNodeAffinity", "pv-c", f"the node has no label {ZONE}", []),
    ),
    "volumes, none of the class": (
        [node(), volume_claim(), LOCAL],
        with_volumes("c"),
        (
            "VolumeNotAvailable",
            "default/c",
            "asks for 1Gi ReadWriteOnce of class wait: there is no volume of class wait, and class wait has",
            [],
        ),
    ),
    "volumes, too small": (
        [node(), volume_claim(), LOCAL, volume(size="1Mi")],
        with_volumes("c"),
        ("VolumeNotAvailable", "default/c", "volume pv has only 1Mi", []),
    ),
    "volumes, another access mode": (
        [node(), volume_claim(accessModes=["ReadWriteMany"]), LOCAL, volume()],
        with_volumes("c"),
        ("VolumeNotAvailable", "default/c", "volume pv has ReadWriteOnce", []),
    ),
    "volumes, another volume mode": (
        [node(), volume_claim(volumeMode="Block"), LOCAL, volume()],
        with_volumes("c"),
        ("VolumeNotAvailable", "default/c", "volume pv has mode Filesystem", []),
    ),
    "volumes, released": (
        [node(), volume_claim(), LOCAL, volume(phase="Released")],
        with_volumes("c"),
        ("VolumeNotAvailable", "default/c", "volume pv is Released", []),
    ),
    "volumes, outside the selector": (
        [node(), volume_claim(selector={"matchLabels": {"a": "b"}}), LOCAL, volume()],
        with_volumes("c"),
        ("VolumeNotAvailable", "default/c", "volume pv is outside the selector", []),
    ),
    "volumes, each for its own reason": (
        [
            IN_X,
            volume_claim(),
            LOCAL,
            volume("a", zone="y"),
            volume("b", claimRef={"namespace": "default", "name": "other"}),
            volume("c", zone="y"),
        ],
        with_volumes("c"),
        (
            "VolumeNotAvailable",
            "default/c",
            "3 volumes of the class can be used: not reached from the node (2), kept for default/other",
            [],
        ),
    ),
    "volumes, one for two claims": (
        [node(), volume_claim(), volume_claim("d", size="2Gi"), LOCAL, volume(size="2Gi")],
        with_volumes("c", "d"),
        ("VolumeNotAvailable", "default/d", "volume pv goes to another claim of the pod", []),
    ),
    "volumes, made in another zone alone": (
        [IN_X, volume_claim(), storage_class(allowedTopologies=IN_Y_ALONE)],
        with_volumes("c"),
        ("VolumeNotAvailable", "default/c", f"class wait makes volumes only in {ZONE}=y", []),
    ),
    "volumes, being made for another node": (
        [node(), volume_claim(metadata=SELECTED), storage_class()],
        with_volumes("c"),
        ("VolumeNotAvailable", "default/c", "is being made for node n2", []),
    ),
    "storage, too little": (
        [node(), volume_claim(size="2Gi"), storage_class(), csi_driver(storageCapacity=True), room("1Gi")],
        with_volumes("c"),
        (
            "StorageExhausted",
            "wait",
            "but the largest volume that csi.example.com can make for the node has 1Gi",
            [],
        ),
    ),
    "storage, no report": (
        [node(), volume_claim(), storage_class(), csi_driver(storageCapacity=True)],
        with_volumes("c"),
        ("StorageExhausted", "wait", "csi.example.com reports no capacity for the node", []),
    ),
    "zone, another one": (
        [IN_X, *bound(**zoned("y"))],
        with_volumes("c"),
        (
            "VolumeZoneMismatch",
            "pv-c",
            f"volume pv-c of claim default/c is in {ZONE}=y, but the node has {ZONE}=x",
            [],
        ),
    ),
    "zone, one of two": (
        [IN_X, *bound(**zoned("y__z"))],
        with_volumes("c"),
        ("VolumeZoneMismatch", "pv-c", f"is in {ZONE}=y or z, but the node has", []),
    ),
    "zone, a label of old against one of today": (
        [IN_X, *bound(**zoned("y", BETA_ZONE))],
        with_volumes("c"),
        ("VolumeZoneMismatch", "pv-c", f"is in {BETA_ZONE}=y, but the node has {ZONE}=x", []),
    ),
    "zone, the node has a zone and no region": (
        [IN_X, *bound(**zoned("south", REGION))],
        with_volumes("c"),
        ("VolumeZoneMismatch", "pv-c", f"is in {REGION}=south, but the node has no label {REGION}", []),
    ),
    "zone, of the second claim": (
        [IN_X, *bound(**zoned("x")), *bound("d", **zoned("y"))],
        with_volumes("c", "d"),
        ("VolumeZoneMismatch", "pv-d", "volume pv-d of claim default/d", []),
    ),
    "disk, GCE, one may write": (
        [node(), placed_pod("a", "n1", disk("gcePersistentDisk", pdName="pd", readOnly=True))],
        with_volumes(disk("gcePersistentDisk", pdName="pd")),
        (
            "DiskInUse",
            "pd",
            "in use on the node, and not all pods mount it read-only; used by default/a (read-only)",
            ["default/a"],
        ),
    ),
    "disk, EBS, even read-only": (
        [node(), placed_pod("a", "n1", disk("awsElasticBlockStore", volumeID="vol-1", readOnly=True))],
        with_volumes(disk("awsElasticBlockStore", volumeID="vol-1", readOnly=True)),
        ("DiskInUse", "vol-1", "disk vol-1 is in use on the node; used by default/a", ["default/a"]),
    ),
    "disk, iSCSI": (
        [
            node(),
            placed_pod("a", "n1", disk("iscsi", iqn="iqn.2026-01.example:a", targetPortal="10.0.0.1", lun=0)),
        ],
        with_volumes(disk("iscsi", iqn="iqn.2026-01.example:a", targetPortal="10.0.0.1", lun=1)),
        (
            "DiskInUse",
            "iqn.2026-01.example:a",
            "disk iqn.2026-01.example:a is in use on the node",
            ["default/a"],
        ),
    ),
    "disk, RBD": (
        [node(), placed_pod("a", "n1", disk("rbd", monitors=["m"], image="i"))],
        with_volumes(disk("rbd", monitors=["m", "o"], image="i")),
        ("DiskInUse", "rbd/i", "disk rbd/i is in use on the node", ["default/a"]),
    ),
    "claim, for one pod alone, on the node": (
        [node(), placed_pod("a", "n1", "c"), volume_claim(volume="pv", accessModes=ONE_POD), volume()],
        with_volumes("c"),
        (
            "ClaimInUse",
            "default/c",
            "claim default/c may be used by one pod only (ReadWriteOncePod); used by default/a",
            ["default/a"],
        ),
    ),
    "claim, for one pod alone, on another node": (
        [
            node(),
            node("n2", spec={"unschedulable": True}),
            placed_pod("a", "n2", "c"),
            volume_claim(volume="pv", accessModes=ONE_POD),
            volume(),
        ],
        with_volumes("c"),
        ("ClaimInUse", "default/c", "used by default/a on n2", ["default/a"]),
    ),
    "limit, reached by a pod": (
        [node(), csi_node("n1", csi_example_com=1), *bound("a"), *bound(), placed_pod("a", "n1", "a")],
        with_volumes("c"),
        (
            "VolumeLimitReached",
            storage.DRIVER,
            "1 more volume of driver csi.example.com, and the node has 1 of at most 1; taken by default/a",
            ["default/a"],
        ),
    ),
    "limit, an attachment without a pod": (
        [node(), csi_node("n1", csi_example_com=1), *bound("a"), *bound(), attached("left", "pv-a")],
        with_volumes("c"),
        (
            "VolumeLimitReached",
            storage.DRIVER,
            "taken by handle-pv-a (attached, but no pod here uses it)",
            ["handle-pv-a"],
        ),
    ),
    "limit, an attachment of a pod counts once": (
        [
            node(),
            csi_node("n1", csi_example_com=2),
            *bound("a"),
            *bound(),
            *bound("d"),
            attached("its", "pv-a"),
            placed_pod("a", "n1", "a"),
        ],
        with_volumes("c", "d"),
        ("VolumeLimitReached", storage.DRIVER, "needs 2 more volumes of driver", ["default/a"]),
    ),
    "limit, two volumes where one fits": (
        [node(), csi_node("n1", csi_example_com=1), *bound(), *bound("d")],
        with_volumes("c", "d"),
        ("VolumeLimitReached", storage.DRIVER, "has 0 of at most 1", []),
    ),
    "limit, a volume that is to be made": (
        [node(), csi_node("n1", csi_example_com=0), volume_claim(), storage_class()],
        with_volumes("c"),
        ("VolumeLimitReached", storage.DRIVER, "and the node takes none", []),
    ),
    "driver, not on the node": (
        [node(), csi_node("n1", other=9), csi_driver(preventPodSchedulingIfMissing=True), *bound()],
        with_volumes("c"),
        (
            "VolumeDriverMissing",
            storage.DRIVER,
            "CSI driver csi.example.com is not installed on the node, which has other",
            [],
        ),
    ),
    "fit, too little memory": (
        [node(allocatable=FOUR), pod_manifest("a", node="n1", requests={"memory": "7Gi"})],
        pod_manifest("p", requests={"memory": "2Gi"}),
        ("InsufficientResource", "memory", "needs 2Gi memory; 1Gi of 8Gi free", ["default/a"]),
    ),
    "fit, a sidecar counts": (
        [node(allocatable=FOUR)],
        pod_manifest(
            "p",
            requests={"cpu": "3500m"},
            spec={"initContainers": [{**INIT, "name": "side", "restartPolicy": "Always"}]},
        ),
        ("NodeTooSmall", "cpu", "needs 6.5 cpu, but the whole node has 4", []),
    ),
    "fit, the devices of a plugin are taken": (
        [
            node(allocatable={**FOUR, "example.com/gpu": "2"}),
            with_limits({"example.com/gpu": "2"}, "a", "n1"),
        ],
        with_limits({"example.com/gpu": "1"}),
        (
            "InsufficientResource",
            "example.com/gpu",
            "needs 1 example.com/gpu; 0 of 2 free; taken by default/a (2)",
            ["default/a"],
        ),
    ),
    "taint, NoExecute": (
        [node(taints=[{"key": "maintenance", "effect": "NoExecute"}])],
        pod_manifest("p"),
        ("TaintNotTolerated", "maintenance:NoExecute", "taint maintenance:NoExecute is not tolerated", []),
    ),
    "taint, one of two": (
        [node(taints=[SLA, TAINT])],
        tolerating(operator="Exists"),
        ("TaintNotTolerated", "maintenance:NoSchedule", "taint maintenance:NoSchedule is not tolerated", []),
    ),
    "taint, Lt of less": (
        [node(taints=[SLA])],
        tolerating(operator="Lt", value="800", effect="NoSchedule"),
        ("TaintNotTolerated", "example.com/sla=900:NoSchedule", "900 is not less than 800", []),
    ),
    "selector, of two labels one": (
        [node(labels={HOST: "n1", "disk": "ssd", ZONE: "x"})],
        pod_manifest("p", spec={"nodeSelector": {"disk": "ssd", ZONE: "y"}}),
        ("NodeSelectorMismatch", f"{ZONE}=y", f"the node has {ZONE}=x", []),
    ),
    "affinity, NotIn": (
        [node(labels={HOST: "n1", "disk": "hdd"})],
        required(("disk", "NotIn", ["hdd"])),
        ("NodeAffinityMismatch", "disk NotIn hdd", "the node has disk=hdd", []),
    ),
    "affinity, DoesNotExist": (
        [node(labels={HOST: "n1", "disk": "hdd"})],
        required(("disk", "DoesNotExist", [])),
        ("NodeAffinityMismatch", "disk DoesNotExist", "the node has disk=hdd", []),
    ),
    "affinity, Lt": (
        [node(labels={HOST: "n1", "size": "9"})],
        required(("size", "Lt", ["9"])),
        ("NodeAffinityMismatch", "size Lt 9", "the node has size=9", []),
    ),
    "cordon, the toleration is for another key": (
        [node(spec={"unschedulable": True})],
        pod_manifest("p", spec={"tolerations": [{**CORDON, "key": "maintenance"}]}),
        ("NodeCordoned", "n1", "the node is cordoned", []),
    ),
    "cordon, with the taint that comes of it": (
        [node(spec={"unschedulable": True}, taints=[{"key": CORDON["key"], "effect": "NoSchedule"}])],
        pod_manifest("p"),
        ("NodeCordoned", "n1", "the node is cordoned", []),
    ),
    "cordon, the other node is full": (
        [
            node(spec={"unschedulable": True}, allocatable=FOUR),
            node("n2", allocatable=FOUR),
            pod_manifest("a", node="n2", requests={"cpu": "4"}),
        ],
        pod_manifest("p", requests={"cpu": "1"}),
        ("NodeCordoned", "n1", "the node is cordoned", []),
    ),
    "spread, the second of two constraints": (
        [
            node(labels={HOST: "n1", ZONE: "x"}),
            node("n2", labels={HOST: "n2", ZONE: "y"}, spec={"unschedulable": True}),
            web("a", "n1"),
        ],
        two_spreads(HOST, ZONE),
        ("SpreadSkew", ZONE, "x has 1 matching pod, and y (cordoned) has the fewest, 0", ["default/a", "y"]),
    ),
    "spread, by an expression": (
        [node(), node("n2", spec={"unschedulable": True}), web("a", "n1")],
        spread(
            labelSelector={"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}]}
        ),
        (
            "SpreadSkew",
            HOST,
            "n1 has 1 matching pod, and n2 (cordoned) has the fewest, 0",
            ["default/a", "n2"],
        ),
    ),
    "near, in another namespace": (
        [node(), web("a", "n1")],
        near_of("elsewhere"),
        ("PodAffinityNoMatch", "app=web in elsewhere", "no pod on any node matches app=web in elsewhere", []),
    ),
    "near, on another node of two zones": (
        [
            node(labels={HOST: "n1", ZONE: "x"}),
            node("n2", labels={HOST: "n2", ZONE: "y"}, spec={"unschedulable": True}),
            web("a", "n2"),
        ],
        near({"app": "web"}, key=ZONE),
        (
            "PodAffinityNotNear",
            "app=web",
            f"in {ZONE}=x matches app=web, only others do: default/a on n2",
            ["default/a"],
        ),
    ),
    "apart, by zone": (
        [
            node(labels={HOST: "n1", ZONE: "x"}),
            node("n2", labels={HOST: "n2", ZONE: "x"}, spec={"unschedulable": True}),
            web("a", "n2"),
        ],
        near({"app": "web"}, kind="podAntiAffinity", key=ZONE),
        ("PodAntiAffinity", "app=web", f"and {ZONE}=x has some: default/a on n2", ["default/a"]),
    ),
    "devices, two where one is": (
        [node(), *devices({"name": "gpu-0"}), claim("mine", count=2)],
        claiming("mine"),
        ("DevicesUnmatched", "default/mine/r", "needs 2 devices, but the node has 1", []),
    ),
    "devices, tainted": (
        [
            node(),
            *devices({"name": "gpu-0", "taints": [{"key": "broken", "effect": "NoSchedule"}]}),
            claim("mine"),
        ],
        claiming("mine"),
        ("DevicesTainted", "default/mine/r", "device gpu-0 has the taint broken:NoSchedule", []),
    ),
    "devices, counters": (
        [
            node(),
            *devices(name="counters", slices=2, **COUNTERS),
            *devices(
                {"name": "half-0", "consumesCounters": HALVES},
                {"name": "half-1", "consumesCounters": HALVES},
                slices=2,
            )[1:],
            claim("used", holds="half-0"),
            claim("mine"),
        ],
        claiming("mine"),
        (
            "DeviceCountersShort",
            "default/mine/r",
            "device half-1 needs 2 of counter set/slices, 1 of 3 left",
            ["default/used"],
        ),
    ),
    "devices, by an attribute": (
        [
            node(),
            *devices({"name": "gpu-0", "attributes": {"model": {"string": "small"}}}),
            claim("mine", "device.attributes['gpu.example.com'].model == 'large'"),
        ],
        claiming("mine"),
        (
            "DevicesUnmatched",
            "default/mine/r",
            "device gpu-0 does not match the selector device.attributes",
            [],
        ),
    ),
    "devices, on another node": (
        [
            node(),
            node("n2", spec={"unschedulable": True}),
            placed_pod("b", "n2"),
            CLASS,
            shared(claim("mine", holds="gpu-0", pool="n2"), "b"),
        ],
        claiming("mine"),
        ("DevicesElsewhere", "default/mine", "has devices that the node can't use", []),
    ),
    "port, one of two": (
        [node(), with_port("a", "n1", 81)],
        with_ports("p", 80, 81),
        ("PortTaken", "81/TCP", "host port 81/TCP is taken", ["default/a"]),
    ),
    "gates, two": (
        [node()],
        pod_manifest("p", spec={"schedulingGates": [{"name": "example.com/a"}, {"name": "example.com/b"}]}),
        ("SchedulingGated", "example.com/a example.com/b", "waiting for scheduling gates", []),
    ),
    "volume, of two the second": (
        [IN_X, *bound(zone="x"), *bound("d", zone="y")],
        with_volumes("c", "d"),
        ("VolumeNodeAffinity", "pv-d", f"volume pv-d of claim default/d is for nodes with {ZONE}=y", []),
    ),
    "disk, of a pod that writes": (
        [node(), placed_pod("a", "n1", disk("gcePersistentDisk", pdName="pd"))],
        with_volumes(disk("gcePersistentDisk", pdName="pd", readOnly=True)),
        ("DiskInUse", "pd", "disk pd is in use on the node", ["default/a"]),
    ),
    "limit, of one driver of two": (
        [
            node(),
            csi_node("n1", csi_example_com=1, other=9),
            *bound("a"),
            *bound(),
            placed_pod("a", "n1", "a"),
        ],
        with_volumes("c"),
        ("VolumeLimitReached", storage.DRIVER, "has 1 of at most 1", ["default/a"]),
    ),
    "feature, of an init container": (
        [node()],
        pod_manifest(
            "p",
            spec={
                "initContainers": [
                    {"name": "init", "image": "i", "restartPolicy": "Never", "restartPolicyRules": RULES}
                ]
            },
        ),
        (
            "FeatureNotDeclared",
            "RestartAllContainersOnContainerExits",
            "which the node does not declare",
            [],
        ),
    ),
    "feature, the node declares another one": (
        [node(status={"declaredFeatures": ["UserNamespacesHostNetworkSupport"]})],
        RESTARTING,
        (
            "FeatureNotDeclared",
            "RestartAllContainersOnContainerExits",
            "which the node does not declare",
            [],
        ),
    ),
    "port, SCTP": (
        [node(), with_port("a", "n1", 9000, protocol="SCTP")],
        with_port("p", port=9000, protocol="SCTP"),
        ("PortTaken", "9000/SCTP", "host port 9000/SCTP is taken", ["default/a"]),
    ),
    "taint, one that only prefers doesn't count": (
        [node(taints=[{"key": "slow", "effect": "PreferNoSchedule"}, TAINT])],
        pod_manifest("p"),
        ("TaintNotTolerated", "maintenance:NoSchedule", "taint maintenance:NoSchedule is not tolerated", []),
    ),
    "selector, before the affinity": (
        [node(labels={HOST: "n1", "disk": "hdd"})],
        {
            **(both := required(("disk", "In", ["hdd"]))),
            "spec": {**both["spec"], "nodeSelector": {"size": "big"}},
        },
        ("NodeSelectorMismatch", "size=big", "the node lacks the label size", []),
    ),
    "affinity, two terms": (
        [node(labels={HOST: "n1", "disk": "hdd", "size": "9"})],
        either(("disk", "In", ["ssd"]), ("size", "Gt", ["9"])),
        ("NodeAffinityMismatch", "disk=ssd", "the closest of the 2 terms of", []),
    ),
    "volumes, of another class": (
        [node(), volume_claim(), LOCAL, volume(storageClassName="other")],
        with_volumes("c"),
        ("VolumeNotAvailable", "default/c", "there is no volume of class wait", []),
    ),
    "spread, by the keys of the pod's labels": (
        [
            node(),
            node("n2", spec={"unschedulable": True}),
            pod_manifest("a", node="n1", labels={"app": "web", "hash": "1"}),
            pod_manifest("b", node="n1", labels={"app": "web", "hash": "2"}),
        ],
        {
            **(keyed := spread(matchLabelKeys=["hash"])),
            "metadata": {**keyed["metadata"], "labels": {"app": "web", "hash": "1"}},
        },
        (
            "SpreadSkew",
            HOST,
            "n1 has 1 matching pod, and n2 (cordoned) has the fewest, 0",
            ["default/a", "n2"],
        ),
    ),
    "disk, of two pods": (
        [
            node(),
            placed_pod("a", "n1", disk("gcePersistentDisk", pdName="pd", readOnly=True)),
            placed_pod("b", "n1", disk("gcePersistentDisk", pdName="pd", readOnly=True)),
        ],
        with_volumes(disk("gcePersistentDisk", pdName="pd")),
        ("DiskInUse", "pd", "disk pd is in use on the node", ["default/a", "default/b"]),
    ),
    "limit, two pods share a volume": (
        [
            node(),
            csi_node("n1", csi_example_com=1),
            *bound("a"),
            *bound(),
            placed_pod("a", "n1", "a"),
            placed_pod("b", "n1", "a"),
        ],
        with_volumes("c"),
        ("VolumeLimitReached", storage.DRIVER, "has 1 of at most 1", ["default/a", "default/b"]),
    ),
    "apart, from one of two": (
        [node(), web("a", "n1"), pod_manifest("b", node="n1", labels={"app": "db"})],
        near({"app": "none"}, {"app": "db"}, kind="podAntiAffinity"),
        ("PodAntiAffinity", "app=db", f"and {HOST}=n1 has some: default/b", ["default/b"]),
    ),
    "devices, no such claim": (
        [node()],
        claiming("mine"),
        ("ResourceClaimNotFound", "default/mine", "could not find ResourceClaim", []),
    ),
    "devices, no such class": (
        [node(), claim("mine")],
        claiming("mine"),
        ("DeviceClassNotFound", "gpu", "request r: device class gpu does not exist", []),
    ),
}
_ROWS["apart, as others want"][0][1]["spec"]["nodeName"] = "n1"

HOPELESS = frozenset(
    {
        "affinity, a name",
        "affinity, two names at once",
        "apart, by zone",
        "claim, a class that binds at once",
        "claim, a class that binds at once, without a provisioner",
        "claim, a class that is not there",
        "claim, bound to a volume that is not there",
        "claim, for one pod alone, on another node",
        "claim, for one pod alone, on the node",
        "claim, missing",
        "claim, missing, of an ephemeral volume",
        "claim, no class",
        "devices, by an attribute",
        "devices, no such claim",
        "devices, no such class",
        "devices, none matches",
        "devices, none there",
        "devices, on another node",
        "devices, tainted",
        "devices, two where one is",
        "driver, not on the node",
        "feature, of an init container",
        "feature, one of two",
        "feature, restarts of all containers",
        "feature, the node declares another one",
        "feature, user namespaces in the host's network",
        "fit, not offered",
        "limit, a volume that is to be made",
        "limit, two volumes where one fits",
        "near, in another namespace",
        "near, no label",
        "near, no pod anywhere",
        "near, no pod for all terms",
        "near, on another node",
        "spread, no label",
        "storage, no report",
        "storage, too little",
        "volume, of another node",
        "volume, of two the second",
        "volume, the node has no such label",
        "volumes, another access mode",
        "volumes, another volume mode",
        "volumes, being made for another node",
        "volumes, each for its own reason",
        "volumes, made in another zone alone",
        "volumes, none of the class",
        "volumes, of another class",
        "volumes, one for two claims",
        "volumes, outside the selector",
        "volumes, released",
        "volumes, too small",
        "zone, a label of old against one of today",
        "zone, another one",
        "zone, of the second claim",
        "zone, one of two",
        "zone, the node has a zone and no region",
    }
)
"""The rows in which none of the changes helps that advice knows."""


@dataclass(frozen=True)
class Fact:
    """A pod that fits no node, and the expected explanation.

    Attributes:
        objects: The cluster.
        pod: The pod.
        code: The code of the finding about the node n1, or about the pod.
        subject: Its subject.
        said: A part of its text.
        holders: The names of its holders.
        hopeless: Advice knows no change that helps.
    """

    objects: Sequence[Manifest]
    pod: Manifest
    code: str
    subject: str
    said: str
    holders: Sequence[str]
    hopeless: bool

    @property
    def gates(self) -> Mapping[str, bool]:
        """The feature gates that it needs."""
        comparing = "example.com/sla" in self.subject and "has no effect" not in self.said
        return {"TaintTolerationComparisonOperators": comparing}

    def check(self, document: Manifest) -> None:
        """Fail unless an explanation says it."""
        found = {each["code"]: each for each in [*document["findings"], *about(document, "n1")]}
        assert self.code in found, found
        finding = found[self.code]
        assert (finding["subject"], [each["name"] for each in finding["holders"]]) == (
            self.subject,
            self.holders,
        )
        assert self.said in finding["text"]


def about(document: Manifest, name: str) -> Iterator[Manifest]:
    """Yield the findings about a node."""
    yield from document["nodes"].get(name, {}).get("findings", ())


FACTS = {name: Fact(objects, pod, *fact, name in HOPELESS) for name, (objects, pod, fact) in _ROWS.items()}
