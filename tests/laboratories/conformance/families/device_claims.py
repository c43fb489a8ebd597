"""Claims on devices, for the families of DynamicResources."""

from __future__ import annotations

from tests.laboratories.conformance.families.device_pools import (
    CLASSES,
    CONDITIONS,
    DOMAIN,
    DRIVERS,
    FAILURES,
    LONG_AGO,
    amounts,
    cel,
    config,
    device_object,
    matches_any,
    slice_pool,
)
from tests.laboratories.conformance.families.device_selectors import condition
from tests.laboratories.conformance.families.draft import Draft, Manifest

AMOUNTS = [
    "512Mi",
    "1Gi",
    "1500Mi",
    "2Gi",
    "3Gi",
    "4Gi",
    "5Gi",
    "8Gi",
    "1750m",
    "100000001m",
    "9223372036854775807",
]
NAMES = ["model", "index", "healthy", "firmware", "missing"]
FULL_NAMES = [
    *(f"{driver}/{name}" for driver in DRIVERS for name in NAMES),
    f"{DOMAIN}/numa",
    f"{DOMAIN}/numa",
]
TO_COME = "2090-01-01T00:00:00Z"


def claims(draft: Draft, **odds: float) -> None:
    namespace = draft.pod["metadata"]["namespace"]
    entries: list[Manifest] = []
    for i in range(draft.rng.choice([1, 1, 1, 1, 2])):
        entry, claim = _entry(draft, f"claim-{i}", odds)
        entries.append(entry)
        if not draft.chance(odds.get("faulty", 0.0) / 3):
            draft.objects.append(claim)
    draft.pod["spec"]["resourceClaims"] = entries
    for i in range(draft.rng.choice([0, 0, 1, 2, 4])):
        other = _claim(draft, f"other-{i}", namespace, odds)
        other["status"] = _status(draft, other, odds, in_use=True)
        draft.objects.append(other)


def many_claims(draft: Draft) -> None:
    """Draft enough claims on one device each that kube-scheduler would search for very long."""
    names = [f"claim-{i}" for i in range(draft.rng.randint(9, 30))]
    pool = {"name": "many", "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"d{i}"} for i in range(len(names))]
    spec = {"driver": DRIVERS[0], "pool": pool, "devices": devices, "allNodes": True}
    draft.objects.append(device_object("ResourceSlice", "many", spec))
    # Without selectors, so that every device of the pool will do.
    draft.objects.append(device_object("DeviceClass", "many", {}))
    for name in names:
        asked = {"deviceClassName": "many", "allocationMode": "ExactCount", "count": 1}
        requests: list[Manifest] = [{"name": "r0", "exactly": asked}]
        if draft.chance(0.1):
            requests = [{"name": "r0", "firstAvailable": [{"name": "s0", **asked}]}]
        namespace = draft.pod["metadata"]["namespace"]
        draft.objects.append(
            device_object("ResourceClaim", name, {"devices": {"requests": requests}}, namespace)
        )
    draft.pod["spec"]["resourceClaims"] = [{"name": name, "resourceClaimName": name} for name in names]


def _entry(draft: Draft, name: str, odds: dict[str, float]) -> tuple[Manifest, Manifest]:
    claim = _claim(draft, name, draft.pod["metadata"]["namespace"], odds)
    if draft.chance(odds.get("allocated", 0.0)):
        claim["status"] = _status(draft, claim, odds, in_use=False)
    if draft.chance(0.7):
        return {"name": name, "resourceClaimName": name}, claim
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "pending", "uid": "uid-pending", "controller": True}
    if draft.chance(odds.get("faulty", 0.0)):
        owner["uid"] = "uid-somebody-else"
    claim["metadata"]["ownerReferences"] = [owner]
    if not draft.chance(odds.get("faulty", 0.0)):
        made = draft.pod.setdefault("status", {}).setdefault("resourceClaimStatuses", [])
        made.append({"name": name} if draft.chance(0.05) else {"name": name, "resourceClaimName": name})
    return {"name": name, "resourceClaimTemplateName": "template"}, claim


def _claim(draft: Draft, name: str, namespace: str, odds: dict[str, float]) -> Manifest:
    requests = [_request(draft, f"r{i}", odds) for i in range(draft.rng.choice([1, 1, 1, 2, 2]))]
    devices: Manifest = {"requests": requests}
    if draft.chance(odds.get("constrained", 0.0)):
        devices["constraints"] = [_constraint(draft, requests) for _ in range(draft.rng.choice([1, 1, 2]))]
    if draft.chance(0.1):
        devices["config"] = [config(draft) | {"requests": [requests[0]["name"]]}, config(draft)]
    claim = device_object("ResourceClaim", name, {"devices": devices}, namespace)
    if draft.chance(odds.get("faulty", 0.0) / 3):
        claim["metadata"] |= {"deletionTimestamp": LONG_AGO, "finalizers": ["example.com/keep"]}
    return claim


def _request(draft: Draft, name: str, odds: dict[str, float]) -> Manifest:
    if not draft.chance(odds.get("listed", 0.05)):
        exactly = _asked(draft, odds)
        if draft.chance(odds.get("admin", 0.0)):
            exactly["adminAccess"] = True
        return {"name": name, "exactly": exactly}
    choices = [{"name": f"s{i}", **_asked(draft, odds)} for i in range(draft.rng.randint(1, 3))]
    return {"name": name, "firstAvailable": choices}


