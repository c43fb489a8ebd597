"""Counts by the values of labels: each set of values has one count, whichever thread needs it first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from prometheus_client import CollectorRegistry

from mooring.telemetry.meters import counts


def test_threads_that_ask_at_once_share_a_count() -> None:
    registry = CollectorRegistry()
    by_name = counts("calls", "Calls.", ("name",), registry)
    together = Barrier(8)

    def count(_: int) -> None:
        together.wait()
        for at in range(200):
            by_name.labels(str(at)).inc()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(count, range(8)))
    shown = {registry.get_sample_value("calls_total", {"name": str(at)}) for at in range(200)}
    assert shown == {8.0}


def test_a_metric_without_labels_is_shown_before_it_is_counted() -> None:
    registry = CollectorRegistry()
    counts("calls", "Calls.", (), registry)
    assert registry.get_sample_value("calls_total") == 0
