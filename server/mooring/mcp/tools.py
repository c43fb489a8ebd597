"""The questions, each answered by a short document: the dominant reason first, at most 4 kB of JSON."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, NoReturn

import grpc
from google.protobuf.json_format import MessageToDict

from mooring.runtime.answers import Explanation
from mooring.service.wire.explanation import from_response
from mooring.service.wire.findings import code_label
from mooring.serving.logs import printable
from mooring_client.v1 import decision_service_pb2 as decisions
from mooring_client.v1 import objects_pb2, scheduling_service_pb2, simulation_service_pb2, verdicts_pb2
from mooring_client.v1.decision_service_pb2_grpc import DecisionServiceStub
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from mooring_client.v1.simulation_service_pb2_grpc import SimulationServiceStub

Document = dict[str, Any]

MAX_BYTES = 4_000
"""The longest answer, in bytes of JSON: what an assistant reads is paid for and soon forgotten."""

MAX_TEXT = 400
"""The longest text in an answer, in characters."""

TIMEOUT_SECONDS = 30.0

ADVICE_MILLISECONDS = 150
PARTIAL: Document = {"partial_advice": "there was no time to try everything"}
"""How long the server looks for advice."""


class QuestionError(Exception):
    """The server can't be reached, or rejects the question; the text says why and what to do."""


