"""The adapter's metrics. kube-scheduler has no metric of its own about extenders."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, generate_latest

from mooring.serving.http.asgi import Answer
from mooring.telemetry.meters import durations
from mooring_extender.failures import VERBS

BUCKETS_SECONDS: Final = (
    0.00025, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.0, 1.5, 2.0, 4.0
)  # fmt: skip

CONTENT_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The adapter's metrics, in a registry of their own. Used by one event loop."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        duration = durations(
            "mooring_extender_request_duration_seconds",
            "Time from a request's head to its answer, in seconds, by verb.",
            ["verb"],
            BUCKETS_SECONDS,
            self._registry,
        )
        self._failures = Counter(
            "mooring_extender_failures_total",
            "Requests answered with an error, by verb and reason: a gRPC code, BAD_ARGUMENTS, MALFORMED,"
            " INTERNAL or the name of an HTTP status. kube-scheduler ignores failures of prioritize.",
            ["verb", "reason"],
            registry=self._registry,
        )
        rejected = Counter(
            "mooring_extender_rejected_nodes_total",
            "Nodes that filter rejected, by whether preemption may help (resolvable).",
            ["resolvable"],
            registry=self._registry,
        )
        # To look for them costs more than the observation.
        self._duration = {verb: duration.labels(verb) for verb in VERBS}
        self._resolvable, self._unresolvable = rejected.labels("true"), rejected.labels("false")

    def answered(self, verb: str, answer: Answer, seconds: float) -> None:
        """Count one answer of ``verb``."""
        self._duration[verb].observe(seconds)
        if answer.failure:
            self._failures.labels(verb, answer.failure).inc()

    def filtered(self, resolvable: int, unresolvable: int) -> None:
        """Count the nodes that an answer of filter rejects."""
        if resolvable:
            self._resolvable.inc(resolvable)
        if unresolvable:
            self._unresolvable.inc(unresolvable)

    def render(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)
