"""Decisions on the wire."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from mooring.decisions.filters import DecisionFilter
from mooring.decisions.records import DecisionKind, DecisionResult, NodeRejections, Record, Why
from mooring.framework import Code, Int32s, Status
from mooring.framework.errors import InvalidArgumentError
from mooring.runtime.answers import Explanation
from mooring.service.wire.explanation import to_response
from mooring.service.wire.findings import code_value
from mooring.service.wire.node_names import fill_names
from mooring.service.wire.objects import CODES, label_matcher, status_message
from mooring_client.v1 import decision_service_pb2 as pb
from mooring_client.v1 import nodes_pb2, objects_pb2
from mooring_client.v1 import scheduling_service_pb2 as scheduling_pb

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
    """Return the origin of a decision."""
    message = objects_pb2.Provenance()
    _write_provenance(message, record)
    return message


def _write_provenance(message: objects_pb2.Provenance, record: Record) -> None:
    message.state_version, message.node_epoch = record.state_version, record.node_epoch
    message.configuration_hash, message.profile = record.configuration, record.profile


def decision_message(seq: int, record: Record, *, explained: bool) -> pb.Decision:
    """Return a decision."""
    message = pb.Decision(explained=explained)
    write_decision(message, seq, record)
    return message


def write_decision(message: pb.Decision, seq: int, record: Record) -> None:
    """Write a decision to an empty message, in place.

    Parts that are made elsewhere are copied, which takes twice as long.
    """
    details = record.details
    message.seq = seq
    message.time.seconds, message.time.nanos = _seconds_and_nanos(record.time, 1_000_000)
    _write_reference(message.pod, record)
    message.kind, message.result = kind_message(record.kind), result_message(details.result)
    _write_provenance(message.provenance, record)
    message.seed = record.seed
    message.node, message.nominated_node = record.node, details.nominated
    message.victims.extend(details.victims)
    message.violated_budgets.extend(details.budgets)
    message.total, message.tie_count = record.total, record.ties
    message.runner_up_node, message.runner_up_total = details.runner_up, details.runner_up_total
    message.evaluated_count, message.feasible_count = record.evaluated, record.feasible
    message.attempt = details.attempt
    message.duration.seconds, message.duration.nanos = _seconds_and_nanos(record.duration, 1_000_000_000)
    message.controller_kind, message.controller_name = record.owner
    message.trace_id = details.trace_id
    if details.attempt:
        message.queue_wait.CopyFrom(duration(details.queue_wait))
    message.woken_by, message.gated_by = details.woken[0], details.gated[0]
    if message.woken_by:
        message.woken_time.CopyFrom(timestamp(details.woken[1]))
    if message.gated_by:
        message.gated_time.CopyFrom(timestamp(details.gated[1]))
    if details.why is None:
        message.verdict.code = CODES[Code.SUCCESS]
    else:
        _write_why(message, details.why)


def _write_why(message: pb.Decision, why: Why) -> None:
    message.verdict.CopyFrom(status_message(Status(why.code, why.reasons, why.plugin), why.message))
    message.rejecting_plugins.extend(why.plugins)
    if why.dominant is not None:
        message.dominant.CopyFrom(rejections_message(why.dominant))


def rejections_message(rejections: NodeRejections) -> pb.NodeRejections:
    """Return how many nodes a plugin rejected."""
    return pb.NodeRejections(
        plugin=rejections.plugin,
        reason=rejections.reason,
        node_count=rejections.count,
        code=code_value(rejections.code),
    )


def reference(record: Record) -> objects_pb2.PodReference:
    """Return the pod of a decision."""
    message = objects_pb2.PodReference()
    _write_reference(message, record)
    return message


def _write_reference(message: objects_pb2.PodReference, record: Record) -> None:
    message.namespace, message.name, message.uid = record.namespace, record.name, record.uid


def kind_message(kind: DecisionKind) -> pb.DecisionKind.ValueType:
    """Return a kind on the wire."""
    return _KINDS[kind]


def result_message(result: DecisionResult) -> pb.DecisionResult.ValueType:
    """Return a result on the wire."""
    return _RESULTS[result]


def filter_of(message: pb.DecisionFilter) -> DecisionFilter:
    """Return the filter of a request. Raises InvalidArgumentError if a kind, a result or the selector is
    invalid.
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
    whole, nanos = _seconds_and_nanos(seconds, 1_000_000)
    return Timestamp(seconds=whole, nanos=nanos)


def duration(seconds: float) -> Duration:
    """Return a duration on the wire."""
    whole, nanos = _seconds_and_nanos(seconds, 1_000_000_000)
    return Duration(seconds=whole, nanos=nanos)


def _seconds_and_nanos(seconds: float, parts: int) -> tuple[int, int]:
    """Return whole seconds, and the nanoseconds, rounded down to this many parts of a second."""
    whole, rest = divmod(int(seconds * parts), parts)
    return whole, rest * (1_000_000_000 // parts)