def _asked(draft: Draft, odds: dict[str, float]) -> Manifest:
    rng = draft.rng
    asked: Manifest = {"deviceClassName": rng.choice(CLASSES)}
    if draft.chance(0.12):
        asked["allocationMode"] = "All"
    else:
        asked |= {"allocationMode": "ExactCount", "count": rng.choice([1, 1, 1, 1, 1, 1, 2, 2, 3])}
        if draft.chance(0.02):
            asked["count"] = 33
    if draft.chance(odds.get("expressions", 0.3)):
        asked["selectors"] = [cel(condition(draft)) for _ in range(rng.choice([1, 1, 2]))]
    if draft.chance(odds.get("tolerated", 0.0)):
        asked["tolerations"] = [_toleration(draft) for _ in range(rng.choice([1, 2]))]
    if draft.chance(odds.get("amounts", 0.0)):
        wanted = draft.some(["memory", "memory", f"{DOMAIN}/lanes"], 1, 2)
        asked["capacity"] = {"requests": {each: rng.choice(amounts(draft, odds, AMOUNTS)) for each in wanted}}
    return asked


def _toleration(draft: Draft) -> Manifest:
    if draft.chance(0.3):
        return {"operator": "Exists"}
    toleration = {"key": draft.rng.choice(["example.com/hot", "example.com/old"])}
    toleration["operator"] = draft.rng.choice(["Exists", "Equal"])
    if toleration["operator"] == "Equal" and draft.chance(0.6):
        toleration["value"] = draft.rng.choice(["yes", "no"])
    if draft.chance(0.4):
        toleration["effect"] = draft.rng.choice(["NoSchedule", "NoExecute"])
    return toleration


def _constraint(draft: Draft, requests: list[Manifest]) -> Manifest:
    attribute = draft.rng.choice(FULL_NAMES)
    constraint: Manifest = {draft.rng.choice(["matchAttribute", "distinctAttribute"]): attribute}
    if draft.chance(0.4):
        names = [request["name"] for request in requests]
        for request in requests:
            names += [f"{request['name']}/{choice['name']}" for choice in request.get("firstAvailable", [])]
        constraint["requests"] = draft.some(names, 1, 2)
    return constraint


def _status(draft: Draft, claim: Manifest, odds: dict[str, float], in_use: bool) -> Manifest:
    """Return an allocation of devices that exist, somewhat as kube-scheduler would make it."""
    devices = [
        (slice_pool(each) or ("", ""), device)
        for each in draft.objects
        if each["kind"] == "ResourceSlice"
        for device in each["spec"].get("devices", [])
    ]
    results = []
    for (driver, pool), device in draft.some(devices, 0 if in_use else 1, 3):
        request = draft.rng.choice(claim["spec"]["devices"]["requests"])
        name = request["name"]
        if "firstAvailable" in request:
            name += f"/{draft.rng.choice(request['firstAvailable'])['name']}"
        result: Manifest = {"request": name, "driver": driver, "pool": pool, "device": device["name"]}
        if device.get("allowMultipleAllocations") and draft.chance(0.8):
            result["shareID"] = f"00000000-0000-4000-8000-{draft.rng.randrange(16**12):012x}"
            held = amounts(draft, odds, ["1Gi", "2Gi"])
            taken = {each: draft.rng.choice(held) for each in device["capacity"]}
            result |= {"consumedCapacity": taken} if taken else {}
        elif draft.chance(0.1):
            result["adminAccess"] = True
        if "bindingConditions" in device:
            result |= {"bindingConditions": CONDITIONS, "bindingFailureConditions": FAILURES}
        results.append(result)
    allocation: Manifest = {"devices": {"results": results}}
    if draft.chance(0.6):
        allocation["nodeSelector"] = {"nodeSelectorTerms": [_where(draft)]}
    if draft.chance(0.8):
        allocation["allocationTimestamp"] = draft.rng.choice([LONG_AGO, TO_COME])
    status: Manifest = {"allocation": allocation, "reservedFor": _users(draft)}
    status["devices"] = [_device_status(draft, result) for result in results if draft.chance(0.7)]
    return status


def _where(draft: Draft) -> Manifest:
    names = [node["metadata"]["name"] for node in draft.nodes] or ["node-00"]
    if draft.chance(0.5):
        return {"matchFields": [matches_any("metadata.name", [draft.rng.choice(names)])]}
    return {"matchExpressions": [matches_any("rack", ["r1"])]}


def _users(draft: Draft) -> list[Manifest]:
    """Return at least one user that is not the pod: kube-scheduler would release a claim without other users
    by a call.
    """
    users = [{"resource": "pods", "name": "someone", "uid": "uid-someone"}]
    if draft.chance(0.3):
        users.append({"resource": "pods", "name": "pending", "uid": "uid-pending"})
    return users


def _device_status(draft: Draft, result: Manifest) -> Manifest:
    said = draft.some([*CONDITIONS, *CONDITIONS, *FAILURES], 0, 3)
    return {key: result[key] for key in ("driver", "pool", "device")} | {
        "conditions": [
            {
                "type": each,
                "status": draft.rng.choice(["True", "True", "False", "Unknown"]),
                "reason": "Said",
                "message": "",
                "lastTransitionTime": LONG_AGO,
            }
            for each in dict.fromkeys(said)
        ]
    }