class Tools:
    """Asks one server, ``mooring serve`` or the read-only listener of ``mooring scheduler``. Safe from any
    thread.
    """

    def __init__(self, channel: grpc.Channel) -> None:
        self._scheduling = SchedulingServiceStub(channel)
        self._decisions = DecisionServiceStub(channel)
        self._simulation = SimulationServiceStub(channel)

    def why_pending(self, pod: str = "", namespace: str = "") -> Document:
        """Say why pods have no node: one pod by its "namespace/name", or all of them in groups.

        Without a pod, pods of one controller with one dominant reason are a group, the largest first.
        """
        if pod:
            answer = self.explain(pod, nodes=0)
            return {
                key: answer[key]
                for key in ("pod", *PARTIAL, "fits_with", "answer", "rejected")
                if key in answer
            }
        request = decisions.SummarizeReasonsRequest(namespace=namespace, limit=20, ask_now=True, advise=True)
        found = _call(self._decisions.SummarizeReasons, request)
        return fitting(
            {
                "pods_without_a_node": found.pod_count,
                "groups": [_group(group) for group in found.groups],
                "more_groups": found.group_count - len(found.groups),
                "pods_not_asked_about": found.unexplained_count,
            }
        )

    def explain(self, pod: str, nodes: int = 5) -> Document:
        """Say where a pod would go now and why: the best nodes with their points, the others by reason.

        Args:
            pod: "namespace/name", or a name in the namespace ``default``.
            nodes: How many of the best nodes to list.
        """
        explanation = self._explained(pod)
        document = explanation.document()
        ranked = sorted(_scored(document), key=lambda item: (-item[1]["total"], item[0]))
        return fitting(
            {
                "pod": document["pod"],
                **({} if document["selected"] else self._advice(pod)),
                "answer": _sentence(document),
                "best": [_points(name, node) for name, node in ranked[: max(0, nodes)]],
                "rejected": _by_reason(document),
            }
        )

    def compare_nodes(self, pod: str, node: str, other: str) -> Document:
        """Compare two nodes for a pod: the difference of points by plugin, or the plugins that reject one.

        Args:
            pod: "namespace/name", or a name in the namespace ``default``.
            node: The first node.
            other: The second one; a positive difference is in favour of the first.
        """
        document = self._explained(pod).document()
        known = document["nodes"]
        for name in (node, other):
            if name not in known:
                raise QuestionError(f"there is no node {printable(name)!r} among the {len(known)} nodes")
        first, second = known[node], known[other]
        if first["total"] is None or second["total"] is None:
            return fitting({"pod": document["pod"], node: _verdict(first), other: _verdict(second)})
        differences = {
            plugin: points["weighted"] - second["scores"][plugin]["weighted"]
            for plugin, points in first["scores"].items()
        }
        ordered = sorted(differences.items(), key=lambda item: -abs(item[1]))
        return fitting(
            {
                "pod": document["pod"],
                "ahead": node if first["total"] > second["total"] else other,
                "totals": {node: first["total"], other: second["total"]},
                "differences": {plugin: points for plugin, points in ordered if points},
            }
        )

    def what_if(self, node: str = "", pod: str = "", group: str = "") -> Document:
        """Say what would happen: where a node's pods land if it is drained, or how many more pods would fit.

        If none fits, the fewest changes with which one would. The same for a pod group, which fits as a
        whole or not at all. Nothing in the cluster changes. Give one of the three.

        Args:
            node: The node that is drained.
            pod: "namespace/name" of a pod: how many more pods like it fit after all pending pods.
            group: "namespace/name" of a pod group: whether it fits, and if not, what would make it fit.
        """
        if [bool(each) for each in (node, pod, group)].count(True) != 1:
            said = "give either a node that goes, a pod that should get more copies, or a pod group"
            raise QuestionError(said)
        if group:
            return self._group_changes(group)
        if pod:
            shapes = [_reference(pod)]
            request = simulation_service_pb2.EstimateCapacityRequest(shapes=shapes)
            response = _call(self._simulation.EstimateCapacity, request)
            (shape,) = response.shapes
            answer = {"pod": pod, "room_for": shape.count, "then": shape.end.message}
            answer |= {"pending_placed_first": response.placed_count}
            if not shape.count:
                asked_changes = simulation_service_pb2.SuggestChangesRequest(pod=shapes[0])
                answer["fits_with"] = _options(_call(self._simulation.SuggestChanges, asked_changes))
            return fitting(answer)
        asked = simulation_service_pb2.PlanRemovalRequest(nodes=[node])
        (found,) = _call(self._simulation.PlanRemoval, asked).nodes
        landings = [
            {"pod": _key(one.pod), "node": one.node}
            | ({"waits_until_node_is_deleted": True} if one.waits else {})
            | ({"why_not": one.verdict.message} if one.waits or not one.node else {})
            for one in found.landings
        ]
        minded = {
            "single_replicas": list(map(_key, found.alone)),
            "emptydir_data_lost": list(map(_key, found.local_data)),
            "budgets_without_disruptions": list(found.exhausted_budgets),
        }
        minded = {name: some for name, some in minded.items() if some}
        return fitting({"node": node, "can_go": found.removable, **minded, "pods": landings})

    def list_decisions(self, namespace: str = "", pod: str = "", node: str = "", limit: int = 10) -> Document:
        """List the latest decisions, the newest first.

        Args:
            namespace: Only pods in this namespace.
            pod: Only the pod of this name.
            node: That selected or nominated this node.
            limit: How many, 50 at most.
        """
        wanted = decisions.DecisionFilter(namespace=namespace, pod=pod, node=node)
        request = decisions.ListDecisionsRequest(filter=wanted, limit=max(1, min(50, limit)))
        found = _call(self._decisions.ListDecisions, request)
        return fitting({"decisions": [_decision(one) for one in reversed(found.decisions)]})

    def _advice(self, pod: str) -> Document:
        """Return the easiest set of changes with which a pod would fit, in words; {} if none helps."""
        request = simulation_service_pb2.SuggestChangesRequest(pod=_reference(pod))
        request.time_limit.FromMilliseconds(ADVICE_MILLISECONDS)
        found = _call(self._simulation.SuggestChanges, request)
        partial = {} if found.complete else PARTIAL
        return {"fits_with": found.options[0].text, **partial} if found.options else partial

    def _group_changes(self, group: str) -> Document:
        namespace, name = _parts(group)
        asked = scheduling_service_pb2.GroupToSchedule(namespace=namespace, name=name)
        request = simulation_service_pb2.SuggestChangesRequest(group=asked)
        found = _call(self._simulation.SuggestChanges, request)
        fits = found.verdict.code == verdicts_pb2.VERDICT_CODE_SUCCESS
        answer: Document = {"group": f"{namespace}/{name}", "fits": fits}
        if not fits:
            answer |= {"why_not": found.verdict.message, "fits_with": _options(found)}
        return fitting(answer)

    def _explained(self, pod: str) -> Explanation:
        request = scheduling_service_pb2.ExplainRequest(pod=_reference(pod), all_rejections=True)
        return from_response(_call(self._scheduling.Explain, request))


