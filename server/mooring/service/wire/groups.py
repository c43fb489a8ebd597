"""Groups on the wire: the pods of a request, and the answer about each group."""

from __future__ import annotations

from collections.abc import Callable

from mooring.framework import GroupPreemption, Pod, Status
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import PodGroup
from mooring.framework.state import ClusterState
from mooring.runtime.answers import GroupDecision, GroupMember, TriedPlacement
from mooring.runtime.commit.asked_group import AskedGroup, known_group, pods_of_group
from mooring.runtime.commit.group_commit import PlacedGroup
from mooring.service.backend import ObjectDecoder
from mooring.service.wire.objects import find_pod, pod_reference, status_message
from mooring.service.wire.outcomes import outcome_of
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.objects_pb2 import PodSource

PodFinder = Callable[[ObjectDecoder, ClusterState, PodSource, str], Pod]
"""Returns the pod that a field of a request is about: ``find_pod``, or ``find_committed_pod``."""


def decode_group(
    decoder: ObjectDecoder,
    state: ClusterState,
    given: pb.GroupToSchedule,
    path: str,
    find: PodFinder = find_pod,
) -> tuple[PodGroup, list[Pod]]:
    """Return a group of the state with its pods, those that were sent or all that are known.

    Raises:
        InvalidArgumentError: It has no name, or a pod is malformed or of another group.
        NotFoundError: There is no such group or pod.
    """
    missing = [field for field in ("namespace", "name") if not getattr(given, field)]
    if missing:
        raise InvalidArgumentError(FieldError(f"{path}.{each}", "is missing") for each in missing)
    group = known_group(state, given.namespace, given.name)
    known = (
        _given_pods(decoder, state, given, path, find)
        if given.pods
        else pods_of_group(state, (given.namespace, given.name))
    )
    return group, known


def _given_pods(
    decoder: ObjectDecoder, state: ClusterState, given: pb.GroupToSchedule, path: str, find: PodFinder
) -> list[Pod]:
    key = given.namespace, given.name
    pods: dict[str, Pod] = {}
    for at, source in enumerate(given.pods):
        where = f"{path}.pods[{at}]"
        pod = find(decoder, state, source, where)
        if pod.group != key:
            named = "no group" if pod.group is None else f"group {'/'.join(pod.group)}"
            raise InvalidArgumentError.at(where, f"pod {pod.key} names {named}, not {'/'.join(key)}")
        if pod.metadata.uid in pods:
            raise InvalidArgumentError.at(where, f"has the UID {pod.metadata.uid} of another pod")
        record = state.snapshot.pods.get(pod.metadata.uid)
        pods[pod.metadata.uid] = pod if record is None or not record.node_name else record.pod
    return list(pods.values())


def group_answer(asked: AskedGroup, placed: PlacedGroup) -> pb.ScheduledGroup:
    """Return what became of a group, on the wire."""
    decision = placed.decision
    namespace, name = asked.group.key
    pods = [_pod(member, placed) for member in decision.members]
    pods += [_gated(pod, status) for pod, status in asked.gated]
    answer = pb.ScheduledGroup(
        namespace=namespace,
        name=name,
        verdict=status_message(decision.status, decision.message),
        pods=pods,
        placements=[_placement(decision, at) for at in range(len(decision.tried))],
    )
    if decision.status.ok and decision.taken >= 0:
        answer.placement = decision.taken
    if decision.preemption is not None:
        _add_preemption(answer, decision.preemption)
    return answer


def _add_preemption(answer: pb.ScheduledGroup, found: GroupPreemption) -> None:
    answer.victims.extend(map(pod_reference, found.victims))
    answer.pdb_violation_count += found.violations
    nominated = {pod.metadata.uid: node for pod, node in found.nominations}
    for pod in answer.pods:
        pod.nominated_node = nominated.get(pod.pod.uid, "")


def _pod(member: GroupMember, placed: PlacedGroup | None = None) -> pb.GroupPod:
    status = status_message(member.status, member.message)
    answer = pb.GroupPod(pod=pod_reference(member.pod), node=member.node_name, verdict=status)
    if placed is not None:
        uid = member.pod.metadata.uid
        committed = placed.committed.get(uid)
        if not placed.decision.status.ok and committed is None:
            answer.node = ""
        if committed is not None:
            answer.outcome = outcome_of(committed)
        elif placed.reserved and member.node_name and member.status.ok:
            answer.outcome = pb.COMMIT_OUTCOME_RESERVED
    return answer


def _gated(pod: Pod, status: Status) -> pb.GroupPod:
    return pb.GroupPod(pod=pod_reference(pod), verdict=status_message(status, status.message))


def _placement(decision: GroupDecision, at: int) -> pb.TriedPlacement:
    tried: TriedPlacement = decision.tried[at]
    answer = pb.TriedPlacement(
        name=tried.placement.name,
        node_count=len(tried.placement.rows),
        verdict=status_message(tried.status, tried.status.message),
        pods=[_pod(member) for member in tried.members],
    )
    if at in decision.compared:
        position = decision.compared.index(at)
        for scores in decision.scores:
            raw, normalized = int(scores.raw[position]), int(scores.normalized[position])
            answer.scores.add(plugin=scores.plugin, weight=scores.weight, raw=raw, normalized=normalized)
            answer.total += normalized * scores.weight
    return answer
