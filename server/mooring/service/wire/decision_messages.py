"""Decisions on the wire."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from mooring.decisions.filters import DecisionFilter
from mooring.decisions.records import DecisionKind, DecisionResult, NodeRejections, Record
from mooring.framework import SUCCESS, Int32s, Status
from mooring.framework.errors import InvalidArgumentError
from mooring.runtime.cycle.explain import Explanation
from mooring.service.wire.explanation import to_response
from mooring.service.wire.node_names import fill_names
from mooring.service.wire.objects import label_matcher, status_message
from mooring.v1 import decision_service_pb2 as pb
from mooring.v1 import nodes_pb2, objects_pb2
from mooring.v1 import scheduling_service_pb2 as scheduling_pb

_KINDS = {kind: pb.DecisionKind.Value(f"DECISION_KIND_{kind.name}") for kind in DecisionKind}
_RESULTS = {result: pb.DecisionResult.Value(f"DECISION_RESULT_{result.name}") for result in DecisionResult}


@dataclass(frozen=True, slots=True)
class ExplainedNodes:
    """The nodes of an explanation, for an answer that lists all of them and no others.

    Attributes:
        rows: int32[N], which number they have in the answer: 0 to N-1.
        nodes: Their names.
    """

    rows: Int32s
    nodes: nodes_pb2.NodeList

    @classmethod
    def of(cls, explanation: Explanation, *, joined: bool = False) -> ExplainedNodes:
        """Return those of ``explanation``."""
        nodes = nodes_pb2.NodeList()
        fill_names(nodes, explanation.nodes, joined=joined)
        return cls(np.arange(len(explanation.nodes), dtype=np.int32), nodes)

    def node_list(self, _names: object, _rows: object) -> nodes_pb2.NodeList:
        """Return their names."""
        return self.nodes


def encode_explanation(explanation: Explanation, record: Record) -> bytes:
    """Return an explanation in the form in which it is kept: that in which it is answered."""
    nodes = ExplainedNodes.of(explanation)
    return to_response(explanation, nodes, provenance_of(record)).SerializeToString()


def explanation_message(
    explanation: Explanation, record: Record, *, joined: bool
) -> scheduling_pb.ExplainResponse:
    """Return the explanation of a decision that was made again."""
    return to_response(explanation, ExplainedNodes.of(explanation, joined=joined), provenance_of(record))


def provenance_of(record: Record) -> objects_pb2.Provenance:
    """Where a decision came from."""
    return objects_pb2.Provenance(
        state_version=record.state_version,
        node_epoch=record.node_epoch,
        configuration_hash=record.configuration,
        profile=record.profile,
    )


def decision_message(seq: int, record: Record, *, explained: bool) -> pb.Decision:
    """Return a decision."""
    why = record.why
    status = SUCCESS if why is None else Status(why.code, why.reasons, why.plugin)
    message = pb.Decision(
        seq=seq,
        time=timestamp(record.time),
        pod=reference(record),
        kind=kind_message(record.kind),
        result=result_message(record.result),
        provenance=provenance_of(record),
        seed=record.seed,
        node=record.node,
        nominated_node=record.details.nominated,
        total=record.total,
        runner_up_node=record.details.runner_up,
        runner_up_total=record.details.runner_up_total,
        tie_count=record.ties,
        evaluated_count=record.evaluated,
        feasible_count=record.feasible,
        status=status_message(status, "" if why is None else why.message),
        attempt=record.details.attempt,
        duration=duration(record.duration),
        explained=explained,
        controller_kind=record.owner[0],
        controller_name=record.owner[1],
        trace_id=record.details.trace_id,
    )
    if record.details.attempt:
        message.queue_wait.CopyFrom(duration(record.details.queue_wait))
    if why is not None:
        message.rejecting_plugins.extend(why.plugins)
        if why.dominant is not None:
            message.dominant.CopyFrom(rejections_message(why.dominant))
    return message


def rejections_message(rejections: NodeRejections) -> pb.NodeRejections:
    """Return how many nodes a plugin rejected."""
    return pb.NodeRejections(plugin=rejections.plugin, reason=rejections.reason, node_count=rejections.count)


def reference(record: Record) -> objects_pb2.PodReference:
    """Return the pod of a decision."""
    return objects_pb2.PodReference(namespace=record.namespace, name=record.name, uid=record.uid)


def kind_message(kind: DecisionKind) -> pb.DecisionKind.ValueType:
    """Return a kind on the wire."""
    return _KINDS[kind]


def result_message(result: DecisionResult) -> pb.DecisionResult.ValueType:
    """Return a result on the wire."""
    return _RESULTS[result]


def filter_of(message: pb.DecisionFilter) -> DecisionFilter:
    """Return the filter of a request.

    Raises:
        InvalidArgumentError: A kind, a result or the selector is none.
    """
    try:
        kinds = frozenset(map(DecisionKind, message.kinds))
    except ValueError:
        raise InvalidArgumentError.at("filter.kinds", "has a value that is not a DecisionKind") from None
    try:
        results = frozenset(map(DecisionResult, message.results))
    except ValueError:
        raise InvalidArgumentError.at("filter.results", "has a value that is not a DecisionResult") from None
    return DecisionFilter(
        message.namespace,
        message.pod,
        message.uid,
        message.node,
        message.profile,
        kinds,
        results,
        message.rejecting_plugin,
        message.max_margin if message.HasField("max_margin") else None,
        label_matcher(message.label_selector, "filter.label_selector"),
    )


def timestamp(seconds: float) -> Timestamp:
    """Return a time on the wire."""
    whole, micros = divmod(int(seconds * 1e6), 1_000_000)
    return Timestamp(seconds=whole, nanos=micros * 1_000)


def duration(seconds: float) -> Duration:
    """Return a duration on the wire."""
    whole, nanos = divmod(int(seconds * 1e9), 1_000_000_000)
    return Duration(seconds=whole, nanos=nanos)
