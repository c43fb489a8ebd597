"""Kinds of pods: what pods of one template have in common, drawn from every field that a plugin reads."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from msgspec.structs import replace

from mooring.framework import Pod
from mooring.testing import make_pod

Manifest = dict[str, Any]
Kind = dict[str, Any]
"""Arguments of ``make_pod``."""

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
APPS = ("a", "b", "c")
NAMESPACES = ("default", "team", "other")
EXTENDED = "example.com/gpu"
IMAGES = {"registry.example/app:1": 700 << 20, "db:2": 90 << 20, "web:3": 300 << 20}
CLAIMS = ("shared", "waiting", "missing", "alone")
SIZES: tuple[dict[str, str], ...] = (
    {},
    {"cpu": "500m", "memory": "1Gi"},
    {"cpu": "1"},
    {"cpu": "1", "memory": "1Gi"},
    {"cpu": "2", "memory": "5Gi"},
    {"memory": "3Gi"},
    {"cpu": "250m", "memory": "200Mi", "ephemeral-storage": "2Gi"},
)


def app(name: str) -> Manifest:
    """Return a selector."""
    return {"matchLabels": {"app": name}}


def sized(dice: Random) -> dict[str, str]:
    """Return requests: mostly those of other pods, now and then amounts that few have."""
    if dice.random() < 0.15:
        return {"cpu": f"{dice.randint(1, 2500)}m", "memory": f"{dice.randint(1, 5000)}Mi"}
    return dice.choice(SIZES)


def _preferring(dice: Random) -> Manifest:
    terms = [
        {
            "weight": dice.choice((1, 3, 10, 100)),
            "preference": {"matchExpressions": [{"key": key, "operator": "In", "values": values}]},
        }
        for key, values in (("weight", ["1", "2"]), ("weight", ["2", "3"]), ("disk", ["ssd"]), (ZONE, ["z1"]))
        if dice.random() < 0.6
    ]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}}


def _requiring(dice: Random) -> Manifest:
    expression = dice.choice(
        (
            {"key": "disk", "operator": "In", "values": ["ssd"]},
            {"key": "weight", "operator": "Gt", "values": ["1"]},
            {"key": ZONE, "operator": "NotIn", "values": ["z1"]},
            {"key": "disk", "operator": "DoesNotExist"},
        )
    )
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def _naming(dice: Random) -> Manifest:
    """Return the one node that it may go to, as for a pod of a DaemonSet."""
    field = {"key": "metadata.name", "operator": "In", "values": [f"n{dice.randrange(4)}"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def _selecting(dice: Random) -> Manifest:
    return {"nodeSelector": dice.choice(({"disk": "ssd"}, {ZONE: "z2"}))}


def _tolerating(dice: Random) -> Manifest:
    effect = dice.choice(("", "NoSchedule", "PreferNoSchedule"))
    toleration = {"key": "dedicated", "operator": "Exists", **({"effect": effect} if effect else {})}
    comparing = {"key": "level", "operator": "Gt", "value": "3", "effect": "NoSchedule"}
    return {"tolerations": [dice.choice((toleration, {"operator": "Exists"}, comparing))]}


def _with_port(dice: Random) -> Manifest:
    port = {"hostPort": dice.choice((80, 81)), "protocol": dice.choice(("TCP", "UDP"))}
    ports = [{**port, **dice.choice(({}, {"hostIP": "10.0.0.1"}))}]
    return {"containers": [{"name": "c", "image": "web:3", "ports": ports}]}


def _spreading(dice: Random) -> Manifest:
    constraints = []
    for key in dice.sample((ZONE, HOST), dice.choice((1, 1, 2))):
        hard = dice.random() < 0.5
        constraint: Manifest = {
            "maxSkew": dice.choice((1, 1, 2, 5)),
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
            "labelSelector": app(dice.choice(APPS)),
        }
        if dice.random() < 0.2:
            constraint["matchLabelKeys"] = ["version"]
        if dice.random() < 0.2:
            constraint |= {"nodeTaintsPolicy": "Honor", "nodeAffinityPolicy": "Ignore"}
        if hard and dice.random() < 0.2:
            constraint["minDomains"] = dice.choice((2, 4))
        constraints.append(constraint)
    return {"topologySpreadConstraints": constraints}


def _related(dice: Random) -> Manifest:
    term: Manifest = {"topologyKey": dice.choice((ZONE, HOST)), "labelSelector": app(dice.choice(APPS))}
    if dice.random() < 0.3:
        term["namespaceSelector"] = dice.choice(({}, {"matchLabels": {"team": "x"}}))
    elif dice.random() < 0.2:
        term["namespaces"] = list(dice.sample(NAMESPACES, 2))
    kind = dice.choice(("podAffinity", "podAntiAffinity", "podAntiAffinity"))
    if dice.random() < 0.35:
        return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    weighted = {"weight": dice.choice((1, 7, 100)), "podAffinityTerm": term}
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}}


def _with_volume(dice: Random) -> Manifest:
    claim = {"persistentVolumeClaim": {"claimName": dice.choice(CLAIMS)}}
    source: Manifest = dice.choice(
        (claim, claim, {"emptyDir": {}}, {"ephemeral": {"volumeClaimTemplate": {}}})
    )
    return {"volumes": [{"name": "v", **source}]}


def _with_device(dice: Random) -> Manifest:
    claim = dice.choice(("device", "device", "no-device"))
    return {"resourceClaims": [{"name": "d", "resourceClaimName": claim}]}


def _with_more_resources(dice: Random) -> Manifest:
    first = {"name": "i", "image": "db:2", "resources": {"requests": {"cpu": dice.choice(("2", "100m"))}}}
    if dice.random() < 0.4:
        first["restartPolicy"] = "Always"
    container = {"name": "c", "image": "db:2", "resources": {"requests": sized(dice)}}
    spec: Manifest = {"containers": [container], "initContainers": [first]}
    if dice.random() < 0.3:
        spec["overhead"] = {"cpu": "120m"}
    if dice.random() < 0.3:
        spec["resources"] = {"requests": {"cpu": "3", "memory": "4Gi"}}
    return spec


def _important(dice: Random) -> Manifest:
    return {"priority": dice.choice((-5, 10, 1000))}


def _gated(dice: Random) -> Manifest:
    return {"schedulingGates": [{"name": "later"}]} if dice.random() < 0.2 else {}


TRAITS: dict[Callable[[Random], Manifest], float] = {
    _preferring: 10,
    _requiring: 2,
    _naming: 1,
    _selecting: 1,
    _tolerating: 5,
    _with_port: 2,
    _spreading: 4,
    _related: 4,
    _with_volume: 0.7,
    _with_device: 0.4,
    _with_more_resources: 2,
    _important: 1,
    _gated: 0.4,
}
"""Parts of a pod's spec, by how often they are drawn."""

