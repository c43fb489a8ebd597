"""Manifests as people keep them in files to objects as the API server would have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import KINDS, ClusterObject, kept_kind
from mooring.cluster.manifests.defaults import default_node, default_pod
from mooring.cluster.manifests.documents import Document, read_paths
from mooring.cluster.manifests.object_defaults import default_object
from mooring.cluster.manifests.workloads import WORKLOADS, expanded, namespace_of, owners, runs_on
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import Node, Pod, PriorityClass

__all__ = ["Manifests", "load_manifests", "objects_from", "pod_from_manifest"]


@dataclass(frozen=True, slots=True)
class Manifests:
    """What a set of manifests says.

    Attributes:
        objects: The objects, nodes first, otherwise in the order in which they were given.
        skipped: How many manifests of each kind nobody reads.
    """

    objects: tuple[ClusterObject, ...]
    skipped: Mapping[str, int]

    @property
    def nodes(self) -> list[Node]:
        """The nodes."""
        return [item for item in self.objects if isinstance(item, Node)]

    @property
    def pods(self) -> list[Pod]:
        """The pods, those of workloads included."""
        return [item for item in self.objects if isinstance(item, Pod)]


def load_manifests(paths: Iterable[str | Path]) -> Manifests:
    """Reads files and directories of YAML or JSON.

    Workloads become pods, and what the API server would have filled in is filled in.

    Raises:
        InvalidArgumentError: Every unusable document, each with file, line, object and field.
    """
    return _objects(read_paths(paths))


def objects_from(manifests: Iterable[Mapping[str, Any]]) -> Manifests:
    """As ``load_manifests``, from manifests that are dicts already.

    Raises:
        InvalidArgumentError: Every unusable manifest, each with its number, object and field.
    """
    return _objects([Document(f"objects[{i}]", dict(manifest)) for i, manifest in enumerate(manifests)])


def pod_from_manifest(manifest: Mapping[str, Any], classes: Iterable[ClusterObject] = ()) -> Pod:
    """One pod, with what the API server would have filled in; ``classes`` may hold priority classes.

    Raises:
        InvalidArgumentError: Not usable; has the field's path.
    """
    item = from_manifest(manifest, "Pod")
    assert isinstance(item, Pod)  # noqa: S101 - for the type checker: the kind was asked for
    return default_pod(item, _priority_classes(classes))


def _objects(documents: list[Document]) -> Manifests:
    violations: list[FieldError] = []
    skipped: Counter[str] = Counter()
    kept: list[tuple[Document, ClusterObject]] = []
    owned = owners(documents)
    nodes_first = sorted(documents, key=lambda document: document.manifest.get("kind") != "Node")
    nodes: dict[str, Node] = {}
    for document in nodes_first:
        kind = str(document.manifest.get("kind") or "")
        version = str(document.manifest.get("apiVersion") or "")
        known = kept_kind(kind, version) is not None
        try:
            if kind in WORKLOADS and (namespace_of(document.manifest), kind, _name(document)) not in owned:
                kept += _pods_of(document, nodes)
            if kind and not known and kind not in WORKLOADS:
                skipped[f"{version} {kind}" if kind in KINDS else kind] += 1
            elif known or not kind:
                item = _decoded(document)
                kept.append((document, item))
                if isinstance(item, Node):
                    nodes[item.metadata.name] = item
        except InvalidArgumentError as error:
            violations += error.violations
    violations += _given_twice(kept)
    classes = _priority_classes(item for _, item in kept)
    objects: list[ClusterObject] = []
    for document, item in kept:
        try:
            objects.append(_defaulted(item, classes))
        except InvalidArgumentError as error:
            violations += _located(document, error)
    if violations:
        raise InvalidArgumentError(violations)
    return Manifests(tuple(objects), dict(skipped))


def _decoded(document: Document) -> ClusterObject:
    try:
        return from_manifest(document.manifest)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(_located(document, error)) from None


def _located(document: Document, error: InvalidArgumentError) -> list[FieldError]:
    kind, name = document.manifest.get("kind") or "object", _name(document)
    return [
        FieldError(f"{document.origin}: {kind} {name}: {violation.path}".rstrip(": "), violation.message)
        for violation in error.violations
    ]


def _pods_of(workload: Document, nodes: Mapping[str, Node]) -> Iterator[tuple[Document, ClusterObject]]:
    for manifest, node in expanded(workload, nodes):
        document = Document(workload.origin, manifest)
        item = _decoded(document)
        if not node or (isinstance(item, Pod) and runs_on(item, nodes[node])):
            yield document, item


def _name(document: Document) -> str:
    metadata = document.manifest.get("metadata")
    return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""


def _given_twice(kept: list[tuple[Document, ClusterObject]]) -> Iterable[FieldError]:
    first: dict[tuple[str, str, str], str] = {}
    for document, item in kept:
        kind, meta = type(item).__name__, item.metadata
        known = first.setdefault((kind, meta.namespace, meta.name), document.origin)
        if known is not document.origin:
            name = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
            yield FieldError(f"{document.origin}: {kind} {name}", f"given twice; the first one is at {known}")


def _priority_classes(items: Iterable[ClusterObject]) -> dict[str, PriorityClass]:
    return {item.metadata.name: item for item in items if isinstance(item, PriorityClass)}


def _defaulted(item: ClusterObject, classes: Mapping[str, PriorityClass]) -> ClusterObject:
    if isinstance(item, Pod):
        return default_pod(item, classes)
    return default_node(item) if isinstance(item, Node) else default_object(item)
