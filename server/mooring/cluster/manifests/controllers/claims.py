"""The claims of pods and of groups that are made from templates.

Mirrors pkg/controller/resourceclaim, and pkg/controller/volume/ephemeral.
"""

from __future__ import annotations

from collections.abc import Iterator

from mooring.cluster.kinds import default_uid
from mooring.cluster.manifests.controllers.known import KnownManifests, is_active
from mooring.cluster.manifests.documents import Document
from mooring.cluster.manifests.fields import Manifest, mapping, mappings, name_of, namespace_of
from mooring.cluster.manifests.identity import made_up
from mooring.framework.releases import Gates

_OWNERS = {"Pod": "v1", "PodGroup": "scheduling.k8s.io/v1beta1"}
"""The kinds whose claims are made, and how the claims name their versions."""


def with_claims(document: Document, known: KnownManifests, gates: Gates) -> Iterator[Document]:
    """Yield the claims that a pod or a group lacks, and itself, with a status that names them.

    Args:
        document: Anything; what has no claims of its own is yielded as it is.
        known: The objects that there are.
        gates: What decides whether groups have claims.
    """
    groups = gates.enabled("DRAWorkloadResourceClaims")
    manifest = document.manifest
    kind, spec, status = manifest["kind"], mapping(manifest, "spec"), mapping(manifest, "status")
    if kind not in _OWNERS or not is_active(document) or not (groups or kind == "Pod"):
        yield document
        return
    for volume in mappings(spec, "volumes"):
        if isinstance(volume.get("ephemeral"), dict):
            template = mapping(volume["ephemeral"], "volumeClaimTemplate")
            name = f"{name_of(manifest)}-{volume.get('name')}"
            if not known.has("PersistentVolumeClaim", namespace_of(manifest), name):
                yield _claim(document, "v1", "PersistentVolumeClaim", name, template)
    named = mappings(status, "resourceClaimStatuses")
    group = _group_of(manifest, known) if groups and kind == "Pod" else None
    made: list[Manifest] = []
    for entry in mappings(spec, "resourceClaims"):
        template_name = str(entry.get("resourceClaimTemplateName"))
        found = known.get("ResourceClaimTemplate", namespace_of(manifest), template_name)
        if found is None or any(one.get("name") == entry.get("name") for one in named):
            continue
        shared = group is not None and entry in mappings(mapping(group, "spec"), "resourceClaims")
        name = _claim_name(group if shared and group else manifest, str(entry.get("name")))
        made.append({"name": entry.get("name"), "resourceClaimName": name})
        if not shared and not known.has("ResourceClaim", namespace_of(manifest), name):
            yield _claim(document, "resource.k8s.io/v1", "ResourceClaim", name, mapping(found, "spec"))
    if made:
        status = {**status, "resourceClaimStatuses": [*named, *made]}
        document = Document(document.origin, {**manifest, "status": status})
    yield document


def _group_of(pod: Manifest, known: KnownManifests) -> Manifest | None:
    name = mapping(mapping(pod, "spec"), "schedulingGroup").get("podGroupName")
    return known.get("PodGroup", namespace_of(pod), str(name))


def _claim_name(owner: Manifest, entry: str) -> str:
    """Return the name of the claim that is made for an entry of ``spec.resourceClaims``."""
    for one in mappings(mapping(owner, "status"), "resourceClaimStatuses"):
        if one.get("name") == entry:
            return str(one.get("resourceClaimName"))
    identity = f"{owner['kind']}/{namespace_of(owner)}/{name_of(owner)}/{entry}"
    return made_up(f"{name_of(owner)}-{entry}-", identity)


def _claim(document: Document, version: str, kind: str, name: str, template: Manifest) -> Document:
    owner, metadata = document.manifest, mapping(template, "metadata")
    reference = {
        "apiVersion": _OWNERS[owner["kind"]],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": mapping(owner, "metadata").get("uid")
        or default_uid(owner["kind"], namespace_of(owner), name_of(owner)),
        "controller": True,
    }
    return Document(
        document.origin,
        {
            "apiVersion": version,
            "kind": kind,
            "metadata": {
                "labels": mapping(metadata, "labels"),
                "annotations": mapping(metadata, "annotations"),
                "name": name,
                "namespace": namespace_of(owner),
                "ownerReferences": [reference],
            },
            "spec": mapping(template, "spec"),
        },
    )
