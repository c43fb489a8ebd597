"""Binds claims that don't wait for a pod, to an existing volume or to a provisioned one.

Mirrors ``syncUnboundClaim`` of pkg/controller/volume/persistentvolume (pv_controller.go), and a provisioner
for a class that binds at once.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from mooring.cluster.kinds import ClusterObject, default_uid
from mooring.cluster.manifests.identity import made_up
from mooring.framework.label_selector import SelectorError
from mooring.framework.objects import (
    CSIPersistentVolumeSource,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    Pod,
    StorageClass,
    VolumeNodeAffinity,
    VolumeReference,
)
from mooring.framework.volume_matching import (
    BIND_COMPLETED,
    WAIT_FOR_FIRST_CONSUMER,
    class_of_claim,
    class_of_volume,
    fitting_volumes,
    is_kept_for,
    size_of,
    suits,
    usable_volumes,
)

_ACCESS_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")

_NO_PROVISIONER = "kubernetes.io/no-provisioner"


def bind_claims(objects: Sequence[ClusterObject]) -> tuple[list[ClusterObject], list[str]]:
    """Return the objects with their claims bound, and warnings about claims that can't be bound."""
    volumes = _Volumes(_ready(item) for item in objects if isinstance(item, PersistentVolume))
    classes = {item.metadata.name: item for item in objects if isinstance(item, StorageClass)}
    given, bound = set(volumes.by_name), {}
    pods = [item for item in objects if isinstance(item, Pod) and not item.spec.node_name]
    names = ((pod, name) for pod in pods for name in (*pod.claim_names, *pod.ephemeral_claim_names))
    wanted = {(pod.metadata.namespace, name) for pod, name in names}
    waiting: dict[str, list[str]] = defaultdict(list)
    for at, claim in enumerate(objects):
        if not isinstance(claim, PersistentVolumeClaim) or _is_settled(claim):
            continue
        kind = classes.get(class_of_claim(claim))
        waits = kind is not None and kind.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
        volume = _volume_for(claim, volumes, waits=waits)
        if volume is None and kind is not None and not waits and _can_provision(kind, claim):
            volume = _provisioned(kind, claim)
        if volume is not None:
            volumes.by_name[volume.metadata.name], bound[at] = _bound(volume, claim)
        elif not waits and (key := (claim.metadata.namespace, claim.metadata.name)) in wanted:
            waiting[_why(claim, kind)].append("/".join(key))
    settled = [
        volumes.by_name[item.metadata.name] if isinstance(item, PersistentVolume) else bound.get(at, item)
        for at, item in enumerate(objects)
    ]
    return [*settled, *(volume for name, volume in volumes.by_name.items() if name not in given)], list(
        _told(waiting)
    )


def _ready(volume: PersistentVolume) -> PersistentVolume:
    """Return the volume with the phase that the controller gives it."""
    if volume.status.phase != "Pending":
        return volume
    kept = volume.spec.claim_ref is not None and volume.spec.claim_ref.uid
    return replace(volume, status=replace(volume.status, phase="Bound" if kept else "Available"))


def _is_settled(claim: PersistentVolumeClaim) -> bool:
    complete = claim.spec.volume_name and BIND_COMPLETED in claim.metadata.annotations
    return bool(complete) or claim.status.phase == "Lost" or claim.metadata.deletion_timestamp is not None


