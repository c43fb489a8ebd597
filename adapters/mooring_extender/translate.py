"""Extender documents to mooring.v1 messages and back: pure functions, one pair per verb."""

from __future__ import annotations

from itertools import compress

import grpc
import msgspec
import numpy as np
import numpy.typing as npt

from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.objects_pb2 import KubernetesObject, PodReference, PodSource
from mooring_client.v1.verdicts_pb2 import (
    VERDICT_CODE_ERROR,
    VERDICT_CODE_UNSCHEDULABLE,
    NodeVerdicts,
    Verdict,
)
from mooring_extender import wire
from mooring_extender.failures import CallError, misfit
from mooring_extender.names import Names
from mooring_extender.questions import Question
from mooring_extender.scores import Scores, priorities

Bools = npt.NDArray[np.bool_]
Int64s = npt.NDArray[np.int64]


class Filtered(msgspec.Struct, frozen=True):
    """The answer to a filter question.

    ``passed`` is the names that stay, None if there is none; the counts say how many nodes do not, by whether
    preemption may help.
    """

    body: bytes
    passed: Names | None
    resolvable: int = 0
    unresolvable: int = 0


def filter_request(pod: bytes, profile: str, *, scores: bool = False) -> pb.FilterRequest:
    """Return the Filter call for a filter call, still without its nodes; ``scores`` requests scores, too."""
    return pb.FilterRequest(
        pod=_pod_source(pod), profile=profile, include_totals=scores, in_scheduling_cycle=True
    )


def filtered(asked: Question, response: pb.FilterResponse) -> Filtered:
    """Return the answer to a filter call: the feasible nodes in the call's order, and why others are not.

    A node is Unschedulable (FailedNodes) or, for any other code, UnschedulableAndUnresolvable. Nodes are
    answered in the call's form; the other node list is null, and so is a map without entries. Raises
    CallError if the answer does not fit the question, or the verdict on a node is an error.
    """
    names = asked.names
    indices = _verdict_indices(response.verdicts, len(names.listed))
    if indices is None:
        return Filtered(_filter_result(asked, names, None, {}, {}), names)
    reasons = [_reason(verdict) for verdict in response.verdicts.distinct]
    stays = indices == 0
    failed: dict[str, bytes] = {}
    unresolvable: dict[str, bytes] = {}
    for position in np.flatnonzero(indices).tolist():
        resolvable, reason = reasons[indices[position]]
        (failed if resolvable else unresolvable)[names.escaped[position]] = reason
    passed = names.only(stays)
    body = _filter_result(asked, passed, stays, failed, unresolvable)
    return Filtered(body, passed, len(failed), len(unresolvable))


def scores_along(passed: Names, response: pb.FilterResponse) -> Scores | None:
    """Return the scores that came with the answer to a filter question; None if there are none. Raises
    CallError if they do not fit the names that stay.
    """
    if not response.totals:
        return None
    return Scores(passed, _totals(response, len(passed.listed)), response.weight_sum)


def score_request(pod: bytes, profile: str) -> pb.ScoreRequest:
    """Return the Score call for a prioritize question, still without its nodes."""
    return pb.ScoreRequest(pod=_pod_source(pod), profile=profile, include_totals=True, omit_plugins=True)


def host_priorities(asked: Question, response: pb.ScoreResponse) -> bytes:
    """Return the answer to a prioritize question, a HostPriorityList as JSON.

    Every known node has an entry, in the question's order; one that mooring does not know has none. Raises
    CallError if the answer does not fit the question, or a total is outside 0..100 times the weights.
    """
    names: Names | None = asked.names
    indices = _verdict_indices(response.verdicts, len(asked.names.listed))
    totals = _totals(response, len(asked.names.listed))
    if indices is not None:
        known = indices == 0
        names, totals = asked.names.only(known), totals[known]
    return priorities(Scores(names, totals, response.weight_sum)) if names else b"[]"


def bind_request(args: wire.ExtenderBindingArgs, profile: str) -> pb.BindRequest:
    """Return the Bind call for a bind order. ArgumentsError names the first field that is missing."""
    pod = PodReference(
        namespace=_required(args.pod_namespace, "PodNamespace"),
        name=_required(args.pod_name, "PodName"),
        uid=_required(args.pod_uid, "PodUID"),
    )
    return pb.BindRequest(pod=pod, node=_required(args.node, "Node"), profile=profile)


def bind_result(response: pb.BindResponse) -> wire.ExtenderBindingResult:
    """Return the answer to a bind order. Raises CallError if the API server does not have the binding:
    kube-scheduler must not think so.
    """
    if response.outcome in {pb.COMMIT_OUTCOME_BOUND, pb.COMMIT_OUTCOME_ALREADY_BOUND}:
        return wire.ExtenderBindingResult()
    if response.outcome == pb.COMMIT_OUTCOME_LOCAL:
        text = "the pod is not bound: mooring has no API server; start it with --kubeconfig"
        raise CallError(grpc.StatusCode.FAILED_PRECONDITION, text)
    raise misfit(f"bind outcome {response.outcome}")


