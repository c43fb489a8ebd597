"""Hits, misses and bypasses of the evaluation cache as metrics, read at each scrape."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from mooring.runtime.answers import CacheCounts


class CacheCollector(Collector):
    """``mooring_evaluation_cache_requests_total`` by result and reason. Safe from any thread."""

    def __init__(self, counts: CacheCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        family = CounterMetricFamily(
            "mooring_evaluation_cache_requests",
            "Pods answered by the evaluation cache (hit), evaluated for it first (miss), or given a full "
            "evaluation for a reason (bypass).",
            labels=("result", "reason"),
        )
        counts = self._counts
        family.add_metric(("hit", ""), counts.hits)
        family.add_metric(("miss", ""), counts.misses)
        for reason, count in sorted(counts.bypasses().items()):
            family.add_metric(("bypass", reason.value), count)
        yield family
