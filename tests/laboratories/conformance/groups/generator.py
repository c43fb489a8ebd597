"""Random pod groups that come to a random cluster, one after the other."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random

from tests.laboratories.conformance.families import (
    affinity,
    device_claims,
    device_pools,
    dynamic_resources,
    images,
    nominations,
    pod_affinity,
    ports,
    preemption,
    resources,
    spread,
    taints,
    volume_binding,
    volumes,
)
from tests.laboratories.conformance.families.draft import Draft, Family, Manifest, base
from tests.laboratories.conformance.families.neighbours import HOSTNAME, RACK, ZONE
from tests.laboratories.conformance.families.profile import configuration
from tests.laboratories.conformance.groups import claims
from tests.laboratories.conformance.program import NEWEST

FAMILIES: list[Family] = [
    resources.requests,
    resources.least_allocated,
    taints.taint_toleration,
    taints.node_unschedulable,
    affinity.node_affinity,
    affinity.name_terms,
    ports.node_ports,
    images.image_locality,
    spread.constraints,
    spread.defaults,
    pod_affinity.own_terms,
    pod_affinity.others_terms,
    nominations.nominations,
    volumes.volume_restrictions,
    volumes.node_volume_limits,
    volumes.volume_zone,
    volume_binding.bound_claims,
]


def _devices(draft: Draft) -> None:
    """Draft devices, and few enough claims that kube-scheduler does not search for very long."""
    device_pools.cluster(draft)
    device_claims.claims(draft)


def _allocated_devices(draft: Draft) -> None:
    """The same, and claims that have devices already, often where the pods can't be."""
    device_pools.cluster(draft, binding=0.2)
    device_claims.claims(draft, allocated=0.8)


DEVICES: list[Family] = [
    _devices,
    _allocated_devices,
    dynamic_resources.alternatives,
    dynamic_resources.constrained,
    dynamic_resources.shared,
]
DOMAINS = {
    ZONE: ["zone-a", "zone-b", "zone-c"],
    RACK: ["1", "2", "3", "4", ""],
    "example.com/block": ["block", "block", "other"],
}
KEYS = [*DOMAINS, *DOMAINS, HOSTNAME, "example.com/nowhere"]
PLUGINS = ["GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount"]
MODES: list[Manifest] = [{"single": {}}, {"all": {}}, {"all": {}}]
PRIORITIES = [0, 5, 10, 100, 1000]


def scenario(seed: int, index: int, version: str = NEWEST) -> Manifest:
    """Scenario `index` of a seed: a cluster, and rounds in each of which a group or a part of one comes."""
    rng = Random(f"groups/{seed}/{index}")
    draft = base(rng, version, most_nodes=rng.choice([3, 5, 10, 12]))
    for family in rng.sample(FAMILIES, rng.choice([0, 1, 1, 2, 3])):
        family(draft)
    if draft.chance(0.5):
        preemption.preemption(draft)
    if draft.chance(0.15):
        rng.choice(DEVICES)(draft)
        if draft.chance(0.6):
            draft.gates[claims.GATE] = True
        # Rules reach kube-scheduler through informers, which don't run.
        draft.gates["DRADeviceTaintRules"] = False
    _divide(draft)
    _group_others(draft)
    itself = draft.pod["metadata"]["uid"]
    draft.nominated = [pod for pod in draft.nominated if pod["metadata"]["uid"] != itself]
    bound = claims.bound_claims(draft)
    for pod in draft.pods():
        claims.with_bound_claims(pod, bound)
    for pod in draft.nominated:
        pod["spec"].pop("schedulingGates", None)
        pod["metadata"].pop("deletionTimestamp", None)
        pod["metadata"].pop("deletionGracePeriodSeconds", None)
    _gates(draft)
    rounds = [_come(draft, number) for number in range(rng.choice([1, 1, 2, 3]))]
    _part_ports(draft)
    _part_starts(draft)
    others = [*draft.nodes, *draft.assigned, *draft.nominated, *draft.objects]
    rng.shuffle(others)
    return {
        "id": f"groups/{seed}/{index}",
        "objects": others,
        "config": _configuration(draft),
        "feature_gates": draft.gates,
        "rounds": rounds,
    }


