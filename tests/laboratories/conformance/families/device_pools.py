"""Pools of devices and their classes, for the families of DynamicResources."""

from __future__ import annotations

from tests.laboratories.conformance.families.draft import Draft, Manifest

DRIVERS = ["gpu.example.com", "nic.example.com"]
DOMAIN = "dra.example.com"
CLASSES = ["gpu", "nic", "any"]
ROOMS = ["4Gi", "8Gi", "10Gi", "16Gi"]
EXTREMES = [
    *("1.5Gi", "0.5", "1", "4Ei", "4611686018427387904", "7Ei", "8Ei", "9223372036854775k"),
    *("9223372036854775806", "9223372036854775807"),
]
BEYOND = "18446744073709551620"
"""More than 64 bits hold. Before 1.37 kube-scheduler changes such an amount where others read it."""
CONDITIONS = ["example.com/attached", "example.com/ready"]
FAILURES = ["example.com/broken"]
ATTRIBUTES = ["model", "index", "healthy", "firmware", f"{DOMAIN}/numa", f"{DOMAIN}/rack"]
LONG_AGO, TO_COME = "2020-01-01T00:00:00Z", "2090-01-01T00:00:00Z"


def cluster(draft: Draft, **odds: float) -> None:
    for node in draft.nodes:
        node["metadata"]["labels"]["rack"] = draft.rng.choice(["r1", "r2"])
        for driver in draft.some(DRIVERS, draft.rng.choice([0, 1, 1]), 2):
            _pool(draft, driver, node["metadata"]["name"], {"nodeName": node["metadata"]["name"]}, odds)
    if draft.chance(0.4):
        rack = {
            "nodeSelectorTerms": [{"matchExpressions": [matches_any("rack", draft.some(["r1", "r2"], 1, 2))]}]
        }
        reach: Manifest = draft.rng.choice(
            [{"nodeSelector": rack}, {"allNodes": True}, {"perDeviceNodeSelection": True}]
        )
        _pool(draft, draft.rng.choice(DRIVERS), draft.rng.choice(["fabric", "node-00"]), reach, odds)
    if draft.version >= "1.37" and odds.get("tainted") and draft.chance(0.6):
        draft.objects += [_taint_rule(draft, f"rule-{i}") for i in range(draft.rng.choice([1, 1, 2]))]
    for name in CLASSES:
        if not draft.chance(0.2 if odds.get("faulty") else 0.0):
            draft.objects.append(_class(draft, name))


def matches_any(key: str, values: list[str]) -> Manifest:
    return {"key": key, "operator": "In", "values": values}


def _class(draft: Draft, name: str) -> Manifest:
    selectors = []
    if name != "any" and draft.chance(0.8):
        selectors.append(cel(f'device.driver == "{name}.example.com"'))
    if draft.chance(0.1):
        selectors.append(cel(f'has(device.attributes["{DOMAIN}"].numa)'))
    spec: Manifest = {"selectors": selectors}
    if draft.chance(0.1):
        spec["config"] = [config(draft)]
    return device_object("DeviceClass", name, spec)


def config(draft: Draft) -> Manifest:
    """Return a configuration that only a driver reads."""
    return {"opaque": {"driver": draft.rng.choice(DRIVERS), "parameters": {"mode": "fast", "limits": [1, 2]}}}


def cel(expression: str) -> Manifest:
    return {"cel": {"expression": expression}}


