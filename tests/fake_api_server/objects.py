"""The API server's actions on objects: create, update, patch, delete, bind, with its checks.

The rules of bindings are those of pkg/registry/core/pod/storage/storage.go.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tests.fake_api_server import errors
from tests.fake_api_server.errors import RejectedError
from tests.fake_api_server.kinds import Kind
from tests.fake_api_server.patches import merged, strategically_merged
from tests.fake_api_server.store import Key, Manifest, Store

FINISHED = ("Succeeded", "Failed")
_DELETION = ("deletionTimestamp", "deletionGracePeriodSeconds")


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Objects:
    """Writes to a store, each in one step."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def add(self, kind: Kind, item: Mapping[str, Any], namespace: str = "") -> Manifest:
        """Store the object as it is, with the fields that every object has."""
        metadata = {
            "uid": str(uuid.uuid4()),
            "creationTimestamp": now(),
            **item.get("metadata", {}),
        }
        if kind.namespaced:
            metadata["namespace"] = metadata.get("namespace") or namespace or "default"
        if not metadata.get("name"):
            metadata["name"] = metadata.get("generateName", "") + uuid.uuid4().hex[:5]
        return self.store.put(kind.plural, {**kind.type_meta, **item, **kind.type_meta, "metadata": metadata})

    def create(self, kind: Kind, namespace: str, item: Manifest) -> Manifest:
        metadata = {
            name: value
            for name, value in item.get("metadata", {}).items()
            if name not in ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp")
        }
        item = {**item, "metadata": metadata}
        if kind.plural == "pods":
            item["status"] = {"phase": "Pending", "qosClass": "BestEffort"}
        with self.store.changed:
            if self.store.get(kind.plural, (namespace, metadata.get("name", ""))) is not None:
                raise errors.exists(kind.group_resource, metadata["name"])
            return self.add(kind, item, namespace)

    def read(self, kind: Kind, key: Key) -> Manifest:
        item = self.store.get(kind.plural, key)
        if item is None:
            raise errors.not_found(kind.group_resource, key[1])
        return item

    def update(self, kind: Kind, key: Key, item: Manifest) -> Manifest:
        with self.store.changed:
            known = self.read(kind, key)
            given = item["metadata"].get("resourceVersion", "")
            if not given and kind.plural == "leases":
                raise RejectedError(
                    422, "Invalid", "metadata.resourceVersion: Invalid value: must be specified for an update"
                )
            self._check(kind, known, {"resourceVersion": given, "uid": item["metadata"].get("uid", "")})
            return self._write(kind, known, item)

    def patch(self, kind: Kind, key: Key, patch: Manifest, *, strategic: bool, subresource: str) -> Manifest:
        with self.store.changed:
            known = self.read(kind, key)
            wanted = patch.get("metadata") or {}
            if wanted.get("uid") not in (None, "", known["metadata"]["uid"]):
                raise errors.immutable(kind.kind, key[1], "metadata.uid", wanted["uid"])
            self._check(kind, known, wanted)
            apply = strategically_merged if strategic else merged
            result = apply(known, patch)
            if subresource == "status":
                result = {**known, "status": result.get("status", {})}
            elif kind.plural in ("pods", "nodes"):
                result["status"] = known.get("status", {})
            return self._write(kind, known, result)

    def delete(self, kind: Kind, key: Key, options: Manifest) -> Manifest:
        """Deletes, or begins to: pods on a node are given time, and finalizers hold what they hold."""
        with self.store.changed:
            known = self.read(kind, key)
            self._check(kind, known, options.get("preconditions") or {})
            metadata = known["metadata"]
            pods = kind.plural == "pods"
            grace = _grace(known, options.get("gracePeriodSeconds")) if pods else 0
            held = grace or metadata.get("finalizers")
            if held or pods:
                if metadata.get("deletionTimestamp") and grace >= metadata[_DELETION[1]]:
                    return known
                metadata.setdefault("deletionTimestamp", now())
                metadata["deletionGracePeriodSeconds"] = grace
                self.store.put(kind.plural, known)
            if not held:
                self.store.delete(kind.plural, key)
            return known

    def bind(self, kind: Kind, key: Key, binding: Manifest) -> Manifest:
        """Give a pod its node, which need not exist; return the pod."""
        metadata, target = binding.get("metadata") or {}, binding.get("target") or {}
        name = key[1]
        if metadata.get("name") != name:
            raise RejectedError(400, "BadRequest", "name in URL does not match name in Binding object")
        if target.get("kind") not in (None, "", "Node"):
            raise RejectedError(
                500,
                "",
                f'target.kind: Unsupported value: "{target["kind"]}": supported values: "Node", "<empty>"',
            )
        if not target.get("name"):
            raise RejectedError(500, "", "target.name: Required value")
        with self.store.changed:
            pod = self.read(kind, key)
            self._check(kind, pod, metadata)
            if pod["metadata"].get("deletionTimestamp"):
                raise errors.conflict(
                    "pods/binding", name, f"pod {name} is being deleted, cannot be assigned to a host"
                )
            spec = pod.setdefault("spec", {})
            if spec.get("nodeName"):
                raise errors.conflict(
                    "pods/binding", name, f'pod {name} is already assigned to node "{spec["nodeName"]}"'
                )
            if spec.get("schedulingGates"):
                raise errors.conflict("pods/binding", name, f"pod {name} has non-empty .spec.schedulingGates")
            spec["nodeName"] = target["name"]
            if metadata.get("annotations"):
                pod["metadata"].setdefault("annotations", {}).update(metadata["annotations"])
            scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now()}
            status = {"conditions": [scheduled]}
            pod["status"] = strategically_merged(pod.get("status"), status)
            return self.store.put(kind.plural, pod)

    def _check(self, kind: Kind, known: Manifest, wanted: Mapping[str, Any]) -> None:
        """The preconditions: UID and resourceVersion, where they are given."""
        metadata = known["metadata"]
        name = metadata["name"]
        if wanted.get("uid") and wanted["uid"] != metadata["uid"]:
            raise errors.other_uid(kind.group_resource, name, wanted["uid"], metadata["uid"])
        if wanted.get("resourceVersion") and wanted["resourceVersion"] != metadata["resourceVersion"]:
            raise errors.modified(kind.group_resource, name)

    def _write(self, kind: Kind, known: Manifest, item: Manifest) -> Manifest:
        old = known["metadata"]
        kept = ("name", "namespace", "uid", "creationTimestamp", "resourceVersion", *_DELETION)
        item = {**kind.type_meta, **item, **kind.type_meta}
        item["metadata"] = {**item["metadata"], **{name: old[name] for name in kept if name in old}}
        # Finalizers were all that held it: a pod that still has time is for its kubelet to remove.
        if old.get(_DELETION[1]) == 0 and not item["metadata"].get("finalizers"):
            self.store.delete(kind.plural, (old.get("namespace", ""), old["name"]))
            return item
        if item == known:
            return known
        return self.store.put(kind.plural, item)


def _grace(pod: Manifest, asked: int | None) -> int:
    spec, status = pod.get("spec", {}), pod.get("status", {})
    if not spec.get("nodeName") or status.get("phase") in FINISHED:
        return 0
    return int(spec.get("terminationGracePeriodSeconds", 30) if asked is None else asked)