OWNERS = ("ReplicaSet", "ReplicationController", "StatefulSet")


def owner(kind: str) -> Manifest:
    """Return the reference to the one controller of that kind."""
    version = "v1" if kind == "ReplicationController" else "apps/v1"
    return {
        "apiVersion": version,
        "kind": kind,
        "name": "owner",
        "uid": f"uid-{kind}-owner",
        "controller": True,
    }


def kind_of_pod(dice: Random) -> Kind:
    """Return the common fields of the pods of a new kind; most have a few traits, many none."""
    traits = dice.choices(list(TRAITS), list(TRAITS.values()), k=dice.choice((0, 0, 1, 1, 1, 2, 2, 3)))
    spec: Manifest = {}
    for trait in traits:
        drawn = trait(dice)
        affinity = {**spec.get("affinity", {}), **drawn.pop("affinity", {})}
        spec |= drawn | ({"affinity": affinity} if affinity else {})
    requests = sized(dice)
    if dice.random() < 0.08:
        requests = {**requests, EXTENDED: "1"}
    labels = {"app": dice.choice(APPS)} if dice.random() < 0.7 else {}
    if dice.random() < 0.2:
        labels["version"] = dice.choice("12")
    kind: Kind = {"requests": requests, "labels": labels, "spec": spec}
    if dice.random() < 0.2:
        kind["namespace"] = dice.choice(NAMESPACES)
    if dice.random() < 0.2:
        kind["metadata"] = {"ownerReferences": [owner(dice.choice(OWNERS))]}
    return kind


def pod_of(kind: Kind, name: str, **fields: Any) -> Pod:
    """Return a pod of that kind whose UID is its name; ``spec`` and ``metadata`` of ``fields`` are added."""
    metadata = {"uid": name, **kind.get("metadata", {}), **fields.pop("metadata", {})}
    spec = {**kind.get("spec", {}), **fields.pop("spec", {})}
    return make_pod(name, **{**kind, **fields, "metadata": metadata, "spec": spec})


def named(pod: Pod, uid: str) -> Pod:
    """Return the same pod with another name, which is its UID as well."""
    return replace(pod, metadata=replace(pod.metadata, name=uid, uid=uid))


def without(kind: Kind, *fields: str) -> Kind:
    """Return the kind without these fields of its spec, and without the extended resource, which may be
    devices.
    """
    spec = {key: value for key, value in kind["spec"].items() if key not in fields}
    requests = {name: amount for name, amount in kind["requests"].items() if name != EXTENDED}
    return {**kind, "spec": spec, "requests": requests}
