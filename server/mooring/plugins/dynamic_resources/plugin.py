"""Finds devices for the claims of a pod.

Mirrors ``plugins/dynamicresources/dynamicresources.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.framework import (
    SUCCESS,
    Caller,
    Code,
    CycleState,
    FilterPlugin,
    Finding,
    GroupPreemption,
    GroupWhatIf,
    Handle,
    HintedEvent,
    Int32s,
    Int64s,
    KubeVersion,
    NodeInfo,
    NodeView,
    Normalizer,
    Part,
    Pod,
    PodGroupInfo,
    PodGroupPostFilterPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    Remedy,
    ReservePlugin,
    ScorePlugin,
    Snapshot,
    Status,
    Verdicts,
)
from mooring.framework.batch import BatchPlugin
from mooring.framework.cacheable import Aspect, CacheablePlugin, Dependencies
from mooring.framework.deadline import timely
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import PodGroup
from mooring.framework.objects.claims import ResourceClaim
from mooring.framework.objects.devices import DeviceClass, DeviceTaintRule, ResourceSlice
from mooring.framework.pod_aspects import may_ask_for_devices
from mooring.framework.preemption import RejectedNodes
from mooring.framework.upstream import Upstream
from mooring.framework.view import one_node
from mooring.plugins.dynamic_resources.args import DynamicResourcesArgs
from mooring.plugins.dynamic_resources.cel import EvaluationError
from mooring.plugins.dynamic_resources.claims.extended_claim import assumed_for
from mooring.plugins.dynamic_resources.claims.pod_claims import (
    ClaimError,
    claims_of,
    is_stuck,
    to_be_allocated,
    users_of,
)
from mooring.plugins.dynamic_resources.claims.reserving import (
    ReservedClaims,
    assume,
    bind,
    give_back,
    may_use,
)
from mooring.plugins.dynamic_resources.claims_state import ClaimsState
from mooring.plugins.dynamic_resources.extended_resources.claim import (
    ExtendedAsks,
    ExtendedResources,
    made_before,
)
from mooring.plugins.dynamic_resources.extended_resources.classes import GATE as EXTENDED_GATE
from mooring.plugins.dynamic_resources.findings import bound_elsewhere, missing_devices
from mooring.plugins.dynamic_resources.hints import events
from mooring.plugins.dynamic_resources.known_devices import KnownDevices
from mooring.plugins.dynamic_resources.pools.capacity import CapacityError
from mooring.plugins.dynamic_resources.pools.ledger import CounterBoard
from mooring.plugins.dynamic_resources.pools.reach import NodeSelectorError, Reach, parsed
from mooring.plugins.dynamic_resources.post_filter import nothing_to_do, remedies_for_group, remedy_for
from mooring.plugins.dynamic_resources.requests import ClaimToAllocate
from mooring.plugins.dynamic_resources.rules import Rules
from mooring.plugins.dynamic_resources.search.allocator import AllocationError
from mooring.plugins.dynamic_resources.search.deadline import TimedOutError, deadline
from mooring.plugins.dynamic_resources.search.known_nodes import (
    FOUND,
    NOTHING_FOUND,
    STATUSES,
    UNKNOWN,
    KnownNodes,
)
from mooring.plugins.dynamic_resources.support import not_supported, unsupported_claims, unsupported_setting

REASON_UNAVAILABLE = Status.unresolvable("resourceclaim not available on the node")
_RESERVED = "ReserveDynamicResources"

_SCORE_SINCE = KubeVersion(1, 35)
"""Before, devices were not scored."""

_TIMEOUT_FAILS_SINCE = KubeVersion(1, 36)
"""A search that takes too long fails the decision; before, it rejects the node."""

_ALTERNATIVES_SCORED_SINCE = KubeVersion(1, 36)
"""Without alternatives there is nothing to score; before, devices score whether these are on or off."""

_PLACEMENTS_GATE = "TopologyAwareWorkloadScheduling"

_PARTLY_ALLOCATED_SCORED_SINCE = KubeVersion(1, 36)
"""Before, Score fails for a pod with some allocated and some unallocated claims."""

_FAILURES = (AllocationError, CapacityError, EvaluationError, NodeSelectorError)


class DynamicResources(
    PreEnqueuePlugin[DynamicResourcesArgs],
    PreFilterPlugin[DynamicResourcesArgs],
    FilterPlugin[DynamicResourcesArgs],
    PostFilterPlugin[DynamicResourcesArgs],
    PodGroupPostFilterPlugin[DynamicResourcesArgs],
    ScorePlugin[DynamicResourcesArgs],
    ReservePlugin[DynamicResourcesArgs],
    PreBindPlugin[DynamicResourcesArgs],
    CacheablePlugin,
    BatchPlugin,
):
    """Rejects nodes on which a pod's claims can't get or use their devices; prefers early alternatives."""

    name = "DynamicResources"
    upstream = Upstream(
        weight=2,
        gate="DynamicResourceAllocation",
        points_since={"score": _SCORE_SINCE},
    )
    Args = DynamicResourcesArgs
    reads = (DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice)
    aspects = Aspect.CLAIMS
    normalizer = Normalizer.BY_MAX
    allow_parallel = True

    def __init__(self, args: DynamicResourcesArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._unsupported = unsupported_setting(handle)
        self._rules = Rules.of(handle.gates)
        self._stand_in = handle.gates.enabled(EXTENDED_GATE)
        self._devices = KnownDevices(handle, self._rules)
        self._asks = ExtendedAsks()

    def dependencies(self, pod: Pod) -> Dependencies:
        """Read whether a ``DeviceClass`` stands for a resource of the pod; the pod is signed if none does."""
        if self.reserves_now(pod):
            parts = Part.NODES_BUT_IMAGES | Part.OBJECTS | Part.OTHER_NODES
            return Dependencies(parts=parts, kinds=(*self.reads, PodGroup))
        parts = Part.OBJECTS | Part.OTHER_NODES if self.reserves_for(pod) else Part.NONE
        return Dependencies(signature=may_ask_for_devices(pod), parts=parts, kinds=(DeviceClass,))

    def events_to_register(self) -> Sequence[HintedEvent]:
        return events(self.handle)

    def pre_enqueue(self, pod: Pod) -> Status:
        if not pod.spec.resource_claims or self._unsupported is not None:
            return SUCCESS
        try:
            claims_of(pod, self.handle.snapshot().objects, self._rules)
        except ClaimError as error:
            return Status.unresolvable(str(error))
        return SUCCESS

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> PreFilterResult | Status:
        note = ClaimsState(self._rules)
        state.write(self.name, note)
        objects = nodes.snapshot.objects
        if not self.reserves_for(pod) or not (pod.spec.resource_claims or self._extended(pod, objects)):
            return Status.skip()
        note.as_of = self._devices.state_of(nodes.snapshot)
        note.extended = self._extended(pod, objects)
        held = None
        if note.extended is not None:
            note.made = made_before(pod, self._devices.controlled_by(pod, objects, note.as_of))
            held = assumed_for(pod, objects)
        if self._unsupported is not None:
            return not_supported(self._unsupported)
        try:
            if pod.spec.resource_claims or pod.group is not None:
                note.claims = tuple(claims_of(pod, objects, self._rules))
                note.users = tuple(users_of(pod, note.claims, objects, self._rules))
            if held is not None:
                note.claims, note.extended = (*note.claims, held), None
            if not note.claims and note.extended is None:
                return Status.skip()
            return self._prepare(note, pod, nodes.snapshot)
        except ClaimError as error:
            state.write(self.name, ClaimsState())
            return Status.unresolvable(str(error))

    def _extended(self, pod: Pod, objects: ObjectTable) -> ExtendedResources | None:
        return self._asks.of(pod, objects) if self._stand_in else None

    def _prepare(self, note: ClaimsState, pod: Pod, snapshot: Snapshot) -> PreFilterResult | Status:
        """Fill in the note; the status says why the pod can't be scheduled at all."""
        objects = snapshot.objects
        to_allocate: list[ClaimToAllocate] = []
        for claim in timely(note.claims):
            if not may_use(claim, pod, snapshot):
                name = claim.metadata.key
                return Status.unresolvable(f"resource claim {name} is in the process of being allocated")
            if claim.status.allocation is None:
                to_allocate.append(to_be_allocated(claim, objects, self._rules))
            elif claim.status.allocation.node_selector is not None:
                parsed(claim.status.allocation.node_selector, "status.allocation.nodeSelector")
        rejection = unsupported_claims(to_allocate, note.extended)
        if rejection is not None:
            return not_supported(rejection)
        now, timeout = self.handle.clock.now(), self.args.binding_timeout
        stuck = [
            i for i, claim in enumerate(note.claims) if timeout is not None and is_stuck(claim, now, timeout)
        ]
        note.stuck = frozenset(stuck)
        note.to_allocate = tuple(to_allocate)
        if to_allocate or note.extended is not None:
            note.pools, note.first_free = self._devices.announced(objects)
            note.board = CounterBoard(self._devices.allocated(objects, note.as_of), self._rules)
            note.known = self._devices.nodes(objects, note.like(objects))
        return PreFilterResult()

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        note = state.read(self.name, ClaimsState)
        if not note.claims and note.extended is None:
            return Verdicts.passed(len(nodes))
        if note.known is None:
            return Verdicts.of(self._verdicts(note, Reach(nodes)))
        known, rows = note.known, nodes.rows
        said = self._searched(note, known, nodes)
        if not said:
            return Verdicts(known.codes[rows], STATUSES)
        return Verdicts.of([said.get(row) or STATUSES[known.codes[row]] for row in rows.tolist()])

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        note = state.get(self.name, ClaimsState)
        if node is None or note is None:
            return ()
        reach = Reach(one_node(node.snapshot, node.name))
        if status.reasons == REASON_UNAVAILABLE.reasons:
            return list(bound_elsewhere(note, reach))
        return list(missing_devices(state, note, reach, node))

    def rejected_rows(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int32s | None:
        prepared = self.pre_filter(state, pod, nodes)
        note = state.read(self.name, ClaimsState)
        known = note.known
        if not isinstance(prepared, PreFilterResult) or known is None or note.has_alternatives:
            return None
        if self._searched(note, known, nodes):
            return None
        rejected: Int32s = nodes.rows[known.codes[nodes.at] != FOUND]
        known.drop_columns()
        return rejected

    def _searched(self, note: ClaimsState, known: KnownNodes, nodes: NodeView) -> dict[int, Status]:
        """Search those of ``nodes`` whose outcome is not ``known``. Returns their statuses by row, if one of
        them can't be remembered as known; else nothing.
        """
        unknown = nodes.subset(nodes.rows[known.codes[nodes.at] == UNKNOWN])
        if not len(unknown):
            return {}
        reach, rows = Reach(unknown), unknown.rows.tolist()
        statuses = self._verdicts(note, reach)
        noted = [
            known.put(row, status, note.by_node.get(name, NOTHING_FOUND))
            for row, name, status in zip(rows, reach.names, statuses, strict=True)
        ]
        if all(noted):
            self._devices.searched.keep(known, unknown.at)
            return {}
        known.codes[unknown.rows] = UNKNOWN
        return dict(zip(rows, statuses, strict=True))

    def _verdicts(self, note: ClaimsState, reach: Reach) -> list[Status]:
        """Search the nodes until a search fails; the nodes after that one count as feasible."""
        statuses: list[Status] = []
        for position, name in enumerate(timely(reach.names)):
            try:
                statuses.append(self._verdict(note, reach, position, name))
            except _FAILURES as failure:
                statuses.append(Status.error(f"node {name}: {failure}"))
                break
        return statuses + [SUCCESS] * (len(reach.names) - len(statuses))

    def _verdict(self, note: ClaimsState, reach: Reach, position: int, name: str) -> Status:
        asked = note.extended_on(reach, position)
        if isinstance(asked, Status):
            return asked
        if not note.claims and asked is None:
            return SUCCESS
        unavailable = note.unusable(reach, position) if note.claims else set()
        check_time = deadline(self.args.filter_timeout, self.handle.clock)
        try:
            rejected = note.allocate(reach, position, name, check_time, asked)
        except TimedOutError as error:
            if self._rules.version >= _TIMEOUT_FAILS_SINCE:
                raise
            return Status.unresolvable(str(error))
        if rejected is not None:
            return rejected
        note.unavailable |= unavailable
        return REASON_UNAVAILABLE if unavailable else SUCCESS

    def post_filter(self, state: CycleState, pod: Pod, nodes: RejectedNodes) -> Status:
        """Proposes to take its devices from a claim that has them where the pod doesn't fit."""
        note = state.get(self.name, ClaimsState)
        if note is None:
            return Status.error("not found")
        if not note.claims and note.extended is None:
            return nothing_to_do("no new claims to deallocate", self._rules)
        remedy = remedy_for(note, pod)
        if remedy is None:
            return nothing_to_do("still not schedulable", self._rules)
        state.write(Remedy, remedy)
        return Status.unschedulable(remedy.proposal)

    def post_filter_group(
        self, state: CycleState, group: PodGroupInfo, what_if: GroupWhatIf
    ) -> GroupPreemption:
        """Propose for each pod what ``post_filter`` would, and to free the claims of the group itself."""
        constraints = group.group.spec.scheduling_constraints
        if constraints is not None and self.handle.gates.enabled(_PLACEMENTS_GATE):
            return GroupPreemption(Status.unschedulable())
        notes = [
            (pod, ClaimsState() if noted is None else noted.get(self.name, ClaimsState))
            for pod, noted in what_if.noted
        ]
        return remedies_for_group(group, notes, what_if.snapshot, frees_own=self._rules.group_claims)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        # There is none if only scores were requested and another plugin's PreFilter rejected the pod.
        note = state.get(self.name, ClaimsState) or ClaimsState()
        scores = np.zeros(len(nodes), np.int64)
        if not note.to_allocate or (
            self._rules.version >= _ALTERNATIVES_SCORED_SINCE and not self._rules.alternatives
        ):
            return scores
        if self._rules.version < _PARTLY_ALLOCATED_SCORED_SINCE and len(note.to_allocate) < len(note.claims):
            raise AllocationError("before 1.36, pods with some allocated claims get no scores")
        if note.known is not None and (note.known.codes[nodes.rows] != UNKNOWN).all():
            return note.known.scores[nodes.rows]
        reach = Reach(nodes)
        for position, name in enumerate(timely(reach.names)):
            if name not in note.by_node:
                self._verdict(note, reach, position, name)
            scores[position] = note.by_node.get(name, NOTHING_FOUND).score
        return scores

    def reserves_for(self, pod: Pod) -> bool:
        return bool(pod.spec.resource_claims) or may_ask_for_devices(pod)

    def reserves_now(self, pod: Pod) -> bool:
        if pod.spec.resource_claims:
            return True
        return self._extended(pod, self.handle.snapshot().objects) is not None

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Reserve devices for the pod's claims: those found now, which may differ from Filter's."""
        if not self.reserves_for(pod):
            return SUCCESS
        with self.handle.assumptions.lock:
            snapshot = self.handle.snapshot()
            note = self._found_before(state, snapshot, node_name)
            if note is None:
                view, notes = one_node(snapshot, node_name), CycleState()
                prepared = self.pre_filter(notes, pod, view)
                if isinstance(prepared, Status):
                    return SUCCESS if prepared.code is Code.SKIP else prepared
                note = notes.read(self.name, ClaimsState)
                [status] = self._verdicts(note, Reach(view)) or [REASON_UNAVAILABLE]
                if not status.ok:
                    return status
            reserved = note.reserved(node_name)
            assume(reserved, pod, self.handle)
        # The notes have done their part, and a pod keeps its state for as long as it keeps its place.
        state.delete(self.name)
        state.write(_RESERVED, reserved)
        return SUCCESS

    def _found_before(self, state: CycleState, snapshot: Snapshot, node_name: str) -> ClaimsState | None:
        """Return the notes with Filter's devices on the node; None if these must be searched again."""
        note, row = state.get(self.name, ClaimsState), snapshot.nodes.index.get(node_name)
        known = note is not None and row is not None and note.recall(row, self._devices.state_of(snapshot))
        return note if known else None

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        reserved = state.get(_RESERVED, ReservedClaims)
        if reserved is not None:
            give_back(reserved, pod, self.handle)

    def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Without an API server what is assumed is all there is."""
        claims = state.get(_RESERVED, ReservedClaims)
        return SUCCESS if claims is not None and self.handle.cluster is not None else Status.skip()

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Write the claims and wait for their devices."""
        reserved = state.read(_RESERVED, ReservedClaims)
        return bind(reserved, pod, self.handle, self.args.binding_timeout, Caller.of(state))
