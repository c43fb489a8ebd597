"""DynamicResources: devices in slices, classes, and claims that ask for them or have them."""

from __future__ import annotations

from tests.laboratories.conformance.families import gates
from tests.laboratories.conformance.families.device_claims import claims, many_claims
from tests.laboratories.conformance.families.device_pools import cluster
from tests.laboratories.conformance.families.draft import Draft, Manifest

RESOURCES = [
    "accelerators.example.com/gpu",
    "accelerators.example.com/nic",
    "accelerators.example.com/any",
    "deviceclass.resource.kubernetes.io/gpu",
    "deviceclass.resource.kubernetes.io/any",
]

GATES = [
    "DRAAdminAccess",
    "DRAConsumableCapacity",
    "DRADeviceBindingConditions",
    "DRADeviceTaintRules",
    "DRADeviceTaints",
    "DRAExtendedResource",
    "DRAFractionalCapacityRange",
    "DRAPartitionableDevices",
    "DRAPrioritizedList",
    "DRAResourceClaimDeviceStatus",
    "DRASchedulerFilterTimeout",
]


def exact(draft: Draft) -> None:
    """Counts, whole classes, attributes of single devices; many claims."""
    cluster(draft)
    many_claims(draft) if draft.chance(0.1) else claims(draft)


def alternatives(draft: Draft) -> None:
    """Draft lists of alternatives; the first that is available is taken, as scores show."""
    cluster(draft)
    claims(draft, listed=0.7)


def constrained(draft: Draft) -> None:
    """Devices that have an attribute alike, or each differently."""
    cluster(draft)
    claims(draft, constrained=0.9)


def shared(draft: Draft) -> None:
    """Draft devices that several claims share, and counters that devices use."""
    cluster(draft, sharing=0.7, counters=0.5)
    claims(draft, amounts=0.6, listed=0.2, constrained=0.2)


def extreme(draft: Draft) -> None:
    """Shared devices and counters with amounts at the ends of 64 bits, in every form."""
    cluster(draft, sharing=0.9, counters=0.3, extremes=0.6)
    claims(draft, amounts=0.8, listed=0.3, extremes=0.7)


def partitioned(draft: Draft) -> None:
    """Devices that take from counters of their pool."""
    cluster(draft, sharing=0.1, counters=1.0)
    claims(draft, listed=0.3)


def tainted(draft: Draft) -> None:
    """Devices that need a toleration, and access for administration."""
    cluster(draft, tainted=0.5)
    claims(draft, tolerated=0.6, admin=0.3)


def allocated(draft: Draft) -> None:
    """Claims that have their devices: where they can be used, and whether these are ready."""
    cluster(draft, binding=0.4)
    claims(draft, allocated=0.7)


def broken(draft: Draft) -> None:
    """Pools that are incomplete, outdated or invalid; claims and classes that are missing.

    Only here do two devices of a pool have one name: when kube-scheduler scores extended resources, it
        remembers the result of a device class for a name, and would count the second device like the first.
    """
    cluster(draft, faulty=0.4, named_twice=0.1, counters=0.3)
    claims(draft, faulty=0.15, listed=0.2)


def selectors(draft: Draft) -> None:
    """Expressions of all kinds over attributes that are not always there."""
    cluster(draft)
    claims(draft, expressions=1.0)


def extended(draft: Draft) -> None:
    """Draft resources of nodes that devices may back, without a device plugin that offers them."""
    cluster(draft, tainted=0.1, sharing=0.1, faulty=0.1)
    if draft.chance(0.5):
        _score(draft)
    if draft.chance(0.3):
        claims(draft)
    for each in draft.objects:
        if each["kind"] == "DeviceClass" and draft.chance(0.6):
            each["spec"]["extendedResourceName"] = f"accelerators.example.com/{each['metadata']['name']}"
    for node in draft.nodes:
        for name in draft.some(RESOURCES, 0, 3):
            for field in ("capacity", "allocatable"):
                node["status"][field][name] = draft.rng.choice(["0", "1", "4"])
    if draft.chance(0.4):
        init = [{"name": f"init{i}", "image": "registry.example/init:1"} for i in range(2)]
        if draft.chance(0.5):
            init[0]["restartPolicy"] = "Always"
        draft.pod["spec"]["initContainers"] = init
    for pod in draft.pods():
        _ask_some(draft, pod)


def _score(draft: Draft) -> None:
    """Draft scores that read such resources, whichever way nodes have them."""
    listed = draft.some(["cpu", "memory", *RESOURCES], 2, 5)
    weighted = [{"name": name, "weight": draft.rng.choice([1, 1, 3])} for name in listed]
    strategy: Manifest = {
        "type": draft.rng.choice(["LeastAllocated", "MostAllocated"]),
        "resources": weighted,
    }
    if draft.chance(0.2):
        shape = [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 1}]
        strategy |= {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}}
    draft.args.setdefault("NodeResourcesFit", {"scoringStrategy": strategy})
    if draft.chance(0.4):
        # With selectors, kube-scheduler 1.36.3 ends here: its cache of expressions is nil.
        for each in draft.objects:
            if each["kind"] == "DeviceClass":
                each["spec"]["selectors"] = []
        balanced = [{"name": name, "weight": 1} for name in draft.some(["cpu", *RESOURCES], 1, 4)]
        draft.args.setdefault("NodeResourcesBalancedAllocation", {"resources": balanced})


def _ask_some(draft: Draft, pod: Manifest) -> None:
    for container in draft.containers(pod):
        if draft.chance(0.7 if pod is draft.pod else 0.1):
            _ask(draft, container)


def _ask(draft: Draft, container: Manifest) -> None:
    asked = {name: draft.rng.choice(["0", "1", "1", "2", "3"]) for name in draft.some(RESOURCES, 1, 2)}
    resources = container.setdefault("resources", {})
    for field in ("requests", "limits"):
        resources.setdefault(field, {}).update(asked)


def everything(draft: Draft) -> None:
    """All of it at once."""
    cluster(draft, sharing=0.3, counters=0.3, tainted=0.2, binding=0.2, faulty=0.1)
    claims(
        draft,
        listed=0.3,
        constrained=0.3,
        amounts=0.2,
        tolerated=0.4,
        admin=0.1,
        allocated=0.2,
        expressions=0.3,
    )


def switched(draft: Draft) -> None:
    """Feature gates that are switched off, and objects from the time before."""
    usual = gates.usual_gates(draft.version)
    gates.set_otherwise(draft, draft.some([name for name in GATES if usual.get(name)], 1, 3))
    extended(draft) if draft.chance(0.2) and draft.version >= "1.36" else everything(draft)