def scenarios(seed: int, count: int, version: str = NEWEST) -> Iterator[Manifest]:
    for index in range(count):
        yield scenario(seed, index, version)


def _divide(draft: Draft) -> None:
    """Nodes in domains, some of them in none."""
    for key, values in DOMAINS.items():
        few = values[: draft.rng.randint(1, len(values))]
        for node in draft.nodes:
            if draft.chance(0.9):
                node["metadata"]["labels"][key] = draft.rng.choice(few)


def _group_others(draft: Draft) -> None:
    """Pods that have a node already are in groups, too; some of these are gone."""
    names = draft.some(["left", "right", "gone", "far"], 0, 4)
    for name in names:
        for namespace in ("default", "team-a"):
            if name != "gone" and draft.chance(0.8):
                draft.objects.append(_group(draft, name, namespace, 3))
    if names:
        for pod in draft.assigned:
            if draft.chance(0.5):
                pod["spec"]["schedulingGroup"] = {"podGroupName": draft.rng.choice(names)}


def _part_ports(draft: Draft) -> None:
    """No two pods of a node have a port in common, which no cluster lets happen.

    There kube-scheduler forgets the port of the one when the other goes.
    """
    taken: set[tuple[str, str, int]] = set()
    for pod in draft.assigned:
        node = pod["spec"]["nodeName"]
        ports = [
            port for each in draft.containers(pod) for port in each.get("ports", []) if "hostPort" in port
        ]
        wanted = {(node, port.get("protocol", "TCP"), port["hostPort"]) for port in ports}
        if wanted & taken:
            for container in draft.containers(pod):
                container.pop("ports", None)
        else:
            taken |= wanted


def _part_starts(draft: Draft) -> None:
    """Give more than twelve pods different starts: Go's own sort orders equals."""
    if len(draft.assigned) > 12:
        for second, pod in enumerate(draft.rng.sample(draft.assigned, len(draft.assigned))):
            started = f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"
            pod.setdefault("status", {})["startTime"] = started


def _gates(draft: Draft) -> None:
    draft.gates |= {"GenericWorkload": True, "SchedulerAsyncPreemption": False}
    if draft.chance(0.75):
        draft.gates["TopologyAwareWorkloadScheduling"] = True
    if draft.chance(0.3):
        draft.gates["PodGroupPreemptionPolicy"] = True


def _group(draft: Draft, name: str, namespace: str, size: int) -> Manifest:
    count = max(1, draft.rng.choice([1, 2, size - 1, size, size, size, size, size + 1]))
    policy = {"basic": {}} if draft.chance(0.15) else {"gang": {"minCount": count}}
    spec: Manifest = {"schedulingPolicy": policy}
    if draft.chance(0.6):
        spec["schedulingConstraints"] = {"topology": [{"key": draft.rng.choice(KEYS)}]}
    if draft.chance(0.6):
        spec["disruptionMode"] = draft.rng.choice(MODES)
    if draft.chance(0.7):
        spec["priority"] = draft.rng.choice(PRIORITIES)
    if draft.chance(0.2):
        spec["preemptionPolicy"] = draft.rng.choice(["Never", "PreemptLowerPriority"])
    if draft.chance(0.1):
        spec["workloadRef"] = {"workloadName": "w", "templateName": "t"}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}"},
        "spec": spec,
    }


