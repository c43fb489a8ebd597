"""Manifests as people keep them in files to objects as the API server would have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import KINDS, ClusterObject, default_uid
from mooring.cluster.manifests.admission import PodAdmission
from mooring.cluster.manifests.controllers import (
    KnownManifests,
    as_stored,
    bind_claims,
    objects_of,
    with_statuses,
)
from mooring.cluster.manifests.defaults import default_node, default_pod
from mooring.cluster.manifests.documents import Document, read_paths
from mooring.cluster.manifests.fields import mapping, name_of
from mooring.cluster.manifests.identity import own_objects
from mooring.cluster.manifests.object_defaults import default_object
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import Namespace, Node, ObjectMeta, Pod, PriorityClass
from mooring.framework.releases import NEWEST_GATES, Gates

__all__ = ["Manifests", "load_manifests", "objects_from", "pod_from_manifest"]


@dataclass(frozen=True, slots=True)
class Manifests:
    """The objects of a set of manifests.

    Attributes:
        objects: The objects, nodes first, otherwise in the order in which they were given.
        skipped: How many manifests of each kind no plugin reads.
        notes: Warnings about them, a sentence each.
    """

    objects: tuple[ClusterObject, ...]
    skipped: Mapping[str, int]
    notes: tuple[str, ...] = ()

    @property
    def nodes(self) -> list[Node]:
        """The nodes."""
        return [item for item in self.objects if isinstance(item, Node)]

    @property
    def pods(self) -> list[Pod]:
        """The pods, those of workloads included."""
        return [item for item in self.objects if isinstance(item, Pod)]


def load_manifests(
    paths: Iterable[str | Path], gates: Gates = NEWEST_GATES, *, pipes: bool = True
) -> Manifests:
    """Read files and directories of YAML or JSON; ``pipes`` as of ``read_paths``.

    Workloads become pods, and what the API server with ``gates`` would have filled in is filled in. Raises
    InvalidArgumentError with every unusable document, each with file, line, object and field.
    """
    return _objects(read_paths(paths, pipes=pipes), gates, settled=True)


def objects_from(
    manifests: Iterable[Mapping[str, Any]], gates: Gates = NEWEST_GATES, *, settled: bool = False
) -> Manifests:
    """As ``load_manifests``, from manifests that are dicts already.

    With ``settled``, the controllers of claims, volumes and budgets have done their work, as
    ``load_manifests`` has it. Otherwise these objects stay as given, like in a cluster for a moment. Raises
    InvalidArgumentError with every unusable manifest, each with its number, object and field.
    """
    documents = [Document(f"objects[{i}]", dict(manifest)) for i, manifest in enumerate(manifests)]
    return _objects(documents, gates, settled=settled)


def pod_from_manifest(
    manifest: Mapping[str, Any], classes: Iterable[ClusterObject] = (), gates: Gates = NEWEST_GATES
) -> Pod:
    """Return one pod, with the defaults of the API server with ``gates``.

    ``classes`` may hold priority classes. Raises InvalidArgumentError, with the field's path, if it can't be
    used.
    """
    item = from_manifest(manifest, "Pod")
    assert isinstance(item, Pod)  # noqa: S101 - for the type checker: the kind was asked for
    return default_pod(item, _priority_classes(classes), gates)


def _objects(documents: list[Document], gates: Gates, *, settled: bool) -> Manifests:
    violations: list[FieldError] = []
    skipped: Counter[str] = Counter()
    own = own_objects(documents, skipped, violations)
    admission = PodAdmission(own)
    kept = _read((document for document in own if _kind(document) == "Node"), admission, violations)
    others = [document for document in own if _kind(document) != "Node"]
    known = KnownManifests(others, [item for _, item in kept if isinstance(item, Node)])
    for document in others:
        kept += _read(objects_of(document, known, gates if settled else None), admission, violations)
    classes = _priority_classes(item for _, item in kept)
    objects: list[ClusterObject] = []
    for document, item in kept:
        try:
            objects.append(_defaulted(item, classes, gates))
        except InvalidArgumentError as error:
            violations += _located(document, error)
    InvalidArgumentError.raise_if_any(violations)
    notes = admission.notes()
    if settled:
        specs = [mapping(document.manifest, "spec") for document, _ in kept]
        objects, unbound = bind_claims(with_statuses(objects, specs, known))
        objects += _namespaces_of(objects)
        notes += unbound
    return Manifests(tuple(objects), dict(skipped), tuple(notes))


def _namespaces_of(objects: Iterable[ClusterObject]) -> list[ClusterObject]:
    """Return the namespaces of the objects that are not given themselves."""
    held = dict.fromkeys(item.metadata.namespace for item in objects if item.metadata.namespace)
    given = {item.metadata.name for item in objects if isinstance(item, Namespace)}
    missing = (name for name in held if name not in given)
    return [
        default_object(Namespace(ObjectMeta(name=name, uid=default_uid("Namespace", "", name))))
        for name in missing
    ]


def _kind(document: Document) -> str:
    return str(document.manifest["kind"])


def _read(
    documents: Iterable[Document], admission: PodAdmission, violations: list[FieldError]
) -> list[tuple[Document, ClusterObject]]:
    """Return the objects of the documents; what can't be used is added to ``violations``."""
    found: list[tuple[Document, ClusterObject]] = []
    try:
        for document in documents:
            if _kind(document) not in KINDS:
                continue
            try:
                found.append((document, from_manifest(admission.admitted(as_stored(document.manifest)))))
            except InvalidArgumentError as error:
                violations += _located(document, error)
    except InvalidArgumentError as error:
        violations += error.violations
    return found


def _located(document: Document, error: InvalidArgumentError) -> list[FieldError]:
    kind, name = document.manifest.get("kind") or "object", name_of(document.manifest)
    return [
        FieldError(f"{document.origin}: {kind} {name}: {violation.path}".rstrip(": "), violation.message)
        for violation in error.violations
    ]


def _priority_classes(items: Iterable[ClusterObject]) -> dict[str, PriorityClass]:
    return {item.metadata.name: item for item in items if isinstance(item, PriorityClass)}


def _defaulted(item: ClusterObject, classes: Mapping[str, PriorityClass], gates: Gates) -> ClusterObject:
    if isinstance(item, Pod):
        return default_pod(item, classes, gates)
    return default_node(item) if isinstance(item, Node) else default_object(item)
