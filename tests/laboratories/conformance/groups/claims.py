"""Claims of a random group's pods: on devices, their own or the group's, and on volumes that they have."""

from __future__ import annotations

import copy

from tests.laboratories.conformance.families.draft import Draft, Manifest
from tests.laboratories.conformance.families.storage import BIND_COMPLETED

GATE = "DRAWorkloadResourceClaims"
"""The gate with which a group names claims."""


def bound_claims(draft: Draft) -> set[tuple[str, str]]:
    """Return the claims that have their volumes, by namespace and name."""
    known = [each for each in draft.objects if each["kind"] == "PersistentVolumeClaim"]
    return {
        (each["metadata"]["namespace"], each["metadata"]["name"])
        for each in known
        if BIND_COMPLETED in each["metadata"].get("annotations", {}) and each["spec"].get("volumeName")
    }


def with_bound_claims(pod: Manifest, bound: set[tuple[str, str]]) -> None:
    """Other claims on volumes are bound through the API server, and there is none."""

    def has_volume(entry: Manifest) -> bool:
        claim = entry.get("persistentVolumeClaim")
        if claim is not None:
            return (pod["metadata"]["namespace"], claim["claimName"]) in bound
        return "ephemeral" not in entry

    if "volumes" in pod["spec"]:
        pod["spec"]["volumes"] = [each for each in pod["spec"]["volumes"] if has_volume(each)]


def take_claims(draft: Draft, group: Manifest, pod: Manifest) -> None:
    """Each pod of a group has claims of its own, or shares those of the others.

    Of those without devices it shares one at most, which it names last: kube-scheduler would take the devices
    that are found for a later claim for those of the shared one.
    """
    entries: list[Manifest] = []
    last: list[Manifest] = []
    for at, entry in enumerate(pod["spec"].get("resourceClaims", [])):
        known = [each for each in draft.objects if each["kind"] == "ResourceClaim"]
        for claim in [each for each in known if each["metadata"]["name"] == entry["name"]]:
            waits = "allocation" not in claim.get("status", {})
            own = draft.chance(0.5 if draft.gates.get(GATE) else 0.8)
            if own or (waits and at):
                name = f"{pod['metadata']['name']}-{entry['name']}"
                _like_claim(draft, claim, pod, name)
                entries.append({"name": entry["name"], "resourceClaimName": name})
            else:
                (last if waits else entries).append(_shared(draft, group, pod, entry["name"], claim))
    if "resourceClaims" in pod["spec"]:
        pod["spec"]["resourceClaims"] = entries + last


def _shared(draft: Draft, group: Manifest, pod: Manifest, name: str, claim: Manifest) -> Manifest:
    """Return how the pod names a claim that others of its group name as well."""
    if _of_group(draft, group, pod, name, claim):
        return {"name": name, "resourceClaimTemplateName": "t"}
    claim["metadata"].pop("ownerReferences", None)
    return {"name": name, "resourceClaimName": name}


def _like_claim(draft: Draft, claim: Manifest, pod: Manifest, name: str) -> None:
    """Add a claim like another one, for this pod; many have no devices yet."""
    namespace = pod["metadata"]["namespace"]
    metadata = {**claim["metadata"], "name": name, "namespace": namespace, "uid": f"uid-{name}"}
    metadata.pop("ownerReferences", None)
    own = {**copy.deepcopy(claim), "metadata": metadata}
    if "status" in own and draft.chance(0.5):
        own["status"]["reservedFor"] = _users(draft, pod["metadata"]["name"], pod["metadata"]["uid"])
    else:
        own.pop("status", None)
    draft.objects.append(own)


def _of_group(draft: Draft, group: Manifest, pod: Manifest, name: str, claim: Manifest) -> bool:
    """Return whether a claim that pods share is made from a template of their group; else the group may name
    it.
    """
    meta, spec = group["metadata"], group["spec"]
    known = {each["name"]: each for each in spec.get("resourceClaims", [])}
    if name not in known and draft.chance(0.6):
        known[name] = {"name": name, "resourceClaimName": claim["metadata"]["name"]}
        if draft.chance(0.4):
            known[name] = {"name": name, "resourceClaimTemplateName": "t"}
            owner = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "controller": True}
            owner |= {"name": meta["name"], "uid": meta["uid"]}
            if draft.chance(0.1):
                owner["name"] = "another"
            claim["metadata"]["ownerReferences"] = [owner]
            made = {"name": name, "resourceClaimName": claim["metadata"]["name"]}
            group.setdefault("status", {}).setdefault("resourceClaimStatuses", []).append(made)
        spec["resourceClaims"] = list(known.values())
        if "status" in claim:
            claim["status"]["reservedFor"] = _users(draft, meta["name"], meta["uid"], "podgroups")
    if "resourceClaimTemplateName" not in known.get(name, {}):
        return False
    made = {"name": name, "resourceClaimName": claim["metadata"]["name"]}
    pod.setdefault("status", {}).setdefault("resourceClaimStatuses", []).append(made)
    return True


def _users(draft: Draft, name: str, uid: str, resource: str = "pods") -> list[Manifest]:
    """Return no users, this pod, and others."""
    user = {"resource": resource, "name": name, "uid": uid}
    if resource == "podgroups":
        user["apiGroup"] = "scheduling.k8s.io"
    other = {"resource": "pods", "name": "someone", "uid": "uid-someone"}
    return draft.rng.choice([[], [user], [user], [user, other], [other]])
