"""The status of the sources, as metrics that are collected on request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from mooring.framework.sources import SourceStatus


def source_metrics(sources: Sequence[SourceStatus]) -> Iterator[Metric]:
    """Yield the metrics of every source and of the kinds that it follows."""
    synced = GaugeMetricFamily(
        "mooring_source_synced",
        "1 once a source's first full list is complete, else 0.",
        labels=("source",),
    )
    staleness = GaugeMetricFamily(
        "mooring_source_staleness_seconds",
        "Seconds since the state was last known to match the cluster.",
        labels=("source",),
    )
    lag = GaugeMetricFamily(
        "mooring_source_writing_lag_seconds",
        "Seconds for which the oldest received event has been waiting to be written.",
        labels=("source",),
    )
    rollbacks = CounterMetricFamily(
        "mooring_source_rollbacks",
        "Times that the cluster returned to an older version of itself and was loaded again.",
        labels=("source",),
    )
    age = GaugeMetricFamily(
        "mooring_source_last_event_age_seconds",
        "Seconds since the last event, bookmark or list of a kind.",
        labels=("source", "kind"),
    )
    lists = CounterMetricFamily(
        "mooring_source_lists", "Full lists of a kind read so far.", labels=("source", "kind")
    )
    for source in sources:
        synced.add_metric((source.name,), float(source.synced))
        staleness.add_metric((source.name,), source.staleness)
        lag.add_metric((source.name,), source.lag)
        rollbacks.add_metric((source.name,), source.rollbacks)
        for kind in source.kinds:
            age.add_metric((source.name, kind.kind), kind.last_event_age)
            lists.add_metric((source.name, kind.kind), kind.lists)
    yield from (synced, staleness, lag, rollbacks, age, lists)
