"""What-if questions about a cluster, with the answers as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from mooring.app.engine import Core
from mooring.app.options import EngineOptions
from mooring.app.what_if import Question, answered_over
from mooring.framework import Node, Pod
from mooring.framework.objects import Object
from mooring.lab.frames import AnswerTable
from mooring.sessions.change.advice import SECONDS
from mooring_client.v1 import objects_pb2
from mooring_client.v1 import simulation_service_pb2 as pb

BY = {"drain": pb.REMOVAL_MODE_DRAIN, "deletion": pb.REMOVAL_MODE_DELETION}
"""How nodes are removed."""


class Futures:
    """Asks what-if questions about one state.

    Args:
        core: The engine and the state.
        options: The engine's options.
        pods: The pods of the state.
    """

    def __init__(self, core: Core, options: EngineOptions, pods: Sequence[Pod]) -> None:
        self._core, self._options, self._pods = core, options, pods

    def capacity(self, shapes: Sequence[Pod], *, by_node: bool, limit: int, seed: int) -> AnswerTable:
        """As ``Cluster.capacity``."""
        sources = [objects_pb2.PodSource(object=_sent(shape)) for shape in shapes]
        request = pb.EstimateCapacityRequest(shapes=sources, seed=seed, include_nodes=by_node, limit=limit)
        found = self._ask(request).shapes
        rows = [
            (shape.metadata.name, each.count, each.end.message)
            for shape, each in zip(shapes, found, strict=True)
        ]
        said = ", ".join(f"{name}: {count} more" for name, count, _ in rows)
        if not by_node:
            return AnswerTable.of(said, {"shape": "str", "more": "int64", "then": "str"}, rows)
        by_nodes = [
            (shape.metadata.name, node.node, node.count)
            for shape, each in zip(shapes, found, strict=True)
            for node in each.nodes
        ]
        return AnswerTable.of(said, {"shape": "str", "node": "str", "more": "int64"}, by_nodes)

    def removal(self, nodes: Iterable[str], *, by: str, cumulative: bool, seed: int) -> AnswerTable:
        """As ``Cluster.removal``."""
        request = pb.PlanRemovalRequest(nodes=nodes, mode=BY[by], cumulative=cumulative, seed=seed)
        rows = [
            (
                each.node,
                each.removable,
                sum(bool(landing.node) for landing in each.landings),
                len(each.alone),
                len(each.local_data),
                ", ".join(each.exhausted_budgets),
                next((one.verdict.message for one in each.landings if not one.node), ""),
            )
            for each in self._ask(request).nodes
        ]
        rows.sort(key=lambda row: (not row[1], *row[2:5], row[0]))
        said = f"{sum(row[1] for row in rows)} of {len(rows)} nodes could go by {by}"
        counts = dict.fromkeys(("moved", "single replicas", "emptyDir pods"), "int64")
        dtypes = {"node": "str", "removable": "bool", **counts, "exhausted budgets": "str", "why not": "str"}
        return AnswerTable.of(said, dtypes, rows)

    def node_groups(self, nodes: Sequence[Node], prices: Mapping[str, float], seed: int) -> AnswerTable:
        """As ``Cluster.node_groups``."""
        groups = [
            pb.NodeGroup(name=node.metadata.name, price=prices.get(node.metadata.name, 1.0), node=_sent(node))
            for node in nodes
        ]
        found = self._ask(pb.PlanNodeGroupsRequest(groups=groups, seed=seed))
        rows = [(each.group, each.node_count, each.price, len(each.left_over)) for each in found.options]
        said = f"{len(found.unplaced)} pods need more nodes"
        dtypes = {"group": "str", "nodes": "int64", "price": "float64", "left over": "int64"}
        return AnswerTable.of(said, dtypes, rows)

    def change(self, pod: str, nodes: Iterable[str], seed: int) -> AnswerTable:
        """As ``Cluster.change``."""
        found = self._ask(pb.SuggestChangesRequest(pod=_reference(pod), nodes=nodes, seed=seed))
        rows = [
            (number, each.node, step.WhichOneof("step"), _what(step))
            for number, each in enumerate(found.options, 1)
            for step in each.steps
        ]
        first = found.options[0].text if found.options else ""
        said = f"{pod}: {first or found.verdict.message or 'fits as it is'}"
        dtypes = {"option": "int64", "node": "str", "kind": "str", "change": "str"}
        return AnswerTable.of(said, dtypes, rows)

    def advice(self, pod: str, profile: str) -> dict[str, Any] | None:
        """Return the cheapest set of changes that a short search finds, as the page shows it; None = none.

        Its text is "" if the time was over before any was found.
        """
        request = pb.SuggestChangesRequest(pod=_reference(pod), profile=profile)
        request.time_limit.FromNanoseconds(int(SECONDS * 1e9))
        found = self._ask(request)
        first = found.options[0] if found.options else pb.ChangeOption()
        if found.preemption_node or (found.complete and not first.steps):
            return None
        return {"text": first.text, "node": first.node, "complete": found.complete}

    def blame(self, pod: str, node: str, most: int, seed: int) -> AnswerTable:
        """As ``Cluster.blame``."""
        found = self._ask(pb.AssignBlameRequest(pod=_reference(pod), node=node, most=most, seed=seed))
        rows = [
            (number, _kind(each.kind), each.name, each.node, ", ".join(some.nodes), some.node_count)
            for number, some in enumerate(found.sets, 1)
            for each in some.inputs
        ]
        first = " and ".join(f"{kind} {name}" for number, kind, name, *_ in rows if number == 1)
        said = (
            f"{pod}: without {first} it would come out otherwise"
            if first
            else f"{pod}: no inputs are to blame"
        )
        dtypes = {"set": "int64", "kind": "str", "name": "str", "on": "str", "then": "str", "nodes": "int64"}
        return AnswerTable.of(said, dtypes, rows)

    def _ask(self, request: Question) -> Any:
        return answered_over(self._core, self._options, self._pods, request)


def _sent(item: Object) -> objects_pb2.KubernetesObject:
    return objects_pb2.KubernetesObject(json=msgspec.json.encode(item, enc_hook=dict))


def _reference(pod: str) -> objects_pb2.PodSource:
    namespace, _, name = pod.rpartition("/")
    return objects_pb2.PodSource(
        reference=objects_pb2.PodReference(namespace=namespace or "default", name=name)
    )


def _kind(kind: pb.BlamedKind.ValueType) -> str:
    return pb.BlamedKind.Name(kind).removeprefix("BLAMED_KIND_").lower()


def _what(step: pb.ChangeStep) -> str:
    """Return a change in words."""
    match step.WhichOneof("step"):
        case "toleration":
            taint = step.toleration
            return f"tolerate {taint.key}{taint.value and f'={taint.value}'}:{taint.effect}"
        case "label" if not step.label.HasField("value"):
            return f"remove the label {step.label.key} from {step.label.node}"
        case "label":
            return f"label {step.label.node} with {step.label.key}={step.label.value}"
        case "request":
            return f"request {step.request.after} {step.request.resource} instead of {step.request.before}"
        case "move":
            return f"move {step.move.pod.namespace}/{step.move.pod.name} to {step.move.node}"
        case _:
            return f"add a node like {step.node.like}"
