"""Which source has which objects. Sources own disjoint objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mooring.cluster.kinds import Remove, identity
from mooring.cluster.validated import Identity, ValidatedObjects
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.pod_table import PodRecord, PodTable


class SourceOwnership:
    """Objects by source and kind: pods by UID, the others by identity. The caller holds the state's lock.

    Args:
        pods: The pod table. It has every pod that a source has: ``add`` and ``discard`` come before the
            tables are written to.
    """

    def __init__(self, pods: PodTable) -> None:
        self._pods = pods
        self._sources: dict[str, dict[str, dict[str, None]]] = {}
        self._pod_uids: dict[str, dict[str, str]] = {}

    def has_others(self, source: str) -> bool:
        """Return whether there are sources besides ``source`` that may have its objects."""
        return len(self._sources) > (source in self._sources)

    def check_ownership(self, source: str, identities: Iterable[Identity]) -> None:
        """Rejects objects when another source has one of them. The InvalidArgumentError names the objects and
        the sources that have them.
        """
        others = [(name, kinds) for name, kinds in self._sources.items() if name != source]
        if not others:
            return
        violations = [
            FieldError(
                f"{kind} {identity(pod.namespace, pod.name) if pod else name}",
                f"source {owner!r} has it; remove it there first",
            )
            for kind, name, pod in identities
            for owner, kinds in others
            if name in kinds.get(kind, {})
            or (pod and self.pod_uid(pod.namespace, pod.name) in kinds.get(kind, {}))
        ]
        InvalidArgumentError.raise_if_any(violations)

    def add_objects(self, source: str, batch: ValidatedObjects) -> None:
        """``source`` now has the objects of ``batch``, but for the finished pods."""
        for record in batch.pods.values():
            self.add_pod(source, record)
        kinds = self._sources.setdefault(source, {})
        for kind, name, _ in batch.identities_but_pods():
            kinds.setdefault(kind, {})[name] = None

    def has_pod(self, source: str, record: PodRecord) -> bool:
        """Return whether ``source`` already has the unfinished pod by its name."""
        base = record.kind.base
        kinds, names = self._sources.get(source), self._pod_uids.get(base.template.metadata.namespace)
        if kinds is None or names is None or base.finished:
            return False
        return names.get(record.name) == record.uid and record.uid in kinds.get("Pod", ())

    def add_pod(self, source: str, record: PodRecord) -> None:
        """``source`` now has the pod, unless it is finished."""
        uid, base = record.uid, record.kind.base
        if base.finished:
            self.discard(source, "Pod", uid)
            return
        namespace = base.template.metadata.namespace
        if self.has_pod(source, record):
            return
        held = self._sources.setdefault(source, {}).setdefault("Pod", {})
        if uid in held:
            self._forget_name(uid)
        self._pod_uids.setdefault(namespace, {})[record.name] = uid
        held[uid] = None

    def discard(self, source: str, kind: str, name: str) -> None:
        """``source`` no longer has the object."""
        held = self._sources.get(source, {}).get(kind, {})
        if name in held:
            del held[name]
            if kind == "Pod":
                self._forget_name(name)

    def missing_objects(self, source: str, batch: ValidatedObjects, only: str = "") -> list[tuple[str, str]]:
        """Return the kind and identity of the objects of ``source`` beyond ``batch``, of one kind or of all.

        Pods come before their nodes.
        """
        kinds = self._sources.get(source, {})
        order = sorted((kind for kind in kinds if only in ("", kind)), key=lambda kind: kind != "Pod")
        return [(kind, name) for kind in order for name in kinds[kind] if not batch.has(kind, name)]

    def displaced_by(self, record: PodRecord) -> str | None:
        """Return the UID of the pod that must be gone, since this one has its name now; None = of none."""
        known = self.pod_uid(record.namespace, record.name)
        return known if known != record.uid and not record.kind.base.finished else None

    def find_identity(self, source: str, change: Remove) -> str | None:
        """Return the identity of the object that ``change`` removes; None if ``source`` has none."""
        if change.kind == "Pod":
            name = self.pod_uid(change.namespace, change.name) or ""
        else:
            name = identity(change.namespace, change.name)
        return name if name in self._sources.get(source, {}).get(change.kind, {}) else None

    def pod_uid(self, namespace: str, name: str) -> str | None:
        """Return the UID of the pod of that name."""
        return self._pod_uids.get(namespace, {}).get(name)

    def pod_uids(self, namespace: str) -> Mapping[str, str]:
        """Return the UIDs of the pods in the namespace by name, live."""
        return self._pod_uids.get(namespace, {})

    def count_objects(self, source: str, kind: str) -> int:
        """Return how many objects of ``kind`` the source has."""
        return len(self._sources.get(source, {}).get(kind, {}))

    def _forget_name(self, uid: str) -> None:
        """Forget the pod's name, unless another pod has taken it already."""
        record = self._pods.records[uid]
        names = self._pod_uids.get(record.namespace, {})
        if names.get(record.name) == uid:
            del names[record.name]
            if not names:
                del self._pod_uids[record.namespace]