def _come(draft: Draft, number: int) -> list[Manifest]:
    """Return the objects of a group in the order in which they come, or more pods of the group before."""
    size = draft.rng.choice([1, 2, 3, 4, 5, 8])
    name = f"g{number - 1 if number and draft.chance(0.15) else number}"
    namespace = draft.pod["metadata"]["namespace"]
    group = _group(draft, name, namespace, size)
    if "priority" in draft.pod["spec"]:
        group["spec"]["priority"] = draft.pod["spec"]["priority"]
    pods = [_member(draft, group, f"{name}-{number}-{i}") for i in range(size)]
    if name == f"g{number}" and draft.chance(0.2):
        _join(draft, group)
    if name != f"g{number}":
        return pods
    if draft.chance(0.1):
        # Groups have their namespace; this one is unknown.
        pods[0]["metadata"]["namespace"] = "team-c"
    arriving = [group, *pods] if draft.chance(0.5) else [*pods, group]
    return pods if draft.chance(0.03) else arriving


def _member(draft: Draft, group: Manifest, name: str) -> Manifest:
    pattern = draft.rng.choice([draft.pod] * 6 + draft.assigned[:2])
    pod = copy.deepcopy(pattern)
    pod.pop("status", None)
    pod["metadata"] |= {"name": name, "uid": f"uid-{name}", "namespace": group["metadata"]["namespace"]}
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        pod["metadata"].pop(field, None)
    spec = pod["spec"]
    spec.pop("nodeName", None)
    spec["schedulingGroup"] = {"podGroupName": group["metadata"]["name"]}
    _agree(draft, group, spec)
    claims.take_claims(draft, group, pod)
    if draft.chance(0.04):
        # One with a nomination that is being deleted is forgotten there with the event that it is gone.
        nominated = draft.rng.choice(draft.nodes)["metadata"]["name"]
        pod.setdefault("status", {})["nominatedNodeName"] = nominated
    elif draft.chance(0.02):
        pod["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
    if draft.chance(0.01) and "nominatedNodeName" not in pod.get("status", {}):
        spec["schedulingGates"] = [{"name": "example.com/wait"}]
    return pod


def _agree(draft: Draft, group: Manifest, spec: Manifest) -> None:
    """Give all pods of a group common fields, except some."""
    spec["schedulerName"] = draft.pod["spec"].get("schedulerName", "default-scheduler")
    spec["priority"] = group["spec"].get("priority", 0)
    policy = group["spec"].get("preemptionPolicy")
    spec.pop("preemptionPolicy", None)
    if policy:
        spec["preemptionPolicy"] = policy
    if draft.chance(0.01):
        spec["priority"] = 7
    if draft.chance(0.01):
        spec["preemptionPolicy"] = "Never"


def _join(draft: Draft, group: Manifest) -> None:
    """Some pods of the group have a node already."""
    key = [each["key"] for each in group["spec"].get("schedulingConstraints", {}).get("topology", [])]
    nodes = draft.nodes
    if key and draft.chance(0.8):
        value = draft.rng.choice(nodes)["metadata"]["labels"].get(key[0])
        nodes = [node for node in nodes if node["metadata"]["labels"].get(key[0]) == value]
    for i in range(draft.rng.randint(1, 3)):
        pod = _member(draft, group, f"{group['metadata']['name']}-there-{i}")
        pod["metadata"].pop("deletionTimestamp", None)
        pod["metadata"].pop("deletionGracePeriodSeconds", None)
        pod["spec"].pop("schedulingGates", None)
        pod["spec"]["nodeName"] = draft.rng.choice(nodes)["metadata"]["name"]
        pod["status"] = {"phase": "Running", "startTime": f"2026-01-02T00:00:{i:02}Z"}
        draft.assigned.append(pod)


def _configuration(draft: Draft) -> Manifest:
    config = configuration(draft) or {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
    }
    config["percentageOfNodesToScore"] = 100
    for profile in config.get("profiles", []):
        points = profile.get("plugins", {})
        if points.get("multiPoint", {}).get("disabled"):
            points["multiPoint"]["enabled"] += [{"name": name} for name in PLUGINS if draft.chance(0.8)]
        if points.get("score", {}).get("disabled"):
            # Without scores the first feasible node is taken, which depends on where the last search ended.
            del points["score"]
    return config
