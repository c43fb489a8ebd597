"""Metrics that every Kubernetes component has: the lease, and requests to the API server.

Names and labels are those of ``k8s.io/component-base/metrics/prometheus``, so that boards know them.
"""

from __future__ import annotations

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
