"""Keeps pods in the zone and region of their volumes. Mirrors ``plugins/volumezone/volume_zone.go``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.framework import (
    SUCCESS,
    Bools,
    CycleState,
    Finding,
    HintedEvent,
    Int32s,
    NodeInfo,
    NodeView,
    Pod,
    Status,
    Verdicts,
)
from mooring.framework.deadline import timely
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import PersistentVolume, PersistentVolumeClaim, StorageClass
from mooring.framework.upstream import Upstream
from mooring.framework.volume_matching import WAIT_FOR_FIRST_CONSUMER, class_of_claim
from mooring.plugins.claim_findings import claim_faults
from mooring.plugins.claims import BoundClaims, not_found
from mooring.plugins.storage import NO_ROWS, StoragePlugin
from mooring.plugins.volume_zone.domains import ZONE_LABELS, Domain, domains_of, is_inside
from mooring.plugins.volume_zone.findings import wrong_zones
from mooring.plugins.volume_zone.hints import EVENTS

REASON = "node(s) had no available volume zone"

_PRE_FILTER = "PreFilterVolumeZone"


class VolumeZone(StoragePlugin[None]):
    """Rejects nodes outside the zones and regions that the pod's volumes are labelled with.

    A node without any such label passes.
    """

    name = "VolumeZone"
    upstream = Upstream()
    reads = (PersistentVolume, PersistentVolumeClaim, StorageClass)

    def events_to_register(self) -> Sequence[HintedEvent]:
        return EVENTS

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        domains = _domains(pod, nodes.snapshot.objects)
        if isinstance(domains, Status):
            return domains
        if not domains:
            return Status.skip()
        state.write(_PRE_FILTER, domains)
        return SUCCESS

    def rejected_rows(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int32s | None:
        found = BoundClaims.of(state, pod, nodes.snapshot.objects)
        if found is None:
            return None
        domains = [domain for volume in found.volumes for domain in domains_of(volume)]
        return nodes.rows[_outside(domains, nodes)] if domains else NO_ROWS

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        domains: tuple[Domain, ...] | Status | None = state.get(_PRE_FILTER, tuple)
        if domains is None:
            domains = _domains(pod, nodes.snapshot.objects)
        if isinstance(domains, Status):
            return Verdicts.reject_where(np.ones(len(nodes), np.bool_), domains)
        return Verdicts.reject_where(_outside(domains, nodes), Status.unresolvable(REASON))

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        if node is None:
            return claim_faults(state, pod)
        return list(wrong_zones(pod, node))


def _domains(pod: Pod, objects: ObjectTable) -> tuple[Domain, ...] | Status:
    """Return where the pod's bound volumes are, or why that is unknown."""
    domains: list[Domain] = []
    for name in timely(pod.claim_names):
        claim = objects.get(PersistentVolumeClaim, name, pod.metadata.namespace)
        if claim is None:
            return Status.unresolvable(not_found("persistentvolumeclaim", name))
        bound_to = claim.spec.volume_name
        if not bound_to:
            unbound = _why_unbound(class_of_claim(claim), objects)
            if unbound is not None:
                return unbound
            continue
        volume = objects.get(PersistentVolume, bound_to)
        if volume is None:
            return Status.unresolvable(not_found("persistentvolume", bound_to))
        domains += domains_of(volume)
    return tuple(domains)


def _why_unbound(class_name: str, objects: ObjectTable) -> Status | None:
    """None when the claim waits for its pod to be placed; else why it should have been bound."""
    if not class_name:
        return Status.unresolvable("PersistentVolumeClaim had no pv name and storageClass name")
    kind = objects.get(StorageClass, class_name)
    if kind is None:
        return Status.unresolvable(not_found("storageclass.storage.k8s.io", class_name))
    if kind.volume_binding_mode is None:
        return Status.unresolvable(f'VolumeBindingMode not set for StorageClass "{class_name}"')
    if kind.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
        return None
    return Status.unresolvable("PersistentVolume had no name")


def _outside(domains: Sequence[Domain], nodes: NodeView) -> Bools:
    """Return bool[K]: the node says where it is, and that is outside one of ``domains``."""
    outside = np.zeros(len(nodes), np.bool_)
    for domain in timely(domains):
        outside |= ~is_inside(domain, nodes)
    labelled = np.zeros(len(nodes), np.bool_)
    for key in ZONE_LABELS:
        labelled |= nodes.label(key).exists(nodes.rows)
    return outside & labelled
