"""Metrics of the decision journal, read at each scrape."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from mooring.decisions.decisions import Decisions


class DecisionCollector(Collector):
    """``mooring_decision_journal_*`` and ``mooring_decision_explanation*``. Safe from any thread."""

    def __init__(self, decisions: Decisions) -> None:
        self._decisions = decisions

    def collect(self) -> Iterator[Metric]:
        journal, explanations = self._decisions.journal, self._decisions.explanations
        yield _counter("mooring_decisions_journaled", "Decisions written to the journal.", journal.last)
        yield _counter(
            "mooring_decisions_dropped", "Decisions that were not written to the journal.", journal.dropped
        )
        yield _gauge("mooring_decision_journal_bytes", "Bytes that the decisions take.", journal.size)
        yield _gauge("mooring_decision_journal_decisions", "Decisions kept.", len(journal))
        if explanations is not None:
            yield _gauge(
                "mooring_decision_explanation_bytes",
                "Bytes that explanations of decisions take, packed.",
                explanations.size,
            )
            yield _gauge(
                "mooring_decision_explanations", "Explanations of decisions kept.", len(explanations)
            )
            yield _counter(
                "mooring_decision_explanations_dropped",
                "Explanations that were not kept because too many waited.",
                explanations.dropped,
            )


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(name, text, value=value)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)
