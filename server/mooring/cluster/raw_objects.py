"""Objects as the API server sent them, for users that pass them on whole.

The state holds what scheduling reads of an object; extenders are sent the whole object.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any

import msgspec

from mooring.cluster.kinds import ClusterObject, identity
from mooring.framework.errors import NotFoundError
from mooring.framework.objects import Pod

Wanted = Callable[[Any], bool]
"""Whether an object of a kind, as the state has it, will be read."""

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode


class RawObjectsOfKind:
    """The objects of one kind, by namespace and name. One thread writes; any may read.

    Args:
        wanted: Which are kept.
    """

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._kept: dict[str, tuple[ClusterObject, bytes]] = {}

    def put_object(self, item: ClusterObject, data: bytes) -> None:
        """Store the object as it is now; ``data`` is JSON."""
        meta = item.metadata
        key = identity(meta.namespace, meta.name)
        if self._wanted(item):
            self._kept[key] = item, _bare(item, data)
        else:
            self.drop_object(key)

    def drop_object(self, key: str) -> None:
        """Drop an object that is gone."""
        self._kept.pop(key, None)

    def retain_objects(self, keys: Container[str]) -> None:
        """Drop all objects but these."""
        for key in [key for key in self._kept if key not in keys]:
            self.drop_object(key)

    def find_object(self, namespace: str, name: str) -> tuple[Any, bytes] | None:
        """Return the object as the state has it, and as JSON; None when it is gone, or not kept."""
        return self._kept.get(identity(namespace, name))


UNWANTED = RawObjectsOfKind(lambda _: False)
"""Keeps nothing."""


class RawObjects:
    """Nodes and pods as kube-scheduler would encode them. Safe from any thread.

    That is without kind and API version, and without the managed fields of pods.

    Args:
        wanted: By kind, which objects will be read; others are not stored.
    """

    def __init__(self, wanted: Mapping[str, Wanted]) -> None:
        self._kinds = {kind: RawObjectsOfKind(which) for kind, which in wanted.items()}

    def of(self, kind: str) -> RawObjectsOfKind:
        """Return where the objects of ``kind`` go."""
        return self._kinds.get(kind, UNWANTED)

    def pod(self, pod: Pod) -> bytes:
        """Return the pod of that UID, on the node that it has or is assumed on. Raises NotFoundError if it is
        gone (POD_NOT_FOUND).
        """
        meta, node_name = pod.metadata, pod.spec.node_name
        found = self._kinds["Pod"].find_object(meta.namespace, meta.name)
        if found is None or found[0].metadata.uid != meta.uid:
            raise NotFoundError(f"pod {pod.key} is gone; forget it", reason="POD_NOT_FOUND", pod=pod.key)
        known, data = found
        return data if known.spec.node_name == node_name else _placed(data, node_name)

    def node(self, name: str) -> bytes:
        """Return the node of that name; raises NotFoundError if it is gone (NODE_NOT_FOUND)."""
        found = self._kinds["Node"].find_object("", name)
        if found is None:
            raise NotFoundError(f"node {name} is gone; schedule again", reason="NODE_NOT_FOUND", node=name)
        return found[1]


def _bare(item: ClusterObject, data: bytes) -> bytes:
    """Return ``data`` as kube-scheduler's informers hold it."""
    members = _members(data)
    for name in ("kind", "apiVersion"):
        members.pop(name, None)
    if isinstance(item, Pod):
        metadata = _members(members["metadata"])
        metadata.pop("managedFields", None)
        members["metadata"] = msgspec.Raw(_encode(metadata))
    return _encode(members)


def _placed(data: bytes, node_name: str) -> bytes:
    document = msgspec.json.decode(data)
    document["spec"]["nodeName"] = node_name
    return _encode(document)
