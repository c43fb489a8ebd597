"""Extender documents to mooring.v1 messages and back: pure functions, one pair per verb.

The extender scale 0..10 exists only here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from operator import not_
from typing import Final

import grpc
import msgspec
from msgspec import Raw

from mooring.v1.nodes_pb2 import NodeSelection
from mooring.v1.objects_pb2 import KubernetesObject, PodReference, PodSource
from mooring.v1.scheduling_service_pb2 import (
    BIND_OUTCOME_ALREADY_BOUND,
    BIND_OUTCOME_BOUND,
    BIND_OUTCOME_LOCAL,
    BindRequest,
    BindResponse,
    FilterRequest,
    FilterResponse,
    PreemptionCandidate,
    PreemptionCandidates,
    PreemptRequest,
    PreemptResponse,
    ScoreRequest,
    ScoreResponse,
)
from mooring.v1.statuses_pb2 import CODE_ERROR, CODE_UNSCHEDULABLE, NodeVerdicts, Status
from mooring_extender import wire
from mooring_extender.failures import CallError

MAX_EXTENDER_SCORE: Final = 10
MAX_NODE_SCORE: Final = 100
_HOST: Final = '{"Host":"'


class Question(msgspec.Struct, frozen=True):
    """What filter and prioritize ask: one pod, at least one node.

    `items` is None if nodes came by name; otherwise it holds their JSON, parallel to `names`.
    `joined` is the names in UTF-8 with a NUL byte between two of them.
    """

    pod: bytes
    names: list[str]
    joined: bytes
    items: list[Raw] | None


def question(args: wire.ExtenderArgs) -> Question:
    """Check what filter or prioritize was asked.

    Raises:
        ArgumentsError: no pod, not exactly one node list, no node, or something that is no node name.
    """
    pod, nodes = _pod(args.pod), wire.present(args.nodes)
    if (nodes is None) == (args.node_names is None):
        which = "both are" if nodes else "none is"
        raise wire.ArgumentsError(f"exactly one of Nodes and NodeNames must be set, {which}")
    if args.node_names is not None:
        names, items, field = args.node_names, None, "NodeNames[{}]"
    else:
        objects = wire.read_node_objects(args.nodes)
        names, items, field = objects.names, objects.items, "Nodes.items[{}].metadata.name"
    if not names:
        raise wire.ArgumentsError("the node list is empty: there is nothing to decide")
    joined = wire.joined_names(names, field)
    return Question(pod, names, joined, items)  # type: ignore[arg-type]  # joined_names has found no None


def filter_request(asked: Question, profile: str) -> FilterRequest:
    """Return the Filter call for a filter question."""
    request = FilterRequest(pod=_pod_source(asked.pod), profile=profile)
    _select(asked, request.nodes)
    return request


def filter_result(asked: Question, response: FilterResponse) -> wire.ExtenderFilterResult:
    """Return the answer to a filter question: who stays, in the question's order, and why the others do not.

    A node is Unschedulable (FailedNodes) or, for any other code, UnschedulableAndUnresolvable. Nodes are
    answered the way they were asked; the other node list is null, and so is a map without entries.

    Raises:
        CallError: the answer does not fit the question, or the verdict on a node is an error.
    """
    indices = _status_indices(response.verdicts, len(asked.names))
    failed: dict[str, str] = {}
    unresolvable: dict[str, str] = {}
    targets = [_rejection(status, failed, unresolvable) for status in response.verdicts.statuses]
    for name, index in compress(zip(asked.names, indices, strict=True), indices):
        rejected, reason = targets[index]
        rejected[name] = reason
    return wire.ExtenderFilterResult(
        nodes=_node_list(list(compress(asked.items, map(not_, indices)))) if asked.items else None,
        node_names=None if asked.items else list(compress(asked.names, map(not_, indices))),
        failed_nodes=failed or None,
        failed_and_unresolvable_nodes=unresolvable or None,
    )


def score_request(asked: Question, profile: str) -> ScoreRequest:
    """Return the Score call for a prioritize question."""
    request = ScoreRequest(
        pod=_pod_source(asked.pod), profile=profile, include_totals=True, omit_plugins=True
    )
    _select(asked, request.nodes)
    return request


def host_priorities(asked: Question, response: ScoreResponse) -> bytes:
    """Return the answer to a prioritize question, a HostPriorityList as JSON.

    Every known node has an entry, in the question's order; one that mooring does not know has none.

    Raises:
        CallError: the answer does not fit the question, or a total is outside 0..100 times the weights.
    """
    indices = _status_indices(response.verdicts, len(asked.names))
    weight_sum = response.weight_sum
    totals = list(response.totals) if weight_sum else [0] * len(asked.names)
    if len(totals) != len(asked.names):
        raise _misfit(f"{len(totals)} totals for {len(asked.names)} nodes")
    names: Sequence[str] = _escaped(asked)
    if any(indices):
        names, totals = list(compress(names, map(not_, indices))), list(compress(totals, map(not_, indices)))
    if not names:
        return b"[]"
    # A total is one of a few hundred values, a node one of thousands: what follows a name is rendered once.
    ends = [f'","Score":{score}}},{_HOST}' for score in range(MAX_EXTENDER_SCORE + 1)]
    end_of = {total: ends[extender_score(total, weight_sum)] for total in set(totals)}
    pieces = [""] * (2 * len(names))
    pieces[0::2] = names
    pieces[1::2] = map(end_of.__getitem__, totals)
    return f"[{_HOST}{''.join(pieces).removesuffix(',' + _HOST)}]".encode()


def extender_score(total: int, weight_sum: int) -> int:
    """Return a node's total as an integer 0..10, rounded half up.

    The scale is absolute: it does not depend on the other nodes of the call. `weight_sum` counts every score
    plugin of the profile, those that skipped the pod too; 0, a profile that scores nothing, gives 0.

    Raises:
        CallError: the total is outside 0..100 times `weight_sum`.
    """
    if not weight_sum:
        return 0
    highest = MAX_NODE_SCORE * weight_sum
    if not 0 <= total <= highest:
        raise _misfit(f"a total of {total}, outside 0..{highest}")
    return (MAX_EXTENDER_SCORE * total + highest // 2) // highest


def bind_request(args: wire.ExtenderBindingArgs, profile: str) -> BindRequest:
    """Return the Bind call for a bind order. ArgumentsError names the first field that is missing."""
    pod = PodReference(
        namespace=_required(args.pod_namespace, "PodNamespace"),
        name=_required(args.pod_name, "PodName"),
        uid=_required(args.pod_uid, "PodUID"),
    )
    return BindRequest(pod=pod, node=_required(args.node, "Node"), profile=profile)


def bind_result(response: BindResponse) -> wire.ExtenderBindingResult:
    """Return the answer to a bind order.

    Raises:
        CallError: the API server does not have the binding: kube-scheduler must not think so.
    """
    if response.outcome in {BIND_OUTCOME_BOUND, BIND_OUTCOME_ALREADY_BOUND}:
        return wire.ExtenderBindingResult()
    if response.outcome == BIND_OUTCOME_LOCAL:
        text = "the pod is not bound: there is no API server to tell; start mooring with --kubeconfig"
        raise CallError(grpc.StatusCode.FAILED_PRECONDITION, text)
    raise _misfit(f"bind outcome {response.outcome}")


def preempt_request(args: wire.ExtenderPreemptionArgs, profile: str) -> PreemptRequest:
    """Return the Preempt call for a preempt question.

    Raises:
        ArgumentsError: no pod, or not exactly one of the two maps of victims.
    """
    pod = _pod(args.pod)
    full, meta = args.node_name_to_victims, args.node_name_to_meta_victims
    if full is not None and meta is None:
        candidates = [
            _candidate(node, [_pod_source(bytes(victim)) for victim in victims.pods or ()], victims)
            for node, victims in full.items()
        ]
    elif meta is not None and full is None:
        candidates = [
            _candidate(node, [_pod_by_uid(victim.uid) for victim in victims.pods or ()], victims)
            for node, victims in meta.items()
        ]
    else:
        raise wire.ArgumentsError("exactly one of NodeNameToVictims and NodeNameToMetaVictims must be set")
    return PreemptRequest(
        pod=_pod_source(pod), profile=profile, candidates=PreemptionCandidates(candidates=candidates)
    )


def preempt_result(response: PreemptResponse) -> wire.ExtenderPreemptionResult:
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


def _pod(pod: Raw) -> bytes:
    text = wire.present(pod)
    if text is None:
        raise wire.ArgumentsError("Pod is missing")
    if not text.startswith(b"{"):
        raise wire.ArgumentsError("Pod is not an object")
    return text


def _required(value: str | None, field: str) -> str:
    if not value:
        raise wire.ArgumentsError(f"{field} is missing")
    return value


def _pod_source(pod: bytes) -> PodSource:
    return PodSource(object=KubernetesObject(json=pod))


def _pod_by_uid(uid: str) -> PodSource:
    return PodSource(reference=PodReference(uid=uid))


def _select(asked: Question, selection: NodeSelection) -> None:
    """Choose the nodes of a question, in place: passing messages to constructors copies tens of megabytes."""
    if asked.items is None:
        selection.joined_names = asked.joined
    else:
        nodes = selection.inline.nodes
        for item in asked.items:
            nodes.add().json = bytes(item)


def _candidate(
    node: str, pods: list[PodSource], victims: wire.Victims | wire.MetaVictims
) -> PreemptionCandidate:
    return PreemptionCandidate(node=node, victims=pods, pdb_violation_count=victims.num_pdb_violations)


def _status_indices(verdicts: NodeVerdicts, count: int) -> list[int]:
    """Return one status index per node, 0 for a feasible one, checked against the question."""
    indices = list(verdicts.node_statuses)
    if not indices:
        return [0] * count
    if len(indices) != count:
        raise _misfit(f"{len(indices)} verdicts for {count} nodes")
    if max(indices) >= max(1, len(verdicts.statuses)):
        raise _misfit(f"verdict {max(indices)}, but only {len(verdicts.statuses)} statuses")
    return indices


def _rejection(
    status: Status, failed: dict[str, str], unresolvable: dict[str, str]
) -> tuple[dict[str, str], str]:
    """Return the map that a node with this status goes to, and the text that goes with it."""
    reason = ", ".join(status.reasons) or f"rejected by plugin {status.plugin}, which gave no reason"
    if status.code == CODE_ERROR:
        raise CallError(grpc.StatusCode.INTERNAL, f"plugin {status.plugin}: {reason}")
    return (failed if status.code == CODE_UNSCHEDULABLE else unresolvable), reason


def _node_list(items: list[Raw]) -> Raw:
    """Return a NodeList of the node objects as they came."""
    return Raw(b'{"metadata":{},"items":' + msgspec.json.encode(items) + b"}")


def _escaped(asked: Question) -> Sequence[str]:
    """Return the names as they stand between the quotes of a JSON string."""
    encoded = msgspec.json.encode(asked.names)
    brackets_and_quotes = 2 + 2 * len(asked.names)
    if len(encoded) == len(asked.joined) + brackets_and_quotes:
        return asked.names
    return encoded.decode()[2:-2].split('","')


def _misfit(text: str) -> CallError:
    return CallError(grpc.StatusCode.INTERNAL, f"its answer does not fit the question: {text}")
