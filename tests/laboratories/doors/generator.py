"""Sets of manifests: a small cluster, and what people put into it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random

from tests.laboratories.doors.cluster import OBJECT, POOL
from tests.laboratories.doors.foreign import foreign
from tests.laboratories.e2e.api import Manifest
from tests.laboratories.e2e.workloads import cluster, new_object, workloads

_GPU = "gpu.example"
_HOST = "kubernetes.io/hostname"
_SIZES = ("3", "4", "8", "16")
_STORAGE = ("local", "local", "manual")
"""The classes of claims and volumes; of the last one there is no StorageClass, so it is bound at once."""
_STARTED = "2026-01-01T00:{:02}:00Z"


def manifests(random: Random) -> list[Manifest]:
    """Return the objects of one set, in the order in which they are given."""
    whole = cluster(random)
    nodes = random.sample([item for item in whole if item["kind"] == "Node"], random.randrange(1, 7))
    for item in nodes:
        # Small ones, so that not all pods find room.
        item["status"]["allocatable"]["cpu"] = item["status"]["capacity"]["cpu"] = random.choice(_SIZES)
    names = [item["metadata"]["name"] for item in nodes]
    around = [item for item in whole if _is_needed(random, item)] + _critical(random)
    made = workloads(random, random.randrange(1, 7), POOL)
    for number, item in enumerate(made):
        _wish(random, item, number)
    objects = [
        *nodes,
        *around,
        *made,
        *_claims_of(random, names, made),
        *_devices(random, names, made),
        *_volumes(random, names, made),
        *_running(random, names),
        *foreign(random),
    ]
    random.shuffle(objects)
    return objects


def _is_needed(random: Random, item: Manifest) -> bool:
    """Return whether an object of the cluster is in the set; a namespace is there without its Namespace,
    too.
    """
    match item["kind"]:
        case "Node":
            return False
        case "Namespace":
            return item["metadata"]["name"] in POOL and random.random() < 0.7
        case "LimitRange":
            return random.random() < 0.5
        case _:
            return True


def _critical(random: Random) -> list[Manifest]:
    """Return a priority class of preempting pods, in some sets."""
    policy = random.choice(("PreemptLowerPriority", "PreemptLowerPriority", "Never"))
    return [
        new_object(
            "scheduling.k8s.io/v1", "PriorityClass", "critical", "", value=5000, preemptionPolicy=policy
        )
    ]


def template_of(item: Manifest) -> Manifest | None:
    """Return the pod that an object is or from which it makes pods at once."""
    if item["kind"] == "Pod":
        return item
    template: Manifest | None = item.get("spec", {}).get("template")
    return template if isinstance(template, dict) and "spec" in template else None


def _wish(random: Random, item: Manifest, number: int) -> None:
    """Make the object's pods ask for more, and mark them with its number."""
    template = template_of(item)
    if template is None:
        return
    template["metadata"].setdefault("annotations", {})[OBJECT] = str(number)
    if random.random() < 0.2:
        template["metadata"]["annotations"]["said"] = "shipped \N{ROCKET} on\ttime"
    spec = template["spec"]
    for chance, add in _WISHES:
        if random.random() < chance:
            add(random, spec)
    if item["kind"] == "DaemonSet":
        # Its pods come in any order, so none of them may depend on another one.
        spec.pop("topologySpreadConstraints", None)
        for name in ("podAffinity", "podAntiAffinity"):
            spec.get("affinity", {}).pop(name, None)
    if item["kind"] in ("Pod", "Job") and random.random() < 0.3:
        item["metadata"]["generateName"] = f"{item['metadata'].pop('name')}-"


def _large(random: Random, spec: Manifest) -> None:
    if "resources" not in spec:
        spec["containers"][0]["resources"] = {"requests": {"cpu": str(random.choice((2, 3, 4)))}}


def _template_claim(_: Random, spec: Manifest) -> None:
    spec["resourceClaims"] = [{"name": "device", "resourceClaimTemplateName": "one-device"}]
    spec["containers"][0].setdefault("resources", {})["claims"] = [{"name": "device"}]


