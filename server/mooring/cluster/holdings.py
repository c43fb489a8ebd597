"""Which source has which objects. Sources own disjoint objects."""

from __future__ import annotations

from collections.abc import Iterator

from mooring.cluster.kinds import Remove, identity
from mooring.cluster.prepared import Batch
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError


class Holdings:
    """Objects by source and kind: pods by UID, the others by identity. The caller holds the state's lock."""

    def __init__(self) -> None:
        self._sources: dict[str, dict[str, dict[str, str]]] = {}
        self._pod_uids: dict[str, str] = {}

    def check(self, source: str, batch: Batch) -> None:
        """Refuses ``batch`` when another source has one of its objects.

        Raises:
            InvalidArgumentError: Names the objects and who has them.
        """
        others = [(name, kinds) for name, kinds in self._sources.items() if name != source]
        if not others:
            return
        violations = [
            FieldError(f"{kind} {pod_key or name}", f"source {owner!r} has it; remove it there first")
            for kind, name, pod_key in batch.identities()
            for owner, kinds in others
            if name in kinds.get(kind, {}) or (pod_key and self._pod_uids.get(pod_key) in kinds.get(kind, {}))
        ]
        if violations:
            raise InvalidArgumentError(violations)

    def add(self, source: str, batch: Batch) -> None:
        """``source`` now has the objects of ``batch``, but for the finished pods."""
        kinds = self._sources.setdefault(source, {})
        for uid, (pod, _) in batch.pods.items():
            if pod.finished:
                self.discard(source, "Pod", uid)
        for kind, name, pod_key in batch.identities():
            held = kinds.setdefault(kind, {})
            if kind == "Pod":
                self._forget_key(held.get(name, pod_key), name)
                self._pod_uids[pod_key] = name
            held[name] = pod_key

    def discard(self, source: str, kind: str, name: str) -> None:
        """``source`` no longer has the object."""
        key = self._sources.get(source, {}).get(kind, {}).pop(name, "")
        if key:
            self._forget_key(key, name)

    def missing(self, source: str, batch: Batch, only: str = "") -> list[tuple[str, str]]:
        """Kind and identity of what ``source`` has beyond ``batch``, of one kind or of all.

        Pods come before their nodes.
        """
        kinds = self._sources.get(source, {})
        order = sorted((kind for kind in kinds if only in ("", kind)), key=lambda kind: kind != "Pod")
        return [(kind, name) for kind in order for name in kinds[kind] if not batch.has(kind, name)]

    def displaced_by(self, batch: Batch) -> Iterator[str]:
        """UIDs of pods that must be gone: pods of ``batch`` have their names now."""
        for uid, (pod, _) in batch.pods.items():
            known = self._pod_uids.get(pod.key)
            if known is not None and known != uid and not pod.finished:
                yield known

    def find(self, source: str, change: Remove) -> str | None:
        """The identity of what ``change`` removes; None when ``source`` has no such object."""
        name = identity(change.namespace, change.name)
        if change.kind == "Pod":
            name = self._pod_uids.get(name, "")
        return name if name in self._sources.get(source, {}).get(change.kind, {}) else None

    def pod_uid(self, namespace: str, name: str) -> str | None:
        """The UID of the pod of that name."""
        return self._pod_uids.get(f"{namespace}/{name}")

    def count(self, source: str, kind: str) -> int:
        """How many objects of ``kind`` the source has."""
        return len(self._sources.get(source, {}).get(kind, {}))

    def _forget_key(self, key: str, uid: str) -> None:
        if self._pod_uids.get(key) == uid:
            del self._pod_uids[key]
