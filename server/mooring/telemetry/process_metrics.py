"""Metrics that every Kubernetes component has: the lease, requests to the API server, and reloads.

Names and labels of the first two are those of ``k8s.io/component-base/metrics/prometheus``, so that boards
know them.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from prometheus_client import Gauge

from mooring.telemetry.meters import counts, durations
from mooring.telemetry.metrics import Metrics
from mooring.tracing.spans import current_span

REQUEST_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""The upper bounds of client-go's buckets."""

NO_ANSWER = "<error>"
"""The code of a request without an answer."""


def measure_leadership(metrics: Metrics, lease: str, leads: Callable[[], bool]) -> None:
    """Let every scrape read whether this process has the lease."""
    text = "1 while this process has the lease of that name, else 0."
    gauge = Gauge("leader_election_master_status", text, ("name",), registry=metrics.registry)
    gauge.labels(lease).set_function(lambda: float(leads()))


class RequestMetrics:
    """Counts requests to API servers. Safe from any thread."""

    def __init__(self, metrics: Metrics) -> None:
        self._requests = counts(
            "rest_client_requests",
            "Requests to API servers, by status code, method and host.",
            ("code", "method", "host"),
            metrics.registry,
        )
        self._duration = durations(
            "rest_client_request_duration_seconds",
            "Seconds of a request to an API server, without waits before it.",
            ("verb", "host"),
            REQUEST_SECONDS,
            metrics.registry,
        )

    def ended(self, method: str, host: str, code: int, seconds: float) -> None:
        """Count a request; ``code`` is 0 without an answer."""
        span = current_span()
        if span is not None:
            span.record(
                f"HTTP {method}", seconds, {"server.address": host, "http.response.status_code": code}
            )
        self._requests.labels(str(code) if code else NO_ANSWER, method, host).inc()
        self._duration.labels(method, host).observe(seconds)


class ReloadMetrics:
    """The configuration in force, since when, and whether the file's last content could be used.

    For one thread at a time.
    """

    def __init__(self, metrics: Metrics) -> None:
        registry = metrics.registry
        self._success = Gauge(
            "mooring_config_reload_success",
            "1 when the last content of the configuration file is in force, 0 when it can't be used.",
            registry=registry,
        )
        self._time = Gauge(
            "mooring_config_last_reload_timestamp_seconds",
            "When the content in force was read, in seconds since the epoch.",
            registry=registry,
        )
        self._info = Gauge(
            "mooring_config_info",
            "1 for the hash of the configuration in force.",
            ("hash",),
            registry=registry,
        )

    def took(self, configuration: str) -> None:
        """Note that the configuration of this hash is in force."""
        self._info.clear()
        self._info.labels(configuration).set(1)
        self._success.set(1)
        self._time.set(time.time())

    def rejected(self) -> None:
        """Note that the file can't be used."""
        self._success.set(0)