class _Volumes:
    """The volumes, found without reading each of them.

    Attributes:
        by_name: All volumes as they are now.
    """

    def __init__(self, volumes: Iterable[PersistentVolume]) -> None:
        self.by_name = {volume.metadata.name: volume for volume in volumes}
        self._kept: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._free: dict[tuple[str, int], list[tuple[int, str]]] = defaultdict(list)
        for name, volume in self.by_name.items():
            if (kept := volume.spec.claim_ref) is not None:
                self._kept[kept.namespace, kept.name].append(name)
            else:
                place = size_of(volume.spec.capacity), name
                insort(self._free[class_of_volume(volume), _mode_count(volume)], place)

    def kept_for(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """Return the volumes that are reserved for the claim."""
        names = self._kept[claim.metadata.namespace, claim.metadata.name]
        return [self.by_name[name] for name in names if is_kept_for(self.by_name[name], claim)]

    def smallest(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """Return the smallest free volume that fits, for each number of access modes for which there is one.
        Raises SelectorError if the claim's selector is malformed.
        """
        found = []
        for count in range(1 + len(_ACCESS_MODES)):
            sizes = self._free.get((class_of_claim(claim), count), [])
            at = bisect_left(sizes, (size_of(claim.spec.resources.requests), ""))
            while at < len(sizes):
                volume = self.by_name[sizes[at][1]]
                if volume.spec.claim_ref is not None:
                    # It was bound since.
                    del sizes[at]
                elif fitting_volumes(claim, usable_volumes(claim, [volume])):
                    found.append(volume)
                    break
                else:
                    at += 1
        return found


def _mode_count(volume: PersistentVolume) -> int:
    return len(set(volume.spec.access_modes))


def _volume_for(claim: PersistentVolumeClaim, volumes: _Volumes, *, waits: bool) -> PersistentVolume | None:
    """Return the volume that the claim names. Without a name, only volumes with the fewest access modes
    count: one that is reserved for the claim, of any class, or else, unless it waits for a pod, the smallest.
    """
    if claim.spec.volume_name:
        named = volumes.by_name.get(claim.spec.volume_name)
        if named is None or is_kept_for(named, claim):
            return named
        offers = usable_volumes(claim, [named])
    else:
        offers = [one for one in volumes.kept_for(claim) if suits(one, claim)]
        try:
            offers += [] if waits else volumes.smallest(claim)
        except SelectorError:
            return None
    modes = set(claim.spec.access_modes)
    allowed = (volume for volume in offers if modes.issubset(volume.spec.access_modes))
    return min(allowed, key=lambda one: (_mode_count(one), one.spec.claim_ref is None), default=None)


def _can_provision(kind: StorageClass, claim: PersistentVolumeClaim) -> bool:
    asks_for_one = bool(claim.spec.volume_name) or claim.spec.selector is not None
    return kind.provisioner not in ("", _NO_PROVISIONER) and not asks_for_one


def _provisioned(kind: StorageClass, claim: PersistentVolumeClaim) -> PersistentVolume:
    """Return a volume that all nodes reach, or only nodes in the class's ``allowedTopologies``."""
    name = made_up("pvc-", claim.metadata.uid)
    terms = tuple(
        NodeSelectorTerm(
            match_expressions=tuple(
                NodeSelectorRequirement(one.key, "In", one.values) for one in term.match_label_expressions
            )
        )
        for term in kind.allowed_topologies
    )
    migrated = kind.provisioner.startswith("kubernetes.io/")
    spec = PersistentVolumeSpec(
        capacity=claim.spec.resources.requests,
        access_modes=claim.spec.access_modes,
        persistent_volume_reclaim_policy=kind.reclaim_policy or "Delete",
        storage_class_name=kind.metadata.name,
        volume_mode=claim.spec.volume_mode,
        volume_attributes_class_name=claim.spec.volume_attributes_class_name,
        node_affinity=VolumeNodeAffinity(NodeSelector(terms)) if terms else None,
        csi=None if migrated else CSIPersistentVolumeSource(driver=kind.provisioner, volume_handle=name),
    )
    return PersistentVolume(ObjectMeta(name=name, uid=default_uid("PersistentVolume", "", name)), spec)


def _bound(
    volume: PersistentVolume, claim: PersistentVolumeClaim
) -> tuple[PersistentVolume, PersistentVolumeClaim]:
    meta, offer = claim.metadata, volume.spec
    reference = VolumeReference("PersistentVolumeClaim", meta.namespace, meta.name, meta.uid, "v1")
    status = PersistentVolumeClaimStatus("Bound", offer.access_modes, offer.capacity)
    annotated = replace(meta, annotations={**meta.annotations, BIND_COMPLETED: "yes"})
    spec = replace(claim.spec, volume_name=volume.metadata.name)
    volume = replace(volume, spec=replace(offer, claim_ref=reference), status=PersistentVolumeStatus("Bound"))
    return volume, replace(claim, metadata=annotated, spec=spec, status=status)


def _why(claim: PersistentVolumeClaim, kind: StorageClass | None) -> str:
    if claim.spec.volume_name:
        return f"volume {claim.spec.volume_name} is not there, is another claim's, or doesn't fit"
    if not (name := class_of_claim(claim)):
        return "they name no storage class, none is the default, and no volume fits"
    if kind is None:
        return f"there is no StorageClass {name}, and no volume fits"
    return f"StorageClass {name} can't provision what they ask for, and no volume fits"


def _told(waiting: dict[str, list[str]]) -> Iterator[str]:
    for why, claims in waiting.items():
        some = ", ".join(claims[:3]) + (", ..." if len(claims) > 3 else "")
        yield f"claims on volumes wait, and no node can help ({len(claims)}: {some}): {why}"
