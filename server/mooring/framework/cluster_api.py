"""Writes to the cluster other than bindings, for plugins and the scheduler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mooring.framework.objects import Pod


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """A reference to an object of the API server.

    Attributes:
        kind: Its kind, ``PersistentVolumeClaim``, ``ResourceClaim``, ...
        namespace: "" for objects without one.
        name: Its name.
        uid: When not "", an object that was recreated under the same name is left alone.
        resource_version: When not "", an object that changed since is left alone.
    """

    kind: str
    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""


class ClusterApi(Protocol):
    """Reads and writes at the API server, past the state. Safe from any thread.

    Each call blocks until the API server answers or the call times out.

    Every method raises MooringErrors: NotFoundError (gone), AbortedError (it is another object now, or it
    changed meanwhile), PermissionDeniedError, InvalidArgumentError (rejected as it is), UnavailableError (no
    answer: it may have happened).
    """

    def read_pod(self, namespace: str, name: str) -> Pod | None:
        """Return the pod as the API server has it; None when there is none."""
        ...

    def delete_pod(self, pod: Pod) -> None:
        """Begin to delete exactly this pod (by UID), with its own grace period; gone already is fine."""
        ...

    def patch_pod_status(self, pod: Pod, patch: Mapping[str, Any]) -> None:
        """Strategic-merge ``patch``, the value of ``status``, into the pod's status (by UID)."""
        ...

    def read(self, target: ObjectReference) -> dict[str, Any] | None:
        """Return the whole object as JSON values; None when there is none."""
        ...

    def patch(
        self, target: ObjectReference, patch: Mapping[str, Any], *, subresource: str = ""
    ) -> dict[str, Any]:
        """JSON-merge ``patch`` into the object; returns it as it is then."""
        ...

    def set_finalizers(self, target: ObjectReference, finalizers: Sequence[str]) -> dict[str, Any]:
        """Replace the object's finalizers, and nothing else of it; returns it as it is then.

        A patch may fail although this succeeds: the API server rebuilds a patched object from JSON, in which
        a driver's parameters can differ from the stored ones.
        """
        ...

    def delete(self, target: ObjectReference) -> None:
        """Begin to delete exactly this object (by UID); gone already is fine."""
        ...

    def create(self, kind: str, namespace: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Make an object, an Event for example; returns it as it is then."""
        ...
