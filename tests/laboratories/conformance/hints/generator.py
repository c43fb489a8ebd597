"""Random questions: a pod that waits, a cluster, and changes of objects that may help the pod or not."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random

from tests.laboratories.conformance.families import gates as families
from tests.laboratories.conformance.families.draft import Draft, Manifest, base
from tests.laboratories.conformance.families.profile import configuration
from tests.laboratories.conformance.generator import FAMILIES, names_of
from tests.laboratories.conformance.program import NEWEST

CHANGES = 20
"""How many changes a question has."""

PARTS: dict[str, list[tuple[str, ...]]] = {
    "Node": [
        ("metadata", "labels"),
        ("metadata", "annotations"),
        ("spec", "taints"),
        ("spec", "unschedulable"),
        ("status", "allocatable"),
        ("status", "conditions"),
        ("status", "declaredFeatures"),
    ],
    "Pod": [
        ("metadata", "labels"),
        ("spec", "containers"),
        ("spec", "tolerations"),
        ("spec", "schedulingGates"),
        ("spec", "affinity"),
        ("spec", "volumes"),
        ("spec", "resourceClaims"),
        ("status", "nominatedNodeName"),
        ("status", "resourceClaimStatuses"),
        ("status", "extendedResourceClaimStatus"),
    ],
}
"""The parts of an object that an update changes, one or several at a time; for other kinds, any part."""

OWN = "own"
"""The pod that waits is what changes."""

SUBJECTS = {
    "taint-toleration": ["Node", OWN],
    "taint-toleration-comparisons": ["Node", OWN],
    "node-unschedulable": ["Node", OWN],
    "scheduling-gates": ["Pod", OWN],
    "node-affinity": ["Node"],
    "node-affinity-names": ["Node"],
    "node-ports": ["Pod"],
    "resources": ["Node", "Pod", "DeviceClass", OWN],
    "resources-pod-level": ["Node", "Pod", OWN],
    "resources-resize": ["Pod"],
    "spread": ["Node", "Pod", OWN],
    "spread-defaults": ["Node", "Pod", "Service"],
    "pod-affinity": ["Node", "Pod", OWN],
    "pod-affinity-others": ["Pod"],
    "volume-restrictions": ["Pod", "PersistentVolumeClaim", "VolumeAttachment"],
    "node-volume-limits": ["CSINode", "Pod", "VolumeAttachment", "PersistentVolumeClaim"],
    "volume-binding-bound": ["CSINode", "PersistentVolumeClaim", "PersistentVolume", "CSIDriver"],
    "volume-binding-waiting": ["CSIStorageCapacity", "StorageClass", "CSIDriver", "PersistentVolumeClaim"],
    "volume-zone": ["PersistentVolume", "PersistentVolumeClaim", "StorageClass"],
    "declared-features": ["Node", OWN],
    "gangs": ["Pod", "PodGroup"],
    "devices": ["ResourceClaim", "ResourceSlice", OWN],
    "devices-allocated": ["ResourceClaim", OWN],
}
"""Families, and the kinds whose changes matter to their plugins."""

CONDITIONS = [{"type": "Ready", "status": "True"}, {"type": "Ready", "status": "False"}]
CONDITIONS += [{"type": "DiskPressure", "status": "False"}]
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"


def question(seed: int, index: int, version: str = NEWEST) -> Manifest:
    """Question `index` of a seed; the families that a release has take turns in being its subject."""
    rng = Random(f"hints/{seed}/{index}")
    known = [name for name in SUBJECTS if name in names_of(version)]
    subject = known[index % len(known)]
    others = rng.sample(known, rng.choice([0, 0, 1, 2]))
    names = _one_of_devices([subject, *others])
    draft, twin = _draft(rng, version, names), _draft(rng, version, names)
    changes = [_change(draft, twin, SUBJECTS[subject]) for _ in range(CHANGES)]
    asked = {
        "id": f"{subject}/{seed}/{index}",
        "objects": [*draft.nodes, *draft.assigned, *draft.nominated, *draft.objects],
        "pod": draft.pod,
        "config": configuration(draft),
        "profile": draft.profile,
        "feature_gates": _gates(draft, subject),
        "changes": changes,
    }
    return copy.deepcopy(asked)


def questions(seed: int, count: int, version: str = NEWEST) -> Iterator[Manifest]:
    for index in range(count):
        yield question(seed, index, version)


def _one_of_devices(names: list[str]) -> list[str]:
    """Two families of devices would name their claims and classes alike."""
    devices = [name for name in names if name.startswith("devices")]
    return [name for name in dict.fromkeys(names) if name not in devices[1:] or name == devices[0]]


def _draft(rng: Random, version: str, names: list[str]) -> Draft:
    draft = base(rng, version, most_nodes=5)
    for name in names:
        FAMILIES[name](draft)
    if draft.chance(0.3):
        _add_csi(draft)
    if version >= "1.35" and draft.chance(0.3):
        _add_device_classes(draft)
    for node in draft.nodes:
        if draft.chance(0.3):
            node["metadata"]["annotations"] = {"example.com/note": draft.rng.choice(["a", "b"])}
        if draft.chance(0.2):
            node.setdefault("spec", {})["unschedulable"] = draft.chance(0.5)
        if draft.chance(0.3):
            node["status"]["conditions"] = draft.some(CONDITIONS[draft.rng.randint(0, 1) :], 0, 2)
    if draft.chance(0.3):
        more = {"key": draft.rng.choice(["gpu", "more"]), "operator": "Exists"}
        draft.pod["spec"].setdefault("tolerations", []).append(more)
    for pod in draft.pods():
        _tidy(pod)
    for pod in draft.pods()[1:]:
        _liken(draft, pod)
    return draft


def _liken(draft: Draft, pod: Manifest) -> None:
    """Another pod is in some ways like the one that waits; some have no node, or will have one soon."""
    own = draft.pod
    if draft.chance(0.4):
        alike = [key for key in ("namespace", "labels") if key in own["metadata"]]
        pod["metadata"] |= {key: own["metadata"][key] for key in alike}
    for field in ("tolerations", "schedulingGates", "volumes"):
        if draft.chance(0.2) and field in own["spec"]:
            pod["spec"][field] = own["spec"][field]
    if "schedulingGates" in pod["spec"] or draft.chance(0.15):
        pod["spec"].pop("nodeName", None)
    if "nodeName" not in pod["spec"] and draft.chance(0.5):
        pod.setdefault("status", {})["nominatedNodeName"] = "node-00"


def _tidy(pod: Manifest) -> None:
    if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        pod["status"]["phase"] = "Running"
    # Selectors that the API server merged from these would be wrong for other labels.
    for side in ("podAffinity", "podAntiAffinity"):
        for terms in pod["spec"].get("affinity", {}).get(side, {}).values():
            for term in terms:
                term.get("podAffinityTerm", term).pop("matchLabelKeys", None)


def _add_csi(draft: Draft) -> None:
    """Volumes that a driver makes in the pod, drivers, nodes where drivers do the work of old plugins."""
    for pod in draft.some(draft.pods(), 1, 3):
        source = {"name": "made-here", "csi": {"driver": "inline.example.com"}}
        pod["spec"].setdefault("volumes", []).append(source)
    for name in draft.some(["inline.example.com", "other.example.com"], 1, 2):
        spec = {"storageCapacity": draft.chance(0.6)}
        draft.objects.append(_object("storage.k8s.io/v1", "CSIDriver", name, spec=spec))
    for name in draft.some(["migrated-0", "migrated-1"], 1, 2):
        there = _object("storage.k8s.io/v1", "CSINode", name, spec={"drivers": []})
        if draft.chance(0.7):
            there["metadata"]["annotations"] = {MIGRATED: draft.rng.choice(["", "kubernetes.io/gce-pd"])}
        draft.objects.append(there)
    for driver in draft.some(["pd.csi.storage.gke.io", "ebs.csi.aws.com", "csi.example.com"], 1, 2):
        held = {"attacher": driver, "nodeName": "node-00", "source": {"persistentVolumeName": "volume"}}
        draft.objects.append(_object("storage.k8s.io/v1", "VolumeAttachment", f"by-{driver}", spec=held))


def _add_device_classes(draft: Draft) -> None:
    """Devices that pods ask for as a resource, by a name of their own or by that of the class."""
    # No two classes stand for one resource: which of them counts depends on which came first.
    for name, resources in {"gpus": ["gpu", "card"], "fpgas": ["fpga", "board"]}.items():
        if draft.chance(0.3):
            continue
        spec = {}
        if draft.chance(0.7):
            spec["extendedResourceName"] = f"example.com/{draft.rng.choice(resources)}"
        draft.objects.append(_object("resource.k8s.io/v1", "DeviceClass", name, spec=spec))
    for pod in [draft.pod, *draft.some(draft.assigned, 0, 1)]:
        asked = draft.rng.choice(["example.com/gpu", "deviceclass.resource.kubernetes.io/gpus"])
        amounts = {"requests": {asked: "1"}, "limits": {asked: "1"}}
        pod["spec"]["containers"].append(
            {"name": "device", "image": "registry.example/app:1.0", "resources": amounts}
        )


def _object(api_version: str, kind: str, name: str, **fields: object) -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def _gates(draft: Draft, subject: str) -> dict[str, bool]:
    if draft.chance(0.15):
        families.switch_own(draft, subject)
    gates = dict(draft.gates)
    if draft.chance(0.1):
        gates["SchedulerAsyncPreemption"] = False
    usual = families.usual_gates(draft.version)
    if "DRAExtendedResource" in usual and draft.version >= "1.35" and draft.chance(0.1):
        gates["DRAExtendedResource"] = draft.version == "1.35"
    if "SchedulerPreQueueingHints" in usual and subject.startswith("devices") and draft.chance(0.4):
        gates["SchedulerPreQueueingHints"] = True
    if draft.version == "1.35" and draft.chance(0.3):
        gates["NodeDeclaredFeatures"] = True
    return gates


def _change(draft: Draft, twin: Draft, kinds: list[str]) -> Manifest:
    """Return an object, most often of one of ``kinds``, that is new, gone, or in part as in the
    other draft.
    """
    ours, theirs = ([*each.nodes, *each.pods()[1:], *each.objects] for each in (draft, twin))
    kind = draft.rng.choice(kinds)
    if kind == OWN and draft.chance(0.7):
        return _update(draft, draft.pod, twin.pod)
    wanted = [item for item in ours if item["kind"] == kind] if draft.chance(0.8) else ours
    one = draft.rng.choice(wanted or ours or [draft.pod])
    alike = [other for other in [*theirs, *ours] if other["kind"] == one["kind"] and other is not one]
    style = draft.rng.choice(["add", "delete", "update", "update"])
    if style == "update" and alike:
        return _update(draft, one, draft.rng.choice(alike))
    return {"old": None, "new": one} if style == "add" else {"old": one, "new": None}


def _update(draft: Draft, old: Manifest, other: Manifest) -> Manifest:
    new = copy.deepcopy(old)
    parts = PARTS.get(old["kind"]) or _parts(old, other)
    for *above, key in draft.some(parts, 1, draft.rng.choice([1, 2, 4])):
        source = other.get(above[0], {}) if above else other
        target = new.setdefault(above[0], {}) if above else new
        if key in source:
            target[key] = copy.deepcopy(source[key])
        else:
            target.pop(key, None)
    if "allocatable" in new.get("status", {}):
        new["status"]["capacity"] = dict(new["status"]["allocatable"])
    # Some were like that before, and are now as they were in the beginning.
    return {"old": new, "new": old} if draft.chance(0.5) else {"old": old, "new": new}


def _parts(old: Manifest, other: Manifest) -> list[tuple[str, ...]]:
    """Return the fields of both, those of a field by itself; an object keeps its name."""
    found: set[tuple[str, ...]] = set()
    for field, value in [*old.items(), *other.items()]:
        found |= {(field, key) for key in value} if isinstance(value, dict) else {(field,)}
    kept = {("metadata", name) for name in ("name", "namespace", "uid")} | {("apiVersion",), ("kind",)}
    return sorted(found - kept)
