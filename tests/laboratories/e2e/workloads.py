"""A cluster and workloads of every kind, generated from a seed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from .api import Manifest

NODES = 40
NAMESPACES = [f"team-{number}" for number in range(6)]
_ZONES = ("zone-a", "zone-b", "zone-c")
_DISKS = ("ssd", "hdd")
_IMAGES = [f"registry.example/image-{number}:1" for number in range(6)]
_ZONE = "topology.kubernetes.io/zone"
_HOST = "kubernetes.io/hostname"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def cluster(random: Random) -> list[Manifest]:
    """Return nodes, namespaces, and what decides what pods get at their admission."""
    objects = [new_node(random, number) for number in range(NODES)]
    for name in NAMESPACES:
        labels = {"stage": random.choice(("test", "live"))}
        objects.append(new_object("v1", "Namespace", name, "", metadata={"labels": labels}))
    # None preempts, so that pods stay on their nodes; the first pod could not preempt any.
    never = {"preemptionPolicy": "Never"}
    objects += [
        new_object("scheduling.k8s.io/v1", "PriorityClass", "low", "", value=10, **never),
        new_object(
            "scheduling.k8s.io/v1", "PriorityClass", "usual", "", value=100, globalDefault=True, **never
        ),
        new_object("scheduling.k8s.io/v1", "PriorityClass", "high", "", value=1000, **never),
        new_object("scheduling.k8s.io/v1", "PriorityClass", "lowest", "", value=0),
        new_object(
            "node.k8s.io/v1",
            "RuntimeClass",
            "sandbox",
            "",
            handler="sandbox",
            overhead={"podFixed": {"cpu": "250m", "memory": "64Mi"}},
            scheduling={
                "nodeSelector": {"disk": "ssd"},
                "tolerations": [{"key": "dedicated", "operator": "Exists"}],
            },
        ),
        new_object(
            "storage.k8s.io/v1",
            "StorageClass",
            "local",
            "",
            metadata={"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
            provisioner="kubernetes.io/no-provisioner",
            volumeBindingMode="WaitForFirstConsumer",
        ),
        new_object(
            "v1",
            "LimitRange",
            "defaults",
            NAMESPACES[0],
            spec={
                "limits": [
                    {
                        "type": "Container",
                        "default": {"cpu": "4", "memory": "4Gi"},
                        "defaultRequest": {"cpu": "150m", "memory": "96Mi"},
                    }
                ]
            },
        ),
    ]
    return objects


def workloads(random: Random, count: int, namespaces: Sequence[str] = NAMESPACES) -> list[Manifest]:
    """Return `count` workloads in these namespaces, and services that select pods of some of them."""
    objects: list[Manifest] = []
    for number in range(count):
        name, namespace = f"w-{number}", random.choice(namespaces)
        (kind,) = random.choices(list(_KINDS), [weight for weight, _ in _KINDS.values()])
        objects.append(_KINDS[kind][1](random, name, namespace))
        if random.random() < 0.3:
            ports = [{"port": 80}]
            objects.append(
                new_object("v1", "Service", name, namespace, spec={"selector": {"app": name}, "ports": ports})
            )
    return objects


def new_object(version: str, kind: str, name: str, namespace: str, **fields: Any) -> Manifest:
    """Return an object; one without a namespace gets ""."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **fields.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def new_node(random: Random, number: int) -> Manifest:
    name = f"node-{number:02}"
    capacity = {
        "cpu": str(random.choice((4, 8, 16, 32))),
        "memory": f"{random.choice((16, 32, 64))}Gi",
        "pods": "110",
        **({"example.com/gpu": "4"} if number % 5 == 0 else {}),
    }
    labels = {_HOST: name, "disk": random.choice(_DISKS), "generation": str(random.randrange(1, 5))}
    if number % 10:
        labels[_ZONE] = random.choice(_ZONES)
    images = random.sample(_IMAGES, random.randrange(4))
    node = new_object("v1", "Node", name, "", metadata={"labels": labels})
    taints = {
        1: {"key": "dedicated", "value": "batch", "effect": "NoSchedule"},
        2: {"key": "old", "effect": "PreferNoSchedule"},
        3: {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
        4: {"key": "broken", "effect": "NoExecute"},
    }
    spec: Manifest = {"taints": [taints[number % 9]]} if number % 9 in taints else {}
    if number == NODES - 1:
        spec["unschedulable"] = True
    status = {
        "capacity": capacity,
        "allocatable": capacity,
        "images": [
            {"names": [image], "sizeBytes": 200_000_000 + 50_000_000 * int(image[-3])} for image in images
        ],
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
    }
    return {**node, "spec": spec, "status": status}


def _container(random: Random, name: str, ports: bool = False) -> Manifest:
    cpu, memory = random.choice(("100m", "250m", "500m", "1")), random.choice(("64Mi", "256Mi", "1Gi"))
    rare = {"limits": {"example.com/gpu": "1"}}
    resources = random.choice(
        (
            {},
            {"requests": {"cpu": cpu, "memory": memory}},
            {"requests": {"cpu": cpu}},
            {"limits": {"cpu": cpu, "memory": memory}},
            {"requests": {"cpu": "100m"}, "limits": {"cpu": "2", "memory": memory}},
            rare if random.random() < 0.3 else {"requests": {"memory": memory}},
        )
    )
    container: Manifest = {"name": name, "image": random.choice(_IMAGES), "resources": resources}
    if ports:
        container["ports"] = [{"containerPort": random.randrange(8000, 8020)}]
    return container


@dataclass(frozen=True)
class _Draft:
    """A pod template that is being written."""

    random: Random
    labels: Manifest
    spec: Manifest


def _template(random: Random, name: str) -> Manifest:
    """Return a pod template with some of a template's possible constraints."""
    labels = {"app": name, "tier": random.choice(("web", "db", "cache"))}
    spec: Manifest = {"containers": [_container(random, "main")]}
    draft = _Draft(random, labels, spec)
    for chance, add in _WISHES:
        if random.random() < chance:
            add(draft)
    return {"metadata": {"labels": labels, "annotations": {"team": name}}, "spec": spec}


def _wish_selector(draft: _Draft) -> None:
    draft.spec["nodeSelector"] = {"disk": draft.random.choice(_DISKS)}


def _wish_node_affinity(draft: _Draft) -> None:
    expressions = [
        {"key": _ZONE, "operator": "In", "values": draft.random.sample(_ZONES, 2)},
        {"key": "disk", "operator": "NotIn", "values": ["hdd"]},
        {"key": "generation", "operator": "Gt", "values": ["1"]},
        {"key": _ZONE, "operator": "Exists"},
    ]
    wanted: Manifest = {}
    if draft.random.random() < 0.6:
        terms = [
            {"matchExpressions": [one]}
            for one in draft.random.sample(expressions, draft.random.choice((1, 2)))
        ]
        wanted[_REQUIRED] = {"nodeSelectorTerms": terms}
    if not wanted or draft.random.random() < 0.5:
        chosen = draft.random.sample(expressions, 2)
        wanted[_PREFERRED] = [
            {"weight": draft.random.randrange(1, 101), "preference": {"matchExpressions": [one]}}
            for one in chosen
        ]
    draft.spec.setdefault("affinity", {})["nodeAffinity"] = wanted


def _wish_pod_affinity(draft: _Draft) -> None:
    near = draft.random.choice(("podAffinity", "podAntiAffinity"))
    own = draft.random.random() < 0.5
    term: Manifest = {
        "topologyKey": draft.random.choice((_HOST, _ZONE)),
        "labelSelector": {
            "matchLabels": {"app": draft.labels["app"]} if own else {"tier": draft.labels["tier"]}
        },
    }
    if draft.random.random() < 0.3:
        term["namespaceSelector"] = draft.random.choice(({}, {"matchLabels": {"stage": "live"}}))
    elif draft.random.random() < 0.2:
        term["namespaces"] = draft.random.sample(NAMESPACES, 2)
    if draft.random.random() < 0.3:
        term[draft.random.choice(("matchLabelKeys", "mismatchLabelKeys"))] = ["pod-template-hash"]
    if own and draft.random.random() < 0.5:
        found: Manifest = {_REQUIRED: [term]}
    else:
        found = {_PREFERRED: [{"weight": draft.random.randrange(1, 101), "podAffinityTerm": term}]}
    draft.spec.setdefault("affinity", {})[near] = found


def _wish_spread(draft: _Draft) -> None:
    constraints = []
    for key in draft.random.sample((_HOST, _ZONE), draft.random.choice((1, 2))):
        hard = draft.random.random() < 0.5
        constraint: Manifest = {
            "maxSkew": draft.random.choice((1, 2, 5)),
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": draft.labels["app"]}},
        }
        if draft.random.random() < 0.4:
            constraint["matchLabelKeys"] = ["pod-template-hash"]
        if draft.random.random() < 0.3:
            constraint["nodeTaintsPolicy"] = draft.random.choice(("Honor", "Ignore"))
        if draft.random.random() < 0.3:
            constraint["nodeAffinityPolicy"] = draft.random.choice(("Honor", "Ignore"))
        if hard and draft.random.random() < 0.3:
            constraint["minDomains"] = 2
        constraints.append(constraint)
    draft.spec["topologySpreadConstraints"] = constraints


def _wish_tolerations(draft: _Draft) -> None:
    draft.spec["tolerations"] = draft.random.choice(
        (
            [{"operator": "Exists"}],
            [{"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"}],
            [{"key": "broken", "operator": "Exists"}, {"key": "old", "operator": "Exists"}],
            [
                {
                    "key": "node.kubernetes.io/not-ready",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 10,
                }
            ],
            [{"operator": "Exists", "effect": "NoExecute"}],
        )
    )


def _wish_priority(draft: _Draft) -> None:
    draft.spec["priorityClassName"] = draft.random.choice(("low", "high", "lowest"))


def _wish_init_containers(draft: _Draft) -> None:
    draft.spec["initContainers"] = [
        _container(draft.random, "first"),
        {**_container(draft.random, "side"), "restartPolicy": "Always"},
    ]


def _wish_host_network(draft: _Draft) -> None:
    draft.spec["hostNetwork"] = True
    draft.spec["containers"] = [_container(draft.random, "main", ports=True)]


def _wish_runtime(draft: _Draft) -> None:
    # The API server rejects contradicting selectors, and merges tolerations that say the same.
    if "nodeSelector" not in draft.spec and "tolerations" not in draft.spec:
        draft.spec["runtimeClassName"] = "sandbox"


def _wish_pod_resources(draft: _Draft) -> None:
    draft.spec["resources"] = {
        "requests": {"cpu": "4", "memory": "4Gi"},
        "limits": {"cpu": "6", "memory": "8Gi"},
    }


def _wish_too_much(draft: _Draft) -> None:
    large = {"name": "large", "image": "x", "resources": {"limits": {"example.com/gpu": "50"}}}
    if "resources" not in draft.spec:
        draft.spec["containers"].append(large)


_WISHES: tuple[tuple[float, Callable[[_Draft], None]], ...] = (
    (0.15, _wish_selector),
    (0.25, _wish_node_affinity),
    (0.25, _wish_pod_affinity),
    (0.25, _wish_spread),
    (0.2, _wish_tolerations),
    (0.3, _wish_priority),
    (0.15, _wish_init_containers),
    (0.03, _wish_host_network),
    (0.05, _wish_runtime),
    (0.04, _wish_pod_resources),
    (0.02, _wish_too_much),
)


def _apps(kind: str) -> Callable[[Random, str, str], Manifest]:
    def made(random: Random, name: str, namespace: str) -> Manifest:
        template, replicas = _template(random, name), random.choice((0, 1, 2, 2, 3, 5))
        spec = {"selector": {"matchLabels": {"app": name}}, "template": template, "replicas": replicas}
        return new_object("apps/v1", kind, name, namespace, spec=spec)

    return made


def _stateful_set(random: Random, name: str, namespace: str) -> Manifest:
    made = _apps("StatefulSet")(random, name, namespace)
    # In order of age, each pod would wait for a kubelet to start the one before.
    made["spec"] |= {"serviceName": name, "podManagementPolicy": "Parallel"}
    if random.random() < 0.3:
        made["spec"]["ordinals"] = {"start": 3}
    if random.random() < 0.2:
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        if random.random() < 0.5:
            claim["storageClassName"] = "local"
        made["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
    return made


def _daemon_set(random: Random, name: str, namespace: str) -> Manifest:
    made = _apps("DaemonSet")(random, name, namespace)
    del made["spec"]["replicas"]
    made["spec"]["template"]["spec"]["nodeSelector"] = {"generation": "1"}
    return made


def _controller(random: Random, name: str, namespace: str) -> Manifest:
    spec = {"replicas": random.choice((1, 2, 3)), "template": _template(random, name)}
    if random.random() < 0.5:
        spec["selector"] = {"app": name}
    return new_object("v1", "ReplicationController", name, namespace, spec=spec)


def _job(random: Random, name: str, namespace: str) -> Manifest:
    template = _template(random, name)
    template["spec"]["restartPolicy"] = "Never"
    spec: Manifest = random.choice(
        (
            {},
            {"parallelism": 3},
            {"completions": 4, "parallelism": 2},
            {"completions": 3, "parallelism": 5, "completionMode": "Indexed"},
            {"parallelism": 2, "suspend": True},
        )
    )
    return new_object("batch/v1", "Job", name, namespace, spec={**spec, "template": template})


def _cron_job(random: Random, name: str, namespace: str) -> Manifest:
    job = {"spec": _job(random, name, namespace)["spec"]}
    return new_object(
        "batch/v1", "CronJob", name, namespace, spec={"schedule": "0 0 1 1 *", "jobTemplate": job}
    )


def _pod(random: Random, name: str, namespace: str) -> Manifest:
    template = _template(random, name)
    spec = template["spec"]
    if random.random() < 0.1:
        spec["nodeName"] = "node-00"
    elif random.random() < 0.1:
        spec["schedulingGates"] = [{"name": "example.com/wait"}]
    return new_object("v1", "Pod", name, namespace, metadata=template["metadata"], spec=spec)


_KINDS: dict[str, tuple[float, Callable[[Random, str, str], Manifest]]] = {
    "Deployment": (40, _apps("Deployment")),
    "ReplicaSet": (10, _apps("ReplicaSet")),
    "StatefulSet": (12, _stateful_set),
    "DaemonSet": (4, _daemon_set),
    "ReplicationController": (6, _controller),
    "Job": (12, _job),
    "CronJob": (2, _cron_job),
    "Pod": (14, _pod),
}
"""How frequent each kind is, and what makes one."""
