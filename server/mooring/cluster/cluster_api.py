"""Reads and writes at the API server other than watches and bindings."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from mooring.cluster.api import PROTOBUF, RESOURCES, ApiServer, Resource, Response, failure, served_version
from mooring.cluster.api.answers import DOCUMENT
from mooring.cluster.api.client import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from mooring.cluster.decoding import decode_pod
from mooring.cluster.decoding.protobuf_objects import ENVELOPE
from mooring.framework.cluster_api import ObjectReference
from mooring.framework.errors import InvalidArgumentError, NotFoundError
from mooring.framework.handle import AlwaysLeader, Leadership, require_leader
from mooring.framework.objects import Pod
from mooring.kubernetes.v1 import meta_pb2


class KubernetesApi:
    """Implements ``mooring.framework.ClusterApi``. Safe from any thread.

    Args:
        leadership: Checked before each write; what another replica should write is
            UnavailableError (NOT_LEADER) here. By default no other process may write.
    """

    def __init__(self, api: ApiServer, leadership: Leadership | None = None) -> None:
        self._api = api
        self._require_leader = partial(require_leader, leadership or AlwaysLeader())
        self._versions: dict[str, str] = {}
        self._lock = threading.Lock()

    def read_pod(self, namespace: str, name: str) -> Pod | None:
        path = RESOURCES["Pod"].item(namespace, name)
        response = self._api.request("GET", path)
        return None if response.status == 404 else decode_pod(_body(response, f"read pod {namespace}/{name}"))

    def delete_pod(self, pod: Pod) -> None:
        meta = pod.metadata
        self.delete(ObjectReference("Pod", meta.namespace, meta.name, meta.uid))

    def patch_pod_status(self, pod: Pod, patch: Mapping[str, Any]) -> None:
        meta = pod.metadata
        response = self._api.request(
            "PATCH",
            RESOURCES["Pod"].item(meta.namespace, meta.name, "status"),
            body={"metadata": {"uid": meta.uid}, "status": patch},
            content_type=STRATEGIC_MERGE_PATCH,
            before=self._require_leader,
        )
        _body(response, f"write the status of pod {pod.key}")

    def read(self, target: ObjectReference) -> dict[str, Any] | None:
        response = self._api.request("GET", self._path(target))
        return None if response.status == 404 else _document(response, f"read {_name(target)}")

    def patch(
        self, target: ObjectReference, patch: Mapping[str, Any], *, subresource: str = ""
    ) -> dict[str, Any]:
        conditions = {"uid": target.uid, "resourceVersion": target.resource_version}
        metadata = {
            **patch.get("metadata", {}),
            **{name: value for name, value in conditions.items() if value},
        }
        response = self._api.request(
            "PATCH",
            self._path(target, subresource),
            body={**patch, "metadata": metadata} if metadata else patch,
            content_type=MERGE_PATCH,
            before=self._require_leader,
        )
        return _document(response, f"write {_name(target)}")

    def set_finalizers(self, target: ObjectReference, finalizers: Sequence[str]) -> dict[str, Any]:
        try:
            return self.patch(target, {"metadata": {"finalizers": list(finalizers)}})
        except InvalidArgumentError:
            path = self._path(target)
            stored = self._api.request("GET", path, accept=PROTOBUF)
            if not (stored.ok and stored.body.startswith(ENVELOPE)):
                raise
        response = self._api.request(
            "PUT",
            path,
            body=with_finalizers(stored.body, target, finalizers),
            content_type=PROTOBUF,
            before=self._require_leader,
        )
        return _document(response, f"write {_name(target)}")

    def delete(self, target: ObjectReference) -> None:
        response = self._api.request(
            "DELETE",
            self._path(target),
            body={"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": target.uid}},
            before=self._require_leader,
        )
        # Not found, or a new pod with another UID: this one is gone.
        if response.status not in (404, 409):
            _body(response, f"delete {_name(target)}")

    def create(self, kind: str, namespace: str, body: Mapping[str, Any]) -> dict[str, Any]:
        resource = RESOURCES[kind]
        version = self._version(resource)
        response = self._api.request(
            "POST",
            resource.collection(namespace, version),
            body={**body, "apiVersion": version, "kind": kind},
            before=self._require_leader,
        )
        return _document(response, f"make a {kind} in {namespace or 'the cluster'}")

    def _path(self, target: ObjectReference, subresource: str = "") -> str:
        resource = RESOURCES[target.kind]
        return resource.item(target.namespace, target.name, subresource, self._version(resource))

    def _version(self, resource: Resource) -> str:
        """Return the newest version that the server has, read once; NotFoundError if it has none."""
        if len(resource.versions) == 1:
            return resource.versions[0]
        with self._lock:
            version = self._versions.get(resource.kind) or served_version(self._api, resource)
            if not version:
                raise NotFoundError(
                    f"the API server has no {resource.plural} in any of {', '.join(resource.versions)}",
                    reason="OBJECT_NOT_FOUND",
                )
            self._versions[resource.kind] = version
            return version


def with_finalizers(stored: bytes, target: ObjectReference, finalizers: Sequence[str]) -> bytes:
    """Return an object as it is stored, in protobuf, with these finalizers, at the version of ``target``."""
    envelope = meta_pb2.Unknown.FromString(stored[len(ENVELOPE) :])
    thing = meta_pb2.PartialObjectMetadata.FromString(envelope.raw)
    thing.metadata.uid = target.uid or thing.metadata.uid
    thing.metadata.resource_version = target.resource_version or thing.metadata.resource_version
    thing.metadata.finalizers[:] = finalizers
    envelope.raw = thing.SerializeToString()
    return ENVELOPE + envelope.SerializeToString()


def _body(response: Response, subject: str) -> bytes:
    """Return the body of an answer; it raises when the answer is a rejection."""
    if not response.ok:
        raise failure(response, subject)
    return response.body


def _document(response: Response, subject: str) -> dict[str, Any]:
    _body(response, subject)
    return response.decode(DOCUMENT)


def _name(target: ObjectReference) -> str:
    name = f"{target.namespace}/{target.name}" if target.namespace else target.name
    return f"{target.kind} {name}"
