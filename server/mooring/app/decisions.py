"""The journals and explanations of a process's decisions, and their metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from mooring.app.engine import Core
from mooring.app.options import ProcessOptions
from mooring.app.sessions import LiveState
from mooring.decisions.decisions import Decisions
from mooring.decisions.explanations import Explanations
from mooring.decisions.journal import DecisionJournal
from mooring.decisions.repeating import Repeater
from mooring.framework import Pod
from mooring.framework.errors import MooringError
from mooring.runtime.answers import NoDeadline
from mooring.service.wire.decision_messages import encode_explanation
from mooring.sessions.change.advice import Advisor, words
from mooring.sessions.sessions import Sessions
from mooring.telemetry.metrics import Metrics

CHANGE_BYTES = 320
"""The bytes of a state change in the journal of changes, with objects that only the journal still holds."""

RECORDED_CHANGES = 1 << 16
"""Changes of the state that are noted at least for a recorder, which reads them twice a second."""


@dataclass(frozen=True, slots=True)
class DecisionMemory:
    """The journals and explanations of a process.

    Attributes:
        live: The live state, for sessions and for decisions that are made again.
        repeater: Makes them again; None = that can't be done.
    """

    live: LiveState
    decisions: Decisions | None = None
    repeater: Repeater | None = None

    @classmethod
    def of(cls, process: ProcessOptions, core: Core, metrics: Metrics) -> DecisionMemory:
        """Make what the options ask for, measured from now on; a recorder needs the changes noted, too."""
        options, engine = process.decisions, process.engine
        least = RECORDED_CHANGES if process.recording else 0
        if not options.journal:
            return cls(LiveState(core, engine, least))
        # The journal of changes takes twice its length before it is cut.
        undo = options.undo // CHANGE_BYTES // 2
        live = LiveState(core, engine, max(undo, least))
        journal = DecisionJournal(options.journal)
        explanations = None
        if options.explanations:
            explanations = Explanations(encode_explanation, journal.number_of, options.explanations)
        decisions = Decisions(journal, explanations)
        metrics.scrape(partial(decision_metrics, decisions))
        repeater = Repeater(journal, live, live.at) if undo else None
        return cls(live, decisions, repeater)


def advice_from(live: LiveState) -> Callable[[Pod], str]:
    """Return a function that says in a sentence what would help a pod now; "" = no change is known, or it
    will run after preemption.
    """
    sessions, advisor = Sessions(live, most_trees=1), Advisor()

    def advice(pod: Pod) -> str:
        try:
            with sessions.asking(NoDeadline()) as work:
                if any(pod.metadata.uid in pods for pods in work.tree.snapshot.pods.nominated.values()):
                    return ""
                found = advisor.advise(work, pod, "", NoDeadline())
        except MooringError:
            return ""
        if not found.options:
            return ""
        doubt = "" if found.complete else "; there was no time to try everything"
        return f"It would fit with this: {words(found.options[0])}{doubt}."

    return advice


def decision_metrics(decisions: Decisions) -> Iterator[Metric]:
    """Yield ``mooring_decision_journal_*`` and ``mooring_decision_explanation*``."""
    journal, explanations = decisions.journal, decisions.explanations
    yield CounterMetricFamily(
        "mooring_decisions_journaled", "Decisions written to the journal.", journal.last
    )
    yield CounterMetricFamily(
        "mooring_decisions_dropped", "Decisions that were not written to the journal.", journal.dropped
    )
    yield GaugeMetricFamily("mooring_decision_journal_bytes", "Bytes that the decisions take.", journal.size)
    yield GaugeMetricFamily("mooring_decision_journal_decisions", "Decisions kept.", len(journal))
    if explanations is not None:
        yield GaugeMetricFamily(
            "mooring_decision_explanation_bytes",
            "Bytes that explanations of decisions take, packed.",
            explanations.size,
        )
        yield GaugeMetricFamily(
            "mooring_decision_explanations", "Explanations of decisions kept.", len(explanations)
        )
        yield CounterMetricFamily(
            "mooring_decision_explanations_dropped",
            "Explanations that were not kept because too many waited.",
            explanations.dropped,
        )
