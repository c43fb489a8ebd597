"""The one place where decisions of all parts are noted."""

from __future__ import annotations

import numpy as np

from mooring.decisions.explanations import Explanations
from mooring.decisions.journal import DecisionJournal
from mooring.decisions.reasons import why_of, why_of_status
from mooring.decisions.records import BatchRecord, DecisionResult, Record, Why
from mooring.framework import Code
from mooring.framework.errors import PluginFailureError
from mooring.plugin_hosts.noted import answer_notes
from mooring.runtime.answers import Choice, Evaluation, GroupDecision, GroupMember
from mooring.tracing.spans import Attributes, current_span, current_trace_id


class Decisions:
    """The decisions of one process. Safe from any thread; noting one never waits. ``explanations`` keeps some
    of their explanations; None = none.
    """

    def __init__(self, journal: DecisionJournal, explanations: Explanations | None = None) -> None:
        self.journal = journal
        self.explanations = explanations

    def add(self, record: Record, choice: Choice | None = None) -> None:
        """Note a decision, on the span that is worked on as well; keep its explanation, if it is one to keep.

        ``choice`` is the one with the evaluation, of those that may be explained.
        """
        if answers := _new_answers():
            record.own_details().answers = answers
        span = current_span()
        if span is not None:
            record.own_details().trace_id = span.trace_id
            span.set_attributes(_attributes(record))
        self.journal.add(record)
        if choice is not None and self.explanations is not None:
            self.explanations.offer(record, choice)

    def add_batch(self, batch: BatchRecord) -> None:
        """Note the decisions of a call that all found a node."""
        batch.trace_id, batch.answers = current_trace_id(), _new_answers()
        self.journal.add(batch)


def _new_answers() -> dict[int, int]:
    """Return the answers that hosts of plugins gave in this thread since the last decision, as CRC-32."""
    return {question: answer for question, (_, answer) in answer_notes.take().items()}


def write_choice(record: Record, choice: Choice) -> None:
    """Write the decision to a record; if a node was to be selected and there is none, also why."""
    record.evaluated, record.feasible = choice.evaluated, choice.feasible
    if choice.node_name is not None:
        record.node, record.total, record.ties = choice.node_name, choice.total, choice.tie_count
        if isinstance(choice.source, Evaluation):
            _write_runner_up(record, choice.source)
    elif record.kind.selects:
        write_why(record, why_of(choice.evaluation))


def write_member(record: Record, member: GroupMember, decision: GroupDecision) -> None:
    """Write to a record what was decided for a pod of a group."""
    choice = member.choice
    status = member.status if not member.status.ok else decision.status
    if choice is not None and bool(choice.node_name) == status.ok == bool(choice.feasible):
        write_choice(record, choice)
    if not status.ok and record.why is None:
        write_why(record, why_of_status(status, member.message or decision.message))


def write_why(record: Record, why: Why) -> None:
    """Write to a record why there is no node."""
    details = record.own_details()
    details.why = why
    details.result = DecisionResult.ERROR if why.code is Code.ERROR else DecisionResult.UNSCHEDULABLE


def _write_runner_up(record: Record, evaluation: Evaluation) -> None:
    """Write to a record the node with the next lower total, and that, if there is one."""
    if evaluation.scores is None:
        return
    totals = evaluation.scores.totals
    lower = totals < record.total
    if lower.any():
        at, details = int(np.where(lower, totals, totals.min()).argmax()), record.own_details()
        details.runner_up = evaluation.names[evaluation.rows[evaluation.feasible[at]]]
        details.runner_up_total = int(totals[at])


def why_of_error(error: Exception) -> Why:
    """Return why an attempt ended without a decision."""
    plugin = ""
    if isinstance(error, PluginFailureError):
        plugin = error.metadata.get("plugin", "")
    return Why(Code.ERROR, plugin, (str(error),), str(error), (plugin,) if plugin else ())


def _attributes(record: Record) -> Attributes:
    """Return a decision's attributes for a span, by OpenTelemetry's names where it defines them."""
    return {
        "k8s.namespace.name": record.namespace,
        "k8s.pod.name": record.name,
        "k8s.pod.uid": record.uid,
        "k8s.node.name": record.node,
        "mooring.profile": record.profile,
        "mooring.result": record.result.name.lower(),
        "mooring.nodes.evaluated": record.evaluated,
        "mooring.nodes.feasible": record.feasible,
    }
