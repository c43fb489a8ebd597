"""A workload as its controller reads it, and the pods that are made from its template."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from hashlib import sha256
from json import dumps
from typing import Any

from mooring.cluster.kinds import default_uid
from mooring.cluster.manifests.documents import Document
from mooring.cluster.manifests.fields import Manifest, mapping, name_of, namespace_of, sequence
from mooring.framework.errors import InvalidArgumentError

_MAX_PODS = 1_000_000

_API_VERSIONS = {
    "Job": "batch/v1",
    "PersistentVolumeClaim": "v1",
    "Pod": "v1",
    "PodGroup": "scheduling.k8s.io/v1beta1",
    "ReplicationController": "v1",
    "ResourceClaim": "resource.k8s.io/v1",
}
"""The API versions in owner references and claims, for kinds outside ``apps/v1``; also for old API groups."""

_SELECTING = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
"""The kinds whose selectors plugins read."""

_LETTERS = str.maketrans("0123456789", "456789bcdf")
"""How ``rand.SafeEncodeString`` of k8s.io/apimachinery writes digits, so that no words appear."""


class WorkloadManifest:
    """One workload, or a pod or group that gets claims.

    Attributes:
        kind, name, namespace, uid: Its identity; the UID is the default one where the manifest has none.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.kind = str(document.manifest["kind"])
        self.name = name_of(document.manifest)
        self.namespace = namespace_of(document.manifest)
        self.uid = str(self.metadata.get("uid") or default_uid(self.kind, self.namespace, self.name))

    @property
    def metadata(self) -> Manifest:
        """Its metadata."""
        return mapping(self.document.manifest, "metadata")

    @property
    def spec(self) -> Manifest:
        """Its spec."""
        return mapping(self.document.manifest, "spec")

    @property
    def status(self) -> Manifest:
        """Its status; empty for a manifest that was never applied."""
        return mapping(self.document.manifest, "status")

    @cached_property
    def selector(self) -> Manifest:
        """Its label selector."""
        return mapping(mapping(as_stored(self.document.manifest), "spec"), "selector")

    @property
    def template(self) -> Manifest:
        """The pod template; raises InvalidArgumentError if there is none."""
        template = self.spec.get("template")
        if not isinstance(template, dict):
            raise self._rejected("template", "a pod template is required")
        return template

    @property
    def template_labels(self) -> Manifest:
        """The labels of the template."""
        return mapping(mapping(self.template, "metadata"), "labels")

    @cached_property
    def template_hash(self) -> str:
        """The template's hash in names and labels, different for every template.

        It looks like the controllers' hash. Theirs also depends on how Go prints its structs, so that it
        differs between releases.
        """
        digest = sha256(dumps(self.template, sort_keys=True, default=str).encode()).digest()
        return str(int.from_bytes(digest[:4], "big")).translate(_LETTERS)

    @property
    def owner_reference(self) -> Manifest:
        """How what it makes refers to it."""
        return {
            "apiVersion": _API_VERSIONS.get(self.kind, "apps/v1"),
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
        }

    def counted(self, name: str) -> int:
        """Return a number of its status."""
        value = self.status.get(name)
        return value if isinstance(value, int) else 0

    def count(self, *path: str, default: int) -> int:
        """Return a count of its spec; raises InvalidArgumentError if it isn't one, or is too large."""
        value: Any = self.spec
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_PODS:
            raise self._rejected(".".join(path), f"{value!r} is not a number from 0 to {_MAX_PODS}")
        return value

    def pod_name(self, suffix: object) -> str:
        """Return a name for one of its pods, the same each time.

        An object without an owner gets something that keeps its pods apart from those of a namesake.
        """
        return f"{self._stem}-{suffix}"

    @cached_property
    def _stem(self) -> str:
        if sequence(self.metadata, "ownerReferences"):
            return self.name
        tag = sha256(f"{self.kind}/{self.namespace}/{self.name}".encode()).hexdigest()[:5]
        return f"{self.name}-{tag}"

    def pod(
        self,
        name: str,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> Document:
        """Return a pod of its template with these labels, annotations and fields of the spec."""
        metadata = mapping(self.template, "metadata")
        return self.made(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "namespace": self.namespace,
                    "labels": {**mapping(metadata, "labels"), **(labels or {})},
                    "annotations": {**mapping(metadata, "annotations"), **(annotations or {})},
                    "ownerReferences": [self.owner_reference],
                },
                "spec": {**mapping(self.template, "spec"), **spec},
            }
        )

    def claim(self, kind: str, name: str, template: Manifest, *, owned: bool = False) -> Document:
        """Return a claim from a template; if it is ``owned``, it is deleted with its owner."""
        metadata = mapping(template, "metadata")
        labels = {**mapping(metadata, "labels"), **mapping(self.selector, "matchLabels")}
        metadata = {**metadata, "name": name, "namespace": self.namespace, "labels": labels}
        if owned:
            metadata["ownerReferences"] = [self.owner_reference]
        version, spec = _API_VERSIONS[kind], mapping(template, "spec")
        return self.made({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})

    def made(self, manifest: Manifest) -> Document:
        """Return an object that its controller makes; it has the workload's origin."""
        return Document(self.document.origin, manifest)

    def _rejected(self, path: str, message: str) -> InvalidArgumentError:
        return InvalidArgumentError.at(f"{self.document.origin}: spec.{path}", message)


def as_stored(manifest: Manifest) -> Manifest:
    """``manifest``; a workload without a selector gets the one that its template's labels give.

    A ReplicationController gets the labels, too.
    """
    kind, spec, metadata = manifest.get("kind"), mapping(manifest, "spec"), mapping(manifest, "metadata")
    labels = mapping(mapping(mapping(spec, "template"), "metadata"), "labels")
    if kind not in _SELECTING or not labels:
        return manifest
    selector = labels if kind == "ReplicationController" else {"matchLabels": labels}
    if spec.get("selector") is None:
        spec = {**spec, "selector": selector}
    if kind == "ReplicationController" and not metadata.get("labels"):
        metadata = {**metadata, "labels": labels}
    return {**manifest, "metadata": metadata, "spec": spec}