def _shared_claim(_: Random, spec: Manifest) -> None:
    """Share a claim: the second pod waits until it is written, so no later pod may want their room."""
    spec["resourceClaims"] = [{"name": "device", "resourceClaimName": "shared"}]
    spec["containers"] = [{"name": "main", "image": "x", "resources": {"claims": [{"name": "device"}]}}]
    spec["priorityClassName"] = "lowest"
    spec.pop("resources", None)


def _ephemeral(random: Random, spec: Manifest) -> None:
    template = {"spec": _claim_spec(random)}
    spec["volumes"] = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]


def _own_claim(random: Random, spec: Manifest) -> None:
    spec["volumes"] = [
        {"name": "data", "persistentVolumeClaim": {"claimName": random.choice(("one", "two"))}}
    ]


def _host_port(random: Random, spec: Manifest) -> None:
    port = random.choice((8080, 8081))
    spec["containers"][0]["ports"] = [{"containerPort": port, "hostPort": port}]


def _gate(_: Random, spec: Manifest) -> None:
    if "nodeName" not in spec:
        spec["schedulingGates"] = [{"name": "example.com/quota"}]


def _critical_pods(_: Random, spec: Manifest) -> None:
    spec["priorityClassName"] = "critical"


def _another_scheduler(_: Random, spec: Manifest) -> None:
    spec["schedulerName"] = "volcano"


_WISHES: Sequence[tuple[float, Callable[[Random, Manifest], None]]] = (
    (0.4, _large),
    (0.12, _template_claim),
    (0.08, _ephemeral),
    (0.08, _own_claim),
    (0.08, _host_port),
    (0.04, _gate),
    (0.2, _critical_pods),
    (0.04, _another_scheduler),
    (0.06, _shared_claim),
)


def small_pods(random: Random) -> Manifest:
    """Return the metadata and spec of pods; many of them find a node, whatever the order of the nodes."""
    requests = {"cpu": random.choice(("500m", "1", "2")), "memory": "64Mi"}
    spec: Manifest = {"containers": [{"name": "main", "image": "x", "resources": {"requests": requests}}]}
    if random.random() < 0.5:
        spec["nodeSelector"] = {"disk": random.choice(("ssd", "hdd"))}
    if random.random() < 0.3:
        spec["tolerations"] = [{"operator": "Exists"}]
    return {"metadata": {"labels": {"app": "more"}, "annotations": {OBJECT: "more"}}, "spec": spec}


def _claim_spec(random: Random) -> Manifest:
    spec: Manifest = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": random.choice(("1Gi", "2Gi"))}},
    }
    if random.random() < 0.7:
        spec["storageClassName"] = random.choice(_STORAGE)
    return spec


def _named(made: Sequence[Manifest], kind: str) -> set[tuple[str, str]]:
    """Return namespace and name of the claims of a kind that the pods of some objects name."""
    found = set()
    for item in made:
        template = template_of(item)
        spec: Manifest = template["spec"] if template else {}
        for entry in (*spec.get("volumes", ()), *spec.get("resourceClaims", ())):
            name = (
                entry.get(kind) if isinstance(entry.get(kind), str) else entry.get(kind, {}).get("claimName")
            )
            if name:
                found.add((item["metadata"]["namespace"], name))
    return found


def _claims_of(random: Random, nodes: Sequence[str], made: Sequence[Manifest]) -> list[Manifest]:
    """Return the claims that pods name, at times without one of them; some are for a certain volume."""
    objects = []
    for number, (namespace, name) in enumerate(sorted(_named(made, "persistentVolumeClaim"))):
        spec = _claim_spec(random)
        if random.random() < 0.3:
            volume = _volume(random, nodes, f"own-{number}", 2048 + number)
            volume["spec"]["storageClassName"] = spec.setdefault("storageClassName", "local")
            ways = random.choice((("claim",), ("volume",), ("claim", "volume")))
            if "claim" in ways:
                spec["volumeName"] = volume["metadata"]["name"]
            if "volume" in ways:
                volume["spec"]["claimRef"] = {"namespace": namespace, "name": name}
            objects.append(volume)
        if random.random() < 0.9:
            objects.append(new_object("v1", "PersistentVolumeClaim", name, namespace, spec=spec))
    return objects