def fitting(document: Document) -> Document:
    """Return the document without control characters, cut to ``MAX_BYTES``: its longest list is shortened."""
    kept: Document = _clean(document)
    while len(json.dumps(kept).encode()) > MAX_BYTES:
        name = max(
            (key for key, value in kept.items() if isinstance(value, list) and value),
            default=None,
            key=lambda key: len(json.dumps(kept[key])),
        )
        if name is None:
            break
        kept[name] = kept[name][: len(kept[name]) // 2]
        kept["shortened"] = True
    return kept


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        text = printable(value)
        return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 4] + " ..."
    if isinstance(value, dict):
        return {_clean(key): _clean(one) for key, one in value.items()}
    return [_clean(one) for one in value] if isinstance(value, list) else value


def _call(method: Any, request: Any) -> Any:
    try:
        return method(request, timeout=TIMEOUT_SECONDS)
    except grpc.RpcError as error:
        _reject(error)


def _reject(error: grpc.RpcError) -> NoReturn:
    code, details = error.code(), printable(error.details() or "")
    if code is grpc.StatusCode.UNAVAILABLE:
        raise QuestionError(f"no mooring server can be reached: {details}") from None
    if code is grpc.StatusCode.UNIMPLEMENTED:
        raise QuestionError(
            "this server does not answer that; ask one that keeps a decision journal"
        ) from None
    raise QuestionError(f"{code.name}: {details}") from None


def _reference(pod: str) -> objects_pb2.PodSource:
    namespace, name = _parts(pod)
    return objects_pb2.PodSource(reference=objects_pb2.PodReference(namespace=namespace, name=name))


def _parts(key: str) -> tuple[str, str]:
    namespace, slash, name = key.rpartition("/")
    return namespace if slash else "default", name


def _options(found: simulation_service_pb2.SuggestChangesResponse) -> list[Document]:
    """Return the sets of changes with which a pod or a group fits, the one with the fewest first."""
    return [
        {
            "to_do": option.text,
            "changes": [MessageToDict(step, preserving_proto_field_name=True) for step in option.steps],
            "then_on": option.node or dict(Counter(landing.node for landing in option.landings)),
        }
        for option in found.options
    ]


def _key(pod: objects_pb2.PodReference) -> str:
    return f"{pod.namespace}/{pod.name}"


def _sentence(document: Document) -> str:
    looked = f"{document['evaluated']} nodes evaluated, {document['feasible']} feasible"
    if document["selected"] is None:
        return f"no node ({looked}): {document['status']['message'] or document['status']['code']}"
    tied = len(document["ties"])
    return f"{document['selected']} ({looked}{f', {tied} tied' if tied > 1 else ''})"


def _scored(document: Document) -> Iterable[tuple[str, Document]]:
    return ((name, node) for name, node in document["nodes"].items() if node["total"] is not None)


def _points(name: str, node: Document) -> Document:
    points = {plugin: of["weighted"] for plugin, of in node["scores"].items() if of["weighted"]}
    return {"node": name, "total": node["total"], "points": points}


def _verdict(node: Document) -> str:
    if not node["rejections"]:
        return "feasible"
    return "rejected by " + "; ".join(
        f"{status['plugin']}: {', '.join(status['reasons'])}" for status in node["rejections"]
    )


def _by_reason(document: Document) -> list[Document]:
    """Return the rejecting plugins with reasons, numbers of nodes and examples, most nodes first."""
    groups: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for name, node in document["nodes"].items():
        for status in node["rejections"]:
            groups[status["plugin"], ", ".join(status["reasons"])].append(name)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    return [
        {"plugin": plugin, "reason": reason, "nodes": len(names), "such_as": names[:3]}
        for (plugin, reason), names in ordered
    ]


def _group(group: decisions.ReasonGroup) -> Document:
    maker = f"{group.controller_kind} {group.controller_name}" if group.controller_name else "no controller"
    return {
        "reason": f"{group.reason.plugin}: {group.reason.reason}" if group.reason.reason else group.message,
        **({"code": code_label(group.reason.code)} if group.reason.code else {}),
        **({"fits_with": group.advice.text} if group.advice.text else {}),
        **(PARTIAL if group.advice_partial else {}),
        "pods": group.pod_count,
        "of": f"{group.namespace}, {maker}",
        "since": group.oldest_time.ToJsonString(),
        "such_as": [_key(pod) for pod in group.examples],
    }


def _decision(one: decisions.Decision) -> Document:
    document = {
        "seq": one.seq,
        "time": one.time.ToJsonString(),
        "pod": _key(one.pod),
        "result": decisions.DecisionResult.Name(one.result).removeprefix("DECISION_RESULT_").lower(),
    }
    return document | ({"node": one.node} if one.node else {"why": one.verdict.message})
