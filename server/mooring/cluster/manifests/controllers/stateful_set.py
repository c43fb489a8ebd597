"""Pods with names and volumes of their own. Mirrors pkg/controller/statefulset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mooring.cluster.manifests.controllers.known import KnownManifests
from mooring.cluster.manifests.controllers.workload import WorkloadManifest
from mooring.cluster.manifests.documents import Document
from mooring.cluster.manifests.fields import Manifest, mapping, mappings, name_of, sequence


def stateful_set_objects(owner: WorkloadManifest, known: KnownManifests) -> Iterator[Document]:
    """Yield the missing pods of a StatefulSet, each after its missing claims.

    One that is there for its selector alone, without a template, has none.
    """
    if owner.spec.get("template") is None:
        return
    first = owner.count("ordinals", "start", default=0)
    templates = mappings(owner.spec, "volumeClaimTemplates")
    for ordinal in range(first, first + owner.count("replicas", default=1)):
        name = f"{owner.name}-{ordinal}"
        claims = [
            owner.claim("PersistentVolumeClaim", _claim_name(owner, template, ordinal), template)
            for template in templates
        ]
        for claim in claims:
            if not known.has("PersistentVolumeClaim", owner.namespace, name_of(claim.manifest)):
                yield claim
        if not known.has("Pod", owner.namespace, name):
            yield _pod(owner, name, ordinal, templates)


def _pod(owner: WorkloadManifest, name: str, ordinal: int, templates: Sequence[Manifest]) -> Document:
    labels = {
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": str(ordinal),
        "controller-revision-hash": f"{owner.name}-{owner.template_hash}",
    }
    claimed = [
        {
            "name": name_of(template),
            "persistentVolumeClaim": {"claimName": _claim_name(owner, template, ordinal)},
        }
        for template in templates
    ]
    taken = {name_of(template) for template in templates}
    own = [
        volume
        for volume in sequence(mapping(owner.template, "spec"), "volumes")
        if not isinstance(volume, dict) or volume.get("name") not in taken
    ]
    return owner.pod(name, labels, volumes=[*claimed, *own])


def _claim_name(owner: WorkloadManifest, template: Manifest, ordinal: int) -> str:
    return f"{name_of(template)}-{owner.name}-{ordinal}"