def _devices(random: Random, nodes: Sequence[str], made: Sequence[Manifest]) -> list[Manifest]:
    """Return devices of some nodes, and what pods ask for them with."""
    templates = sorted(_named(made, "resourceClaimTemplateName"))
    claims = sorted(_named(made, "resourceClaimName"))
    if not templates and not claims:
        return []
    version = "resource.k8s.io/v1"
    request = {"name": "it", "exactly": {"deviceClassName": _GPU}}
    spec = {"devices": {"requests": [request]}}
    selectors = [{"cel": {"expression": f"device.driver == '{_GPU}'"}}]
    objects = [new_object(version, "DeviceClass", _GPU, "", spec={"selectors": selectors})]
    for name in nodes:
        count = random.choice((0, 1, 2, 3))
        devices = [{"name": f"device-{number}"} for number in range(count)]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        slice_ = {"driver": _GPU, "nodeName": name, "pool": pool, "devices": devices}
        objects.append(new_object(version, "ResourceSlice", f"{name}-{_GPU}", "", spec=slice_))
    for namespace, name in templates:
        template = deepcopy(spec)
        objects.append(new_object(version, "ResourceClaimTemplate", name, namespace, spec={"spec": template}))
    for namespace, name in claims:
        objects.append(new_object(version, "ResourceClaim", name, namespace, spec=deepcopy(spec)))
    return objects


def _volumes(random: Random, nodes: Sequence[str], made: Sequence[Manifest]) -> list[Manifest]:
    """Return volumes of some nodes, each of a size of its own, since among equals any one is taken."""
    wanted = any(
        "volumes" in (template_of(item) or {"spec": {}})["spec"]
        or "volumeClaimTemplates" in item.get("spec", {})
        for item in made
    )
    if not wanted:
        return []
    return [
        _volume(random, nodes, f"volume-{number}", 1024 + 100 * number)
        for number in range(random.randrange(5))
    ]


def _volume(random: Random, nodes: Sequence[str], name: str, mebibytes: int) -> Manifest:
    at = {"key": _HOST, "operator": "In", "values": [random.choice(nodes)]}
    spec = {
        "capacity": {"storage": f"{mebibytes}Mi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": random.choice(_STORAGE),
        "persistentVolumeReclaimPolicy": "Retain",
        "local": {"path": f"/mnt/{name}"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [at]}]}},
    }
    status: Manifest = {"status": {"phase": "Available"}} if random.random() < 0.4 else {}
    return new_object("v1", "PersistentVolume", name, "", spec=spec, **status)


def _running(random: Random, nodes: Sequence[str]) -> list[Manifest]:
    """Return pods that run already, and budgets that protect some of them."""
    objects = []
    for number in range(random.choice((0, 2, 4, 6))):
        namespace = random.choice(POOL)
        labels = {"age": "old", "tier": random.choice(("web", "db", "cache"))}
        requests = {"cpu": str(random.choice((1, 2, 4))), "memory": "1Gi"}
        spec: Manifest = {
            "nodeName": random.choice(nodes),
            "priorityClassName": random.choice(("low", "lowest")),
            "containers": [{"name": "main", "image": "x", "resources": {"requests": requests}}],
            "terminationGracePeriodSeconds": random.choice((0, 30)),
        }
        metadata = {"labels": labels, "annotations": {OBJECT: f"old-{number}"}}
        ready = {"type": "Ready", "status": "True"}
        status = {"phase": "Running", "startTime": _STARTED.format(number), "conditions": [ready]}
        objects.append(
            new_object("v1", "Pod", f"old-{number}", namespace, metadata=metadata, spec=spec, status=status)
        )
    for tier in random.sample(("web", "db", "cache"), random.choice((0, 0, 1, 2)) if objects else 0):
        bounds: Sequence[Manifest] = ({"minAvailable": 1}, {"maxUnavailable": 0}, {"maxUnavailable": "50%"})
        # A budget of pods that kube-scheduler places meanwhile would change as they become ready.
        spec = {"selector": {"matchLabels": {"age": "old", "tier": tier}}, **random.choice(bounds)}
        objects.append(new_object("policy/v1", "PodDisruptionBudget", tier, random.choice(POOL), spec=spec))
    return objects
