"""Objects of other groups: they share a kind's name with Kubernetes' own, or are of a kind that it hasn't."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from tests.laboratories.doors.cluster import POOL
from tests.laboratories.e2e.api import Manifest
from tests.laboratories.e2e.workloads import new_object

OWN_GROUPS = (
    "v1",
    "apps/v1",
    "batch/v1",
    "node.k8s.io/v1",
    "policy/v1",
    "resource.k8s.io/v1",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1",
)
"""The groups and versions that the API server of a set knows."""

_CONTAINERS = [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}]
_TEMPLATE = {"metadata": {"labels": {"app": "foreign"}}, "spec": {"containers": _CONTAINERS}}
_LIMITS = {"limits": [{"type": "Container", "default": {"cpu": "64"}, "defaultRequest": {"cpu": "64"}}]}

_SHAPES: Sequence[tuple[str, str, Callable[[Random], Manifest]]] = (
    (
        "batch.volcano.sh/v1alpha1",
        "Job",
        lambda _: {"spec": {"minAvailable": 1, "tasks": [{"replicas": 1, "template": _TEMPLATE}]}},
    ),
    ("longhorn.io/v1beta2", "Node", lambda _: {"spec": {"allowScheduling": True, "disks": {}}}),
    ("projectcalico.org/v3", "Node", lambda _: {"spec": {"bgp": {"ipv4Address": "10.0.0.1/24"}}}),
    ("crd.projectcalico.org/v1", "IPPool", lambda _: {"spec": {"cidr": "10.1.0.0/16"}}),
    ("apps.kruise.io/v1alpha1", "DaemonSet", lambda _: {"spec": {"template": _TEMPLATE}}),
    ("apps.kruise.io/v1beta1", "StatefulSet", lambda _: {"spec": {"replicas": 3, "template": _TEMPLATE}}),
    (
        "example.com/v1",
        "Deployment",
        lambda random: {"spec": random.choice(({"replicas": 3, "template": _TEMPLATE}, {"image": "x"}))},
    ),
    (
        "example.com/v1",
        "ReplicaSet",
        lambda _: {"spec": {"replicas": 2, "selector": {}, "template": _TEMPLATE}},
    ),
    ("example.com/v1", "LimitRange", lambda _: {"spec": _LIMITS}),
    ("example.com/v1", "RuntimeClass", lambda _: {"handler": "y", "overhead": {"podFixed": {"cpu": "64"}}}),
    ("example.com/v1", "Pod", lambda _: {"spec": {"containers": _CONTAINERS}}),
    ("example.com/v1", "PriorityClass", lambda _: {"value": 9, "globalDefault": True}),
    ("scheduling.volcano.sh/v1beta1", "PodGroup", lambda _: {"spec": {"minMember": 3}}),
    ("scheduling.x-k8s.io/v1alpha1", "PodGroup", lambda _: {"spec": {"minMember": 3}}),
    ("serving.knative.dev/v1", "Service", lambda _: {"spec": {"template": _TEMPLATE}}),
    (
        "kueue.x-k8s.io/v1beta1",
        "Workload",
        lambda _: {"spec": {"podSets": [{"name": "main", "count": 2, "template": _TEMPLATE}]}},
    ),
    ("argoproj.io/v1alpha1", "CronWorkflow", lambda _: {"spec": {"schedule": "* * * * *"}}),
    ("example.com/v1", "StorageClass", lambda _: {"provisioner": "x"}),
    ("example.com/v1", "PersistentVolumeClaim", lambda _: {"spec": {"size": 3}}),
)


def foreign(random: Random) -> list[Manifest]:
    """Return some; their names are those that Kubernetes' own objects of a set have, too."""
    names = ("w-0", "sandbox", "local", "defaults", "usual", "one", "node-00")
    return [
        new_object(version, kind, random.choice(names), random.choice(("", *POOL)), **fields(random))
        for version, kind, fields in random.sample(_SHAPES, random.choice((0, 0, 1, 2, 4)))
    ]