def preempt_request(args: wire.ExtenderPreemptionArgs, profile: str) -> pb.PreemptRequest:
    """Return the Preempt call for a preempt question. Raises ArgumentsError if there is no pod, or not
    exactly one of the two maps of victims.
    """
    pod = wire.pod(args.pod)
    full, meta = args.node_name_to_victims, args.node_name_to_meta_victims
    if full is not None and meta is None:
        candidates = [
            _candidate(node, list(map(_pod_source, wire.victims(victims.pods))), victims)
            for node, victims in full.items()
        ]
    elif meta is not None and full is None:
        candidates = [
            _candidate(node, [_pod_by_uid(victim.uid) for victim in victims.pods or ()], victims)
            for node, victims in meta.items()
        ]
    else:
        raise wire.ArgumentsError("exactly one of NodeNameToVictims and NodeNameToMetaVictims must be set")
    return pb.PreemptRequest(
        pod=_pod_source(pod), profile=profile, candidates=pb.PreemptionCandidates(candidates=candidates)
    )


def preempt_result(response: pb.PreemptResponse) -> wire.ExtenderPreemptionResult:
    """Return the answer to a preempt question: victims by UID, whatever the question had."""
    return wire.ExtenderPreemptionResult(
        {
            candidate.node: wire.MetaVictims(
                pods=[wire.MetaPod(victim.reference.uid) for victim in candidate.victims],
                num_pdb_violations=candidate.pdb_violation_count,
            )
            for candidate in response.candidates
        }
    )


def _required(value: str | None, field: str) -> str:
    if not value:
        raise wire.ArgumentsError(f"{field} is missing")
    return value


def _pod_source(pod: bytes) -> PodSource:
    return PodSource(object=KubernetesObject(json=pod))


def _pod_by_uid(uid: str) -> PodSource:
    return PodSource(reference=PodReference(uid=uid))


def _candidate(
    node: str, pods: list[PodSource], victims: wire.Victims | wire.MetaVictims
) -> pb.PreemptionCandidate:
    return pb.PreemptionCandidate(node=node, victims=pods, pdb_violation_count=victims.num_pdb_violations)


def _filter_result(
    asked: Question,
    passed: Names | None,
    stays: Bools | None,
    failed: dict[str, bytes],
    unresolvable: dict[str, bytes],
) -> bytes:
    """Return an ExtenderFilterResult. ``stays`` (bool[M]) is None if all stay; the maps are escaped."""
    after = b',"FailedNodes":%s,"FailedAndUnresolvableNodes":%s,"Error":""}' % (
        _map(failed),
        _map(unresolvable),
    )
    if asked.items is None:
        return b'{"Nodes":null,"NodeNames":%s%s' % (passed.array if passed else b"[]", after)
    items = asked.items if stays is None else list(compress(asked.items, stays.tolist()))
    # Joined in one step: they are tens of megabytes.
    first, *others = items or [b""]
    pieces: list[bytes] = [b'{"Nodes":{"metadata":{},"items":[%s' % first, *others]
    pieces[-1] = b'%s]},"NodeNames":null%s' % (pieces[-1], after)
    return b",".join(pieces)


def _map(reasons: dict[str, bytes]) -> bytes:
    """Return a map of escaped names and encoded reasons as JSON; null when it is empty."""
    if not reasons:
        return b"null"
    return b"{%s}" % b",".join([b'"%s":%s' % (name.encode(), reason) for name, reason in reasons.items()])


def _verdict_indices(verdicts: NodeVerdicts, count: int) -> Int64s | None:
    """int64[M]: one verdict index per node, 0 for a feasible one; None when every node is."""
    if not verdicts.node_verdicts:
        return None
    indices = np.array(verdicts.node_verdicts, np.int64)
    if len(indices) != count:
        raise misfit(f"{len(indices)} verdicts for {count} nodes")
    highest = int(indices.max())
    if highest >= max(1, len(verdicts.distinct)):
        raise misfit(f"verdict {highest}, but only {len(verdicts.distinct)} verdicts")
    return indices if highest else None


def _totals(response: pb.FilterResponse | pb.ScoreResponse, count: int) -> Int64s:
    """int64[M]: one total per node, 0 for nodes without a score."""
    totals = np.array(response.totals if response.weight_sum else [0] * count, np.int64)
    if len(totals) != count:
        raise misfit(f"{len(totals)} totals for {count} nodes")
    return totals


def _reason(verdict: Verdict) -> tuple[bool, bytes]:
    """Return whether preemption may help a node with this verdict, and its text as JSON."""
    reason = ", ".join(verdict.reasons) or f"rejected by plugin {verdict.plugin}, which gave no reason"
    if verdict.code == VERDICT_CODE_ERROR:
        raise CallError(grpc.StatusCode.INTERNAL, f"plugin {verdict.plugin}: {reason}")
    return verdict.code == VERDICT_CODE_UNSCHEDULABLE, msgspec.json.encode(reason)
