"""Keeps pods on nodes that reach their volumes, and where the volumes that they still lack can be had.

Mirrors ``plugins/volumebinding/volume_binding.go`` and ``FindPodVolumes`` of its binder.go.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.framework import (
    SUCCESS,
    Caller,
    CycleState,
    Finding,
    Handle,
    HintedEvent,
    Int32s,
    Int64s,
    NodeInfo,
    NodeView,
    Pod,
    PreBindPlugin,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
    Status,
    Verdicts,
)
from mooring.framework.errors import DeadlineExceededError, MooringError
from mooring.framework.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from mooring.framework.upstream import Upstream
from mooring.framework.view import one_node
from mooring.plugins.claim_findings import claim_faults
from mooring.plugins.claims import BoundClaims
from mooring.plugins.csi_migration import TranslationError
from mooring.plugins.node_resources_fit.scoring import score_curve
from mooring.plugins.storage import NO_ROWS, StoragePlugin
from mooring.plugins.volume_binding import binding
from mooring.plugins.volume_binding.affinity import KnownReach, check_bound
from mooring.plugins.volume_binding.args import VolumeBindingArgs
from mooring.plugins.volume_binding.findings import claims_without_volumes
from mooring.plugins.volume_binding.hints import EVENTS
from mooring.plugins.volume_binding.matching import ATTRIBUTES_CLASS_GATE
from mooring.plugins.volume_binding.pod_claims import PodClaims, claims_of, sort_claims
from mooring.plugins.volume_binding.scoring import storage_scores
from mooring.plugins.volume_binding.unbound import check_waiting

REASON_UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
REASON_NODE = "node(s) didn't match PersistentVolume's node affinity"
REASON_BIND = "node(s) didn't find available persistent volumes to bind"
REASON_SPACE = "node(s) did not have enough free storage"
REASON_GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

SCORING_GATE = "StorageCapacityScoring"
"""The feature gate, on since 1.37, with which nodes are scored by the room that they have for volumes."""

_PRE_FILTER = "PreFilterVolumeBinding"
_FILTERED = "FilterVolumeBinding"
_RESERVED = "ReserveVolumeBinding"
_REASONS = (REASON_NODE, REASON_BIND, REASON_SPACE, REASON_GONE)


def _status(number: int) -> Status:
    """Return the status whose reasons are the bits of ``number``."""
    reasons = [reason for bit, reason in enumerate(_REASONS) if number >> bit & 1]
    return Status.unresolvable(*reasons) if reasons else SUCCESS


_STATUSES = tuple(map(_status, range(1 << len(_REASONS))))


class VolumeBinding(
    StoragePlugin[VolumeBindingArgs],
    PreScorePlugin[VolumeBindingArgs],
    ScorePlugin[VolumeBindingArgs],
    ReservePlugin[VolumeBindingArgs],
    PreBindPlugin[VolumeBindingArgs],
):
    """Rejects nodes that don't reach the pod's volumes, or can't get those that are still to be bound."""

    name = "VolumeBinding"
    upstream = Upstream()
    Args = VolumeBindingArgs
    reads = (CSIDriver, CSINode, CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass)
    allow_parallel = True

    def __init__(self, args: VolumeBindingArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        scoring = handle.gates.enabled(SCORING_GATE) and args.shape is not None
        self._reach = KnownReach()
        self._curve = score_curve(args.shape) if scoring and args.shape is not None else None

    def events_to_register(self) -> Sequence[HintedEvent]:
        return EVENTS

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        objects = nodes.snapshot.objects
        claims = claims_of(pod, objects)
        if isinstance(claims, str):
            return Status.unresolvable(claims)
        if not claims:
            return Status.skip()
        sorted_claims = sort_claims(claims, objects)
        if isinstance(sorted_claims, Status):
            return sorted_claims
        if sorted_claims.late:
            return Status.unresolvable(REASON_UNBOUND)
        state.write(_PRE_FILTER, sorted_claims)
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        claims = state.read(_PRE_FILTER, PodClaims)
        state.write(_FILTERED, True)
        try:
            conflict, gone = check_bound(claims.bound, nodes)
        except TranslationError as error:
            return Verdicts.reject_where(np.ones(len(nodes), bool), Status.error(str(error)))
        with_classes = self.handle.gates.enabled(ATTRIBUTES_CLASS_GATE)
        unmatched, without_room = check_waiting(claims.waiting, nodes, with_classes)
        codes = np.zeros(len(nodes), np.int32)
        for bit, found in enumerate((conflict, unmatched, without_room, gone)):
            codes |= found.astype(np.int32) << bit
        return Verdicts(codes, _STATUSES)

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        if node is None:
            return claim_faults(state, pod)
        with_classes = self.handle.gates.enabled(ATTRIBUTES_CLASS_GATE)
        claims = state.read(_PRE_FILTER, PodClaims)
        return list(claims_without_volumes(state, claims, node, with_classes))

    def rejected_rows(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int32s | None:
        found = BoundClaims.of(state, pod, nodes.snapshot.objects)
        if found is None:
            return None
        state.write(_PRE_FILTER, PodClaims(found.claims, ()))
        wanted = [affinity.required for volume in found.volumes if (affinity := volume.spec.node_affinity)]
        if not wanted:
            return NO_ROWS
        out_of_reach = [self._reach.out_of_reach(required, nodes) for required in wanted]
        return out_of_reach[0] if len(out_of_reach) == 1 else np.unique(np.concatenate(out_of_reach))

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        if not self.handle.gates.enabled(SCORING_GATE):
            return Status.skip()
        return SUCCESS

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        claims = state.get(_PRE_FILTER, PodClaims)
        # Nodes without Filter's results, because the profile lacks it there, get no score.
        looked_at = self._curve is not None and state.get(_FILTERED, bool)
        if self._curve is None or not looked_at or claims is None or not claims.waiting:
            return np.zeros(len(nodes), np.int64)
        with_classes = self.handle.gates.enabled(ATTRIBUTES_CLASS_GATE)
        return storage_scores(claims.waiting, nodes, with_classes, self._curve)

    def reserves_for(self, pod: Pod) -> bool:
        return pod.has_storage

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Reserve volumes for the pod's claims: those found now, which may differ from Filter's."""
        if state.get(_PRE_FILTER, PodClaims) is None:
            return SUCCESS
        with self.handle.assumptions.lock:
            snapshot = self.handle.snapshot()
            claims = claims_of(pod, snapshot.objects)
            if isinstance(claims, str):
                return Status.unresolvable(claims)
            sorted_claims = sort_claims(claims, snapshot.objects)
            if isinstance(sorted_claims, Status):
                return sorted_claims
            node = one_node(snapshot, node_name)
            with_classes = self.handle.gates.enabled(ATTRIBUTES_CLASS_GATE)
            unmatched, without_room = check_waiting(sorted_claims.waiting, node, with_classes)
            if not len(node) or (unmatched | without_room).any():
                return Status.unschedulable(REASON_BIND)
            volumes = binding.volumes_for(sorted_claims.waiting, node, with_classes)
            binding.assume(volumes, self.handle)
        state.write(_RESERVED, volumes)
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        volumes = state.get(_RESERVED, binding.PodVolumes)
        if volumes is not None:
            binding.forget(volumes, self.handle)

    def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Without an API server what is assumed is all there is."""
        volumes = state.get(_RESERVED, binding.PodVolumes)
        unbound = volumes is not None and (volumes.bindings or volumes.provisionings)
        return SUCCESS if unbound and self.handle.cluster is not None else Status.skip()

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Has the volumes bound, and waits for it."""
        volumes, cluster = state.read(_RESERVED, binding.PodVolumes), self.handle.cluster
        if cluster is None:
            return SUCCESS
        try:
            binding.write(volumes, self.handle, cluster)
            seconds = float(self.args.bind_timeout_seconds)
            binding.wait(volumes, pod, node_name, self.handle, cluster, seconds, Caller.of(state))
        except DeadlineExceededError:
            raise
        except (binding.VolumeBindingError, MooringError) as error:
            return Status.error(str(error))
        return SUCCESS
