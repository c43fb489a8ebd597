"""The second scheduler's metrics: kube-scheduler's names, labels and buckets with the prefix mooring_."""

from __future__ import annotations

from functools import partial

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mooring.scheduler.queue import SchedulingQueue
from mooring.service.meters import Counts, Durations
from mooring.service.metrics import Metrics, exponential

MOST_ATTEMPTS = 15
"""So many attempts and more share a label."""


class SchedulerMetrics:
    """Implements ``SchedulerObserver``. Thread-safe.

    Args:
        metrics: Where decisions are counted; its registry gets the rest.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        registry = metrics.registry
        self._queued = Counts(
            "mooring_queue_incoming_pods",
            "Pods that came to a place of the queue, by place and by what brought them there.",
            ("queue", "event"),
            registry,
        )
        self._attempts = Histogram(
            "mooring_pod_scheduling_attempts",
            "Attempts until a pod was bound.",
            buckets=exponential(1, 2, 5),
            registry=registry,
        )
        self._until_bound = Durations(
            "mooring_pod_scheduling_sli_duration_seconds",
            "Seconds from the moment when a pod could first be tried to its binding.",
            ("attempts",),
            exponential(0.01, 2, 20),
            registry,
        )
        self._preemptions = Counter(
            "mooring_preemption_attempts", "Attempts to make room for a pod.", registry=registry
        )
        self._victims = Histogram(
            "mooring_preemption_victims",
            "Pods that were chosen to make room for another one.",
            buckets=exponential(1, 2, 7),
            registry=registry,
        )
        self._dropped = Counter(
            "mooring_dropped_events", "Events not written, since too many waited.", registry=registry
        )

    def attempted(self, result: str, profile: str, seconds: float) -> None:
        self._metrics.schedule_attempts(result, profile).inc()
        self._metrics.attempt_duration(result, profile).observe(seconds)

    def scheduled(self, attempts: int, seconds: float) -> None:
        self._attempts.observe(attempts)
        label = str(attempts) if attempts < MOST_ATTEMPTS else f"{MOST_ATTEMPTS}+"
        self._until_bound(label).observe(seconds)

    def queued(self, queue: str, event: str) -> None:
        self._queued(queue, event).inc()

    def preempted(self, victims: int) -> None:
        self._preemptions.inc()
        self._victims.observe(victims)

    def dropped(self) -> None:
        self._dropped.inc()

    def measure_queue(self, queue: SchedulingQueue) -> None:
        """Let every scrape count what waits."""
        registry = self._metrics.registry
        pending = Gauge(
            "mooring_pending_pods", "Pods in each place of the queue.", ("queue",), registry=registry
        )
        for place in ("active", "backoff", "unschedulable", "gated"):
            pending.labels(place).set_function(partial(_count, queue, place))
        events = Gauge(
            "mooring_inflight_events", "Events kept for pods that are being tried.", registry=registry
        )
        events.set_function(lambda: queue.in_flight()[1])
        registry.register(_UnschedulablePods(queue))


def _count(queue: SchedulingQueue, place: str) -> float:
    return queue.counts()[place]


class _UnschedulablePods(Collector):
    """Counts at each scrape, since plugins come and go from a pod's reasons."""

    def __init__(self, queue: SchedulingQueue) -> None:
        self._queue = queue

    def collect(self) -> list[Metric]:
        text = "Waiting pods that a plugin refused."
        family = GaugeMetricFamily("mooring_unschedulable_pods", text, labels=("plugin", "profile"))
        for labels, count in self._queue.rejected().items():
            family.add_metric(labels, count)
        return [family]
