"""The second scheduler's metrics: kube-scheduler's names, labels and buckets with the prefix mooring_."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Protocol

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mooring.telemetry.meters import Counts, Durations
from mooring.telemetry.metrics import Metrics, exponential

MAX_ATTEMPTS = 15
"""From this number of attempts on, all share a label."""


class QueueCounts(Protocol):
    """The sizes of the scheduling queue. Safe from any thread."""

    def count_pods(self) -> Mapping[str, int]:
        """How many pods are active, in backoff, unschedulable and gated."""
        ...

    def in_flight(self) -> tuple[int, int]:
        """How many pods are in flight, and how many events are remembered for them."""
        ...

    def count_rejections(self) -> Mapping[tuple[str, str], int]:
        """How many waiting pods each (plugin, profile) rejected."""
        ...


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
            "Pods added to scheduling queues, by event and queue.",
            ("queue", "event"),
            registry,
        )
        self._attempts = Histogram(
            "mooring_pod_scheduling_attempts",
            "Number of attempts to successfully schedule a pod.",
            buckets=exponential(1, 2, 5),
            registry=registry,
        )
        self._until_bound = Durations(
            "mooring_pod_scheduling_sli_duration_seconds",
            "Seconds from when a pod first becomes schedulable to its binding.",
            ("attempts",),
            exponential(0.01, 2, 20),
            registry,
        )
        self._preemptions = Counter("mooring_preemption_attempts", "Preemption attempts.", registry=registry)
        self._victims = Histogram(
            "mooring_preemption_victims",
            "Pods selected as victims of a preemption.",
            buckets=exponential(1, 2, 7),
            registry=registry,
        )
        self._overran = Counts(
            "mooring_pod_scheduling_overruns",
            "Scheduling attempts ended at their time limit, by the plugin that was running.",
            ("plugin", "extension_point"),
            registry,
        )
        self._dropped = Counter(
            "mooring_dropped_events",
            "Events dropped because too many were waiting to be written.",
            registry=registry,
        )

    def attempted(self, result: str, profile: str, seconds: float) -> None:
        self._metrics.schedule_attempts(result, profile).inc()
        self._metrics.attempt_duration(result, profile).observe(seconds)

    def scheduled(self, attempts: int, seconds: float) -> None:
        self._attempts.observe(attempts)
        label = str(attempts) if attempts < MAX_ATTEMPTS else f"{MAX_ATTEMPTS}+"
        self._until_bound(label).observe(seconds)

    def queued(self, queue: str, event: str) -> None:
        self._queued(queue, event).inc()

    def preempted(self, victims: int) -> None:
        self._preemptions.inc()
        self._victims.observe(victims)

    def overran(self, plugin: str, extension_point: str) -> None:
        self._overran(plugin, extension_point).inc()

    def dropped(self) -> None:
        self._dropped.inc()

    def measure_queue(self, queue: QueueCounts) -> None:
        """Let every scrape count what waits."""
        registry = self._metrics.registry
        pending = Gauge(
            "mooring_pending_pods",
            "Pending pods, by queue: active, backoff, unschedulable or gated.",
            ("queue",),
            registry=registry,
        )
        for place in ("active", "backoff", "unschedulable", "gated"):
            pending.labels(place).set_function(partial(_count, queue, place))
        events = Gauge(
            "mooring_inflight_events",
            "Cluster events remembered for pods whose scheduling attempt is running.",
            registry=registry,
        )
        events.set_function(lambda: queue.in_flight()[1])
        registry.register(_UnschedulablePods(queue))


def _count(queue: QueueCounts, place: str) -> float:
    return queue.count_pods()[place]


class _UnschedulablePods(Collector):
    """Counts at each scrape, since plugins come and go from a pod's reasons."""

    def __init__(self, queue: QueueCounts) -> None:
        self._queue = queue

    def collect(self) -> list[Metric]:
        text = "Pods in the queue that a plugin rejected, by plugin and profile."
        family = GaugeMetricFamily("mooring_unschedulable_pods", text, labels=("plugin", "profile"))
        for labels, count in self._queue.count_rejections().items():
            family.add_metric(labels, count)
        return [family]
