"""Metrics of hosts of plugins."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.metrics_core import Metric

from mooring.plugin_hosts.hosts import connections


def host_metrics() -> Iterator[Metric]:
    """Yield for each host whether it can be called, and the calls to it with their time."""
    up = GaugeMetricFamily(
        "mooring_plugin_host_up", "Whether a host of plugins can be called.", labels=("host", "version")
    )
    calls = SummaryMetricFamily(
        "mooring_plugin_host_call_duration_seconds",
        "Seconds that calls to a host of plugins took, by whether the host answered.",
        labels=("host", "call", "status"),
    )
    for each in connections():
        host = each.options.address
        up.add_metric((host, each.described.host_version), not each.down)
        for (call, answered), (count, seconds) in tuple(each.taken.items()):
            status = "answered" if answered else "failed"
            calls.add_metric((host, call, status), count_value=count, sum_value=seconds)
    yield from (up, calls)
