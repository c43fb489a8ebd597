"""The existing objects, which controllers compare with the desired ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import count, islice

from mooring.cluster.kinds import kind_in_files
from mooring.cluster.manifests.controllers.workload import WorkloadManifest
from mooring.cluster.manifests.documents import Document
from mooring.cluster.manifests.fields import Manifest, mapping, mappings, name_of, namespace_of
from mooring.framework.objects import Node

_Key = tuple[str, str, str]
"""Namespace, kind and name."""


class KnownManifests:
    """The objects that some manifests hold already.

    Args:
        nodes: The nodes among them.
    """

    def __init__(self, documents: Iterable[Document], nodes: Iterable[Node]) -> None:
        self.nodes = tuple(nodes)
        self._objects: dict[_Key, Manifest] = {}
        self._owned: Mapping[_Key, list[tuple[Document, Manifest]]] = defaultdict(list)
        for document in documents:
            self.add(document)
            namespace = namespace_of(document.manifest)
            for owner in owner_references(document):
                key = namespace, str(owner.get("kind")), str(owner.get("name"))
                self._owned[key].append((document, owner))
        self._stems: Mapping[_Key, list[str]] = defaultdict(list)
        for namespace, kind, name in self._owned:
            self._stems[namespace, kind, name.rpartition("-")[0]].append(name)

    def add(self, document: Document) -> None:
        """Add an object, without regard to its owners."""
        manifest = document.manifest
        key = namespace_of(manifest), str(manifest.get("kind")), name_of(manifest)
        self._objects[key] = manifest

    def has(self, kind: str, namespace: str, name: str) -> bool:
        """Return whether there is such an object."""
        return (namespace, kind, name) in self._objects

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return the manifest of such an object, if there is one."""
        return self._objects.get((namespace, kind, name))

    def owned(self, owner: WorkloadManifest, kind: str) -> list[Document]:
        """Return the objects of ``kind`` that refer to ``owner``, and not to an earlier namesake."""
        own = owner.metadata.get("uid")
        return [
            document
            for document, reference in self._owned.get((owner.namespace, owner.kind, owner.name), ())
            if document.manifest.get("kind") == kind and (not own or reference.get("uid") in (None, "", own))
        ]

    def active_pods(self, owner: WorkloadManifest) -> list[Document]:
        """Return the pods of ``owner`` that its controller counts."""
        return [pod for pod in self.owned(owner, "Pod") if is_active(pod)]

    def free_pod_names(self, owner: WorkloadManifest, wanted: int) -> Iterator[str]:
        """Return the first ``wanted`` names for pods of ``owner`` that are free; none if negative."""
        names = map(owner.pod_name, count())
        free = (name for name in names if not self.has("Pod", owner.namespace, name))
        return islice(free, max(wanted, 0))

    def unknown_owners(
        self, namespace: str, kind: str, stem: str
    ) -> Iterator[tuple[Manifest, list[Document]]]:
        """Yield each owner of ``kind`` that is not there itself and is named ``stem-...``: a reference to it,
        and what refers to it.
        """
        for name in self._stems.get((namespace, kind, stem), ()):
            if not self.has(kind, namespace, name):
                found = self._owned[namespace, kind, name]
                yield found[0][1], [document for document, _ in found]


def owner_references(document: Document) -> list[Manifest]:
    """Return the object's owner references, without owners of foreign API groups."""
    return [
        reference
        for reference in mappings(mapping(document.manifest, "metadata"), "ownerReferences")
        if kind_in_files(str(reference.get("kind")), str(reference.get("apiVersion") or ""))
    ]


def is_active(pod: Document) -> bool:
    """Return whether the pod has not ended and is not being deleted."""
    ended = _phase(pod) in ("Succeeded", "Failed")
    return not ended and mapping(pod.manifest, "metadata").get("deletionTimestamp") is None


def has_succeeded(pod: Document) -> bool:
    """Return whether all containers of the pod ended well."""
    return _phase(pod) == "Succeeded"


def _phase(pod: Document) -> object:
    return mapping(pod.manifest, "status").get("phase")
