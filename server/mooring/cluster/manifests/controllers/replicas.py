"""Pods that are all alike. Mirrors pkg/controller/deployment and pkg/controller/replicaset."""

from __future__ import annotations

from collections.abc import Iterator

from mooring.cluster.manifests.controllers.known import KnownManifests, is_active, owner_references
from mooring.cluster.manifests.controllers.workload import WorkloadManifest
from mooring.cluster.manifests.documents import Document
from mooring.cluster.manifests.fields import Manifest, mapping

HASH = "pod-template-hash"
"""The label that distinguishes the pods of a Deployment's ReplicaSets."""

_REVISION = "deployment.kubernetes.io/revision"


def deployment_objects(deployment: WorkloadManifest, known: KnownManifests) -> Iterator[Document]:
    """Yield the ReplicaSet of a Deployment, and the pods that are missing.

    If the manifests have ReplicaSets of the Deployment, or pods of such, the newest one makes up the
    difference between the wanted replicas and those of the others.
    """
    wanted = deployment.count("replicas", default=1)
    sets = [WorkloadManifest(document) for document in known.owned(deployment, "ReplicaSet")]
    unlisted = [
        WorkloadManifest(_replica_set(deployment, *found)) for found in _unlisted_sets(deployment, known)
    ]
    if not sets and not unlisted:
        unlisted = [WorkloadManifest(_replica_set(deployment, deployment.template_hash))]
    yield from (replica_set.document for replica_set in unlisted)
    newest = max((*unlisted, *sets), key=_revision)
    for replica_set in (*sets, *unlisted):
        if replica_set is not newest:
            yield from _pods(replica_set, known, replica_set.count("replicas", default=1))
            wanted -= replica_set.count("replicas", default=1)
    yield from _pods(newest, known, wanted)


def replica_pods(owner: WorkloadManifest, known: KnownManifests) -> Iterator[Document]:
    """Yield the missing pods of a ReplicaSet or ReplicationController.

    One that is there for its selector alone, without a template, has none; one that belongs to a
    Deployment follows the Deployment.
    """
    if owner.spec.get("template") is None or any(
        reference.get("kind") == "Deployment"
        and known.has("Deployment", owner.namespace, str(reference.get("name")))
        for reference in owner_references(owner.document)
    ):
        return
    yield from _pods(owner, known, owner.count("replicas", default=1))


def _pods(owner: WorkloadManifest, known: KnownManifests, wanted: int) -> Iterator[Document]:
    for name in known.free_pod_names(owner, wanted - len(known.active_pods(owner))):
        yield owner.pod(name)


def _unlisted_sets(deployment: WorkloadManifest, known: KnownManifests) -> Iterator[tuple[str, str, int]]:
    """ReplicaSets that are known only by their pods: the hash, the UID, and how many pods."""
    selected = mapping(deployment.selector, "matchLabels").items()
    owners = known.unknown_owners(deployment.namespace, "ReplicaSet", deployment.name)
    for reference, objects in owners:
        labels = mapping(mapping(objects[0].manifest, "metadata"), "labels")
        own = str(labels.get(HASH) or "")
        if reference.get("name") == f"{deployment.name}-{own}" and selected <= labels.items():
            yield own, str(reference.get("uid") or ""), sum(map(is_active, objects))


def _replica_set(deployment: WorkloadManifest, own: str, uid: str = "", replicas: int = 0) -> Document:
    """Return the ReplicaSet that a Deployment makes; ``own`` is its hash."""
    template, labels = deployment.template, {**deployment.template_labels, HASH: own}
    selector = deployment.selector
    metadata: Manifest = {
        "name": f"{deployment.name}-{own}",
        "namespace": deployment.namespace,
        "labels": labels,
        "ownerReferences": [deployment.owner_reference],
    }
    return deployment.made(
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": metadata | ({"uid": uid} if uid else {}),
            "spec": {
                "replicas": replicas,
                "selector": {**selector, "matchLabels": {**mapping(selector, "matchLabels"), HASH: own}},
                "template": {
                    **template,
                    "metadata": {**mapping(template, "metadata"), "labels": labels},
                },
            },
        }
    )


def _revision(replica_set: WorkloadManifest) -> int:
    text = str(mapping(replica_set.metadata, "annotations").get(_REVISION) or "")
    return int(text) if text.isdecimal() else 0
