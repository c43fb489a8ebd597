"""The claims that controllers make from the templates of pods and groups.

Mirrors pkg/controller/resourceclaim, and pkg/controller/volume/ephemeral.
"""

from __future__ import annotations

from collections.abc import Iterator

from mooring.cluster.manifests.controllers.known import KnownManifests, is_active
from mooring.cluster.manifests.controllers.workload import WorkloadManifest
from mooring.cluster.manifests.documents import Document
from mooring.cluster.manifests.fields import Manifest, mapping, mappings, name_of, namespace_of
from mooring.cluster.manifests.identity import made_up
from mooring.framework.releases import Gates

_GATE = "DRAWorkloadResourceClaims"
"""The gate with which groups have claims."""


def with_claims(document: Document, known: KnownManifests, gates: Gates) -> Iterator[Document]:
    """Yield the missing claims of a pod or group, then the object itself with a status that names them; an
    object that can't have claims is yielded unchanged. ``gates`` decide whether groups have claims.
    """
    owner = WorkloadManifest(document)
    groups = gates.enabled(_GATE)
    if owner.kind not in ("Pod", *(["PodGroup"] if groups else [])) or not is_active(document):
        yield document
        return
    for volume in mappings(owner.spec, "volumes"):
        name = f"{owner.name}-{volume.get('name')}"
        missing = not known.has("PersistentVolumeClaim", owner.namespace, name)
        if missing and isinstance(volume.get("ephemeral"), dict):
            template = mapping(volume["ephemeral"], "volumeClaimTemplate")
            yield owner.claim("PersistentVolumeClaim", name, template, owned=True)
    named = mappings(owner.status, "resourceClaimStatuses")
    group = known.get("PodGroup", owner.namespace, _group(owner)) if groups else None
    made: list[Manifest] = []
    for entry in mappings(owner.spec, "resourceClaims"):
        template_name = str(entry.get("resourceClaimTemplateName"))
        found = known.get("ResourceClaimTemplate", owner.namespace, template_name)
        if found is None or any(one.get("name") == entry.get("name") for one in named):
            continue
        shared = group is not None and entry in mappings(mapping(group, "spec"), "resourceClaims")
        name = _claim_name(group if shared and group else document.manifest, str(entry.get("name")))
        made.append({"name": entry.get("name"), "resourceClaimName": name})
        if not shared and not known.has("ResourceClaim", owner.namespace, name):
            yield owner.claim("ResourceClaim", name, mapping(found, "spec"), owned=True)
    if made:
        status = {**owner.status, "resourceClaimStatuses": [*named, *made]}
        document = owner.made({**document.manifest, "status": status})
    yield document


def _group(pod: WorkloadManifest) -> str:
    return str(mapping(pod.spec, "schedulingGroup").get("podGroupName"))


def _claim_name(owner: Manifest, entry: str) -> str:
    """Return the name of the claim that is made for an entry of ``spec.resourceClaims``."""
    for one in mappings(mapping(owner, "status"), "resourceClaimStatuses"):
        if one.get("name") == entry:
            return str(one.get("resourceClaimName"))
    identity = f"{owner['kind']}/{namespace_of(owner)}/{name_of(owner)}/{entry}"
    return made_up(f"{name_of(owner)}-{entry}-", identity)