def device_object(kind: str, name: str, spec: Manifest, namespace: str | None = None) -> Manifest:
    metadata = {"name": name} | ({"namespace": namespace, "uid": f"uid-{name}"} if namespace else {})
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def _pool(draft: Draft, driver: str, name: str, reach: Manifest, odds: dict[str, float]) -> None:
    if any(slice_pool(each) == (driver, name) for each in draft.objects):
        return
    faulty = draft.chance(odds.get("faulty", 0.0))
    device_slices = draft.rng.choice([1, 1, 2])
    counted = draft.chance(odds.get("counters", 0.0))
    size = device_slices + counted + (faulty and draft.chance(0.4))
    pool = {"name": name, "generation": draft.rng.choice([1, 2]), "resourceSliceCount": size}
    common = {"driver": driver, "pool": pool}
    stem = f"{driver.partition('.')[0]}-{name}"
    if counted:
        rooms = amounts(draft, odds, ["6Gi", "12Gi", "20Gi"])
        sets = [{"name": f"set-{i}", "counters": _counters(draft, rooms)} for i in range(2)]
        spec = common | {"sharedCounters": sets} | _plain_reach(reach)
        if faulty and draft.chance(0.3):
            sets[1]["name"] = "set-0"
        draft.objects.append(
            device_object("ResourceSlice", f"{draft.rng.choice('az')}-{stem}-counters", spec)
        )
    made = 0
    for i in range(device_slices):
        devices = []
        for _ in range(draft.rng.randint(0 if faulty else 1, 6)):
            again = faulty and made and draft.chance(odds.get("named_twice", 0.0))
            device = _device(draft, f"d{made - 1 if again else made}", odds, counted)
            made += not again
            if "perDeviceNodeSelection" in reach:
                device |= _device_reach(draft)
            devices.append(device)
        spec = common | {"devices": devices} | reach
        if faulty and draft.chance(0.2):
            spec["pool"] = pool | {"generation": 3}
        if faulty and counted and draft.chance(0.2) and devices:
            lacking = [("set-9", "memory"), ("set-0", "threads")]
            of_set, counter = draft.rng.choice(lacking)
            unknown = {"counterSet": of_set, "counters": {counter: {"value": "1Gi"}}}
            devices[0]["consumesCounters"] = [unknown]
        draft.objects.append(device_object("ResourceSlice", f"{draft.rng.choice('az')}-{stem}-{i}", spec))


def _plain_reach(reach: Manifest) -> Manifest:
    return {"allNodes": True} if "perDeviceNodeSelection" in reach else reach


def slice_pool(manifest: Manifest) -> tuple[str, str] | None:
    if manifest["kind"] != "ResourceSlice":
        return None
    return manifest["spec"]["driver"], manifest["spec"]["pool"]["name"]


def _device_reach(draft: Draft) -> Manifest:
    names = [node["metadata"]["name"] for node in draft.nodes] or ["node-00"]
    rack = {"nodeSelectorTerms": [{"matchExpressions": [matches_any("rack", ["r1"])]}]}
    reaches: list[Manifest] = [
        {"nodeName": draft.rng.choice(names)},
        {"allNodes": True},
        {"nodeSelector": rack},
    ]
    return draft.rng.choice(reaches)


def _counters(draft: Draft, amounts: list[str]) -> Manifest:
    return {name: {"value": draft.rng.choice(amounts)} for name in draft.some(["memory", "cores"], 2, 2)}


def _device(draft: Draft, name: str, odds: dict[str, float], counted: bool) -> Manifest:
    device: Manifest = {"name": name, "attributes": _attributes(draft), "capacity": {}}
    for capacity in draft.some(["memory", f"{DOMAIN}/lanes"], 0, 2):
        device["capacity"][capacity] = {"value": draft.rng.choice(amounts(draft, odds, ROOMS))}
    if draft.chance(odds.get("sharing", 0.0)):
        device["allowMultipleAllocations"] = True
        for capacity in device["capacity"].values():
            if draft.chance(0.6):
                capacity["requestPolicy"] = _policy(draft, odds)
    if counted and draft.chance(0.8):
        sets = draft.some(["set-0", "set-1"], 1, 2)
        device["consumesCounters"] = [
            {"counterSet": each, "counters": _counters(draft, amounts(draft, odds, ["1Gi", "3Gi", "6Gi"]))}
            for each in sets
        ]
    if draft.chance(odds.get("tainted", 0.0)):
        device["taints"] = [_taint(draft) for _ in range(draft.rng.choice([1, 1, 2]))]
    if draft.chance(odds.get("binding", 0.0)):
        device |= {"bindsToNode": True, "bindingConditions": CONDITIONS, "bindingFailureConditions": FAILURES}
    return device


