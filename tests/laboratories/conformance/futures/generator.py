"""Random clusters of at most eight nodes, pods that have none, and what further nodes may be like."""

from __future__ import annotations

import copy
from random import Random

from tests.laboratories.conformance.changes.generator import FAMILIES, OBSTACLES, OWNER
from tests.laboratories.conformance.families.draft import Draft, Manifest, base
from tests.laboratories.conformance.families.neighbours import HOSTNAME
from tests.laboratories.conformance.program import NEWEST

ZONE = "topology.kubernetes.io/zone"
APPS = ["web", "db"]


def scenario(seed: int, index: int, version: str = NEWEST) -> Manifest:
    """Scenario `index` of a seed."""
    rng = Random(f"futures/{seed}/{index}")
    draft = base(rng, version, most_nodes=rng.choice([2, 4, 8]))
    for obstacle in draft.some(OBSTACLES, 0, 2):
        obstacle(draft)
    if draft.chance(0.5):
        rng.choice(FAMILIES)(draft)
    for node in draft.nodes:
        if draft.chance(0.8):
            node["metadata"]["labels"][ZONE] = rng.choice(["a", "b", "c"])
    for pod in draft.pods():
        # Claims are bound through the API server, and there is none.
        pod["spec"].pop("volumes", None)
    for pod in draft.assigned:
        if draft.chance(0.9):
            pod["metadata"]["ownerReferences"] = [OWNER]
    pending = [_pending(draft, at) for at in range(rng.randint(1, 9))]
    objects = [*draft.nodes, *draft.assigned, *draft.objects]
    return {
        "id": f"{seed}/{index}",
        "objects": objects,
        "pending": pending,
        "groups": [_group(draft, at) for at in range(rng.randint(1, 3))],
        "feature_gates": draft.gates,
    }


def _pending(draft: Draft, number: int) -> Manifest:
    """Return a pod like the scenario's own, or one with rules about others."""
    pod = copy.deepcopy(draft.pod)
    pod["metadata"]["name"] = f"pending-{number}"
    pod["metadata"]["uid"] = f"uid-pending-{number}"
    spec = pod["spec"]
    for field in ("nodeName", "schedulingGates"):
        spec.pop(field, None)
    pod.pop("status", None)
    if draft.chance(0.6):
        app = draft.rng.choice(APPS)
        pod["metadata"]["labels"] = {"app": app}
        selector = {"matchLabels": {"app": draft.rng.choice(APPS)}}
        key = draft.rng.choice([ZONE, HOSTNAME])
        kind = draft.rng.choice(["spread", "podAffinity", "podAntiAffinity", "none"])
        term = {"topologyKey": key, "labelSelector": selector}
        if kind == "spread":
            constraint = {**term, "maxSkew": draft.rng.choice([1, 2]), "whenUnsatisfiable": "DoNotSchedule"}
            spec["topologySpreadConstraints"] = [constraint]
        elif kind != "none":
            spec["affinity"] = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        requests = {"cpu": draft.rng.choice(["500m", "1", "3"]), "memory": draft.rng.choice(["256Mi", "2Gi"])}
        spec["containers"] = [{"name": "c", "image": "i:1", "resources": {"requests": requests}}]
    return pod


def _group(draft: Draft, number: int) -> Manifest:
    """Return a node like one that is there, or another size of it."""
    node = copy.deepcopy(draft.rng.choice(draft.nodes))
    if draft.chance(0.7):
        node["status"]["allocatable"]["cpu"] = draft.rng.choice(["1", "2", "4", "8"])
        node["status"]["capacity"] = dict(node["status"]["allocatable"])
    node["metadata"]["name"] = f"group-{number}"
    return node


def new_nodes(group: Manifest, count: int) -> list[Manifest]:
    """Return ``count`` nodes of a group."""
    found = []
    for number in range(count):
        node = copy.deepcopy(group)
        node["metadata"]["name"] = f"{group['metadata']['name']}-{number}"
        node["metadata"]["labels"][HOSTNAME] = node["metadata"]["name"]
        node["metadata"].pop("uid", None)
        found.append(node)
    return found
