"""Fields that the API server's admission plugins add to new pods and claims from other objects.

Mirrors plugin/pkg/admission/{limitranger,runtimeclass,storage/storageclass/setdefault} as far as scheduling
reads it. Objects that they would reject are admitted; ``notes`` names the unknown classes of pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mooring.cluster.manifests.defaults import BUILT_IN_CLASSES
from mooring.cluster.manifests.documents import Document
from mooring.cluster.manifests.fields import Manifest, mapping, mappings, name_of, namespace_of, sequence

_DEFAULT_CLASS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"

_WITHOUT = {"PriorityClass": "their priority is 0", "RuntimeClass": "they have no overhead"}
"""The consequence for pods whose class of this kind no manifest has."""


class PodAdmission:
    """The objects that decide what is added."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._ranges: dict[str, list[Manifest]] = {}
        self._runtimes: dict[str, Manifest] = {}
        self._priorities = set(BUILT_IN_CLASSES)
        self._missing: Counter[tuple[str, str]] = Counter()
        storage: list[Manifest] = []
        for manifest in (document.manifest for document in documents):
            match manifest.get("kind"):
                case "LimitRange":
                    self._ranges.setdefault(namespace_of(manifest), []).extend(_of_containers(manifest))
                case "RuntimeClass":
                    self._runtimes[name_of(manifest)] = manifest
                case "PriorityClass":
                    self._priorities.add(name_of(manifest))
                case "StorageClass" if _is_default(manifest):
                    storage.append(manifest)
        # The newest one; of those of one age the first by name.
        newest = sorted(sorted(storage, key=name_of), key=_created, reverse=True)
        self._storage_class = name_of(newest[0]) if newest else ""

    def admitted(self, manifest: Manifest) -> Manifest:
        """``manifest`` as it is stored; what has been in a cluster is complete."""
        if manifest.get("kind") == "PersistentVolumeClaim":
            return self._claim(manifest)
        if manifest.get("kind") != "Pod" or mapping(manifest, "metadata").get("creationTimestamp"):
            return manifest
        spec = mapping(manifest, "spec")
        for limits in self._ranges.get(namespace_of(manifest), ()):
            spec = _limited(spec, limits)
        priority, runtime = str(spec.get("priorityClassName") or ""), str(spec.get("runtimeClassName") or "")
        if priority and priority not in self._priorities and spec.get("priority") is None:
            self._missing["PriorityClass", priority] += 1
        if runtime in self._runtimes:
            spec = _for_runtime(spec, self._runtimes[runtime])
        elif runtime:
            self._missing["RuntimeClass", runtime] += 1
        return {**manifest, "spec": spec} if spec else manifest

    def notes(self) -> list[str]:
        """Return a warning about each class that admitted pods name and no manifest has."""
        return [
            f"{kind} {name} is in no manifest: an API server would reject pods that name it ({count}); here "
            f"{_WITHOUT[kind]}"
            for (kind, name), count in sorted(self._missing.items())
        ]

    def _claim(self, manifest: Manifest) -> Manifest:
        spec, annotations = mapping(manifest, "spec"), mapping(mapping(manifest, "metadata"), "annotations")
        bound = mapping(manifest, "status").get("phase") == "Bound"
        named = spec.get("storageClassName") is not None or _CLASS_ANNOTATION in annotations
        if bound or named or not self._storage_class:
            return manifest
        return {**manifest, "spec": {**spec, "storageClassName": self._storage_class}}


def _of_containers(limit_range: Manifest) -> list[Manifest]:
    limits = mappings(mapping(limit_range, "spec"), "limits")
    return [one for one in limits if one.get("type") == "Container"]


def _limited(spec: Manifest, limits: Manifest) -> Manifest:
    """Return a pod's spec with the defaults of a LimitRange in its containers."""
    default = {**mapping(limits, "max"), **mapping(limits, "default")}
    requests = {**mapping(limits, "min"), **default, **mapping(limits, "defaultRequest")}

    def with_defaults(container: object) -> object:
        if not isinstance(container, dict):
            return container
        resources = mapping(container, "resources")
        own = mapping(resources, "limits")
        completed = {
            "limits": {**default, **own},
            "requests": {**requests, **own, **mapping(resources, "requests")},
        }
        return {**container, "resources": {**resources, **completed}}

    fields = ("containers", "initContainers")
    return spec | {
        name: [with_defaults(container) for container in sequence(spec, name)]
        for name in fields
        if name in spec
    }


def _for_runtime(spec: Manifest, runtime: Manifest) -> Manifest:
    """Return a pod's spec with the overhead and the scheduling fields of its RuntimeClass."""
    scheduling, overhead = mapping(runtime, "scheduling"), mapping(runtime, "overhead")
    return {
        **spec,
        "overhead": mapping(overhead, "podFixed"),
        "nodeSelector": {**mapping(spec, "nodeSelector"), **mapping(scheduling, "nodeSelector")},
        "tolerations": [*sequence(spec, "tolerations"), *sequence(scheduling, "tolerations")],
    }


def _is_default(storage_class: Manifest) -> bool:
    annotations = mapping(mapping(storage_class, "metadata"), "annotations")
    return any(annotations.get(name) == "true" for name in _DEFAULT_CLASS)


def _created(storage_class: Manifest) -> str:
    return str(mapping(storage_class, "metadata").get("creationTimestamp") or "")