def _taint_rule(draft: Draft, name: str) -> Manifest:
    """Return a taint on all devices of a driver, of a pool or of one name, or on none."""
    pools = sorted({found[1] for each in draft.objects if (found := slice_pool(each)) is not None})
    about: Manifest = {}
    if draft.chance(0.6):
        about["driver"] = draft.rng.choice(DRIVERS)
    if draft.chance(0.4):
        about["pool"] = draft.rng.choice(pools or ["none"])
    if draft.chance(0.4):
        about["device"] = f"d{draft.rng.randint(0, 3)}"
    spec: Manifest = {"taint": _taint(draft)}
    if draft.chance(0.9):
        spec["deviceSelector"] = about
    return device_object("DeviceTaintRule", name, spec)


def amounts(draft: Draft, odds: dict[str, float], usual: list[str]) -> list[str]:
    """Return the usual amounts, or now and then those at which 64 bits end."""
    if "extremes" not in odds or not draft.chance(odds["extremes"]):
        return usual
    return [*EXTREMES, BEYOND] if draft.version >= "1.37" else EXTREMES


def _policy(draft: Draft, odds: dict[str, float]) -> Manifest:
    if "extremes" in odds and draft.chance(odds["extremes"]):
        least = draft.rng.choice(["0", "1", "500m", "1Gi", "4Ei"])
        steps = {"step": draft.rng.choice(["1", "3", "250m", "1Gi", "1.5Gi", "4Ei", "4611686018427387905"])}
        return {"default": least, "validRange": {"min": least} | (steps if draft.chance(0.8) else {})}
    style = draft.rng.choice(["default", "values", "range", "steps"])
    if style == "default":
        return {"default": "2Gi"}
    if style == "values":
        return {"default": "1Gi", "validValues": ["1Gi", "2Gi", "4Gi"]}
    if draft.chance(0.15):
        fine = {
            "min": draft.rng.choice(["500m", "1", "1Gi"]),
            "step": draft.rng.choice(["250m", "1500m", "3"]),
        }
        return {"default": fine["min"], "validRange": fine}
    bounds = {"min": "1Gi", "max": "4Gi"} if draft.chance(0.5) else {"min": "1Gi"}
    return {"default": "2Gi", "validRange": bounds | ({"step": "1Gi"} if style == "steps" else {})}


def _attributes(draft: Draft) -> Manifest:
    rng = draft.rng
    values: dict[str, Manifest] = {
        "model": {"string": rng.choice(["a100", "h100", "T4"])},
        "index": {"int": rng.choice([0, 1, 2, -3])},
        "healthy": {"bool": rng.choice([True, True, False])},
        "firmware": {"version": rng.choice(["1.2.3", "1.10.0", "2.0.0-rc.1", "2.0.0", "2.0.0+b7"])},
        f"{DOMAIN}/numa": {"int": rng.choice([0, 1])},
        f"{DOMAIN}/rack": {"string": rng.choice(["r1", "r2"])},
    }
    if draft.chance(0.15):
        values["index"] = {"string": rng.choice(["0", "1"])}
    return {name: values[name] for name in ATTRIBUTES if draft.chance(0.85)}


def _taint(draft: Draft) -> Manifest:
    taint = {"key": draft.rng.choice(["example.com/hot", "example.com/old"])}
    taint["effect"] = draft.rng.choice(["NoSchedule", "NoExecute", "None"])
    # Without it the time of reading would be filled in.
    taint["timeAdded"] = LONG_AGO
    if draft.chance(0.5):
        taint["value"] = draft.rng.choice(["yes", "no"])
    return taint
