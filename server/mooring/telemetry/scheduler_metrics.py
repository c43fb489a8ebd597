"""The second scheduler's metrics: kube-scheduler's names, labels and buckets with the prefix mooring_."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Protocol

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric

from mooring.telemetry.meters import counts, durations
from mooring.telemetry.metrics import Metrics, exponential
from mooring.telemetry.scheduler_observer import SchedulerObserver

MAX_ATTEMPTS = 15
"""From this number of attempts on, all share a label."""


class QueueCounts(Protocol):
    """The sizes of the scheduling queue. Safe from any thread."""

    def count_pods(self) -> Mapping[str, int]:
        """Pods that are active, in backoff, unschedulable, gated, incomplete and pending."""
        ...

    def count_entities(self) -> Mapping[tuple[str, str], int]:
        """Pods without a group, and groups, by (place, kind)."""
        ...

    def oldest_active(self) -> float:
        """Seconds for which the longest-waiting active pod has waited; 0 without one."""
        ...

    def in_flight(self) -> tuple[int, int]:
        """Pods in flight, and events that are remembered for them."""
        ...

    def count_rejections(self) -> Mapping[tuple[str, str], int]:
        """Return how many waiting pods each (plugin, profile) rejected."""
        ...

    def count_causes(self) -> Mapping[tuple[str, str, str], int]:
        """Return how many waiting pods have a reason of each (plugin, code, profile)."""
        ...


class SchedulerMetrics(SchedulerObserver):
    """Records for metrics; the registry of ``metrics`` gets them all. Thread-safe."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        registry = metrics.registry
        self._incoming = IncomingMetrics(metrics)
        self._groups = GroupMetrics(metrics)
        self._attempts = durations(
            "mooring_pod_scheduling_attempts",
            "Number of attempts to successfully schedule a pod.",
            (),
            exponential(1, 2, 5),
            registry,
        )
        self._until_bound = durations(
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
        self._overran = counts(
            "mooring_pod_scheduling_overruns",
            "Scheduling attempts over their time limit, by running plugin and by cause.",
            ("plugin", "extension_point", "blame"),
            registry,
        )
        self._dropped = Counter(
            "mooring_dropped_events",
            "Events dropped because too many were waiting to be written.",
            registry=registry,
        )

    def attempted(self, result: str, profile: str, seconds: float) -> None:
        self._metrics.schedule_attempts.labels(result, profile).inc()
        self._metrics.attempt_duration.labels(result, profile).observe(seconds)

    def scheduled(self, attempts: int, seconds: float) -> None:
        self._attempts.labels().observe(attempts)
        label = str(attempts) if attempts < MAX_ATTEMPTS else f"{MAX_ATTEMPTS}+"
        self._until_bound.labels(label).observe(seconds)

    def queued(self, queue: str, event: str, kind: str, pods: int) -> None:
        self._incoming.pods.labels(queue, event).inc(pods)
        if kind:
            self._incoming.entities.labels(queue, event, kind).inc()

    def preempted(self, kind: str, victims: int) -> None:
        if kind == "pod":
            self._preemptions.inc()
            self._victims.observe(victims)
        else:
            self._groups.victims.observe(victims)

    def group_decided(self, seconds: float) -> None:
        self._groups.algorithm.observe(seconds)

    def group_preemption(self, result: str) -> None:
        self._groups.preemptions.labels(result).inc()

    def group_attempted(self, result: str, profile: str, seconds: float) -> None:
        self._groups.attempts.labels(result, profile).inc()
        self._groups.duration.labels(result, profile).observe(seconds)

    def overran(self, plugin: str, extension_point: str, blame: str) -> None:
        self._overran.labels(plugin, extension_point, blame).inc()

    def dropped(self) -> None:
        self._dropped.inc()

    def measure_queue(self, queue: QueueCounts) -> None:
        """Let every scrape count what waits."""
        registry = self._metrics.registry
        events = Gauge(
            "mooring_inflight_events",
            "Cluster events remembered for pods whose scheduling attempt is running.",
            registry=registry,
        )
        events.set_function(lambda: queue.in_flight()[1])
        self._metrics.scrape(partial(_queue_sizes, queue))


class IncomingMetrics:
    """Counters of the pods and pod groups added to the queue."""

    def __init__(self, metrics: Metrics) -> None:
        registry = metrics.registry
        self.pods = counts(
            "mooring_queue_incoming_pods",
            "Pods added to scheduling queues, by event and queue.",
            ("queue", "event"),
            registry,
        )
        self.entities = counts(
            "mooring_queue_incoming_entities",
            "Pods that are alone, and pod groups, added to scheduling queues, by event and queue.",
            ("queue", "event", "type"),
            registry,
        )


class GroupMetrics:
    """Metrics of pod groups that are scheduled as a whole."""

    def __init__(self, metrics: Metrics) -> None:
        registry = metrics.registry
        self.attempts = counts(
            "mooring_podgroup_schedule_attempts",
            "Attempts to schedule a pod group: scheduled, unschedulable, waiting_on_preemption or error.",
            ("result", "profile"),
            registry,
        )
        self.duration = durations(
            "mooring_podgroup_scheduling_attempt_duration_seconds",
            "Seconds of an attempt to schedule a pod group, until its pods are being bound.",
            ("result", "profile"),
            exponential(0.001, 2, 15),
            registry,
        )
        self.algorithm = Histogram(
            "mooring_podgroup_scheduling_algorithm_duration_seconds",
            "Seconds of the decision about a pod group.",
            buckets=exponential(0.001, 2, 15),
            registry=registry,
        )
        self.preemptions = counts(
            "mooring_workload_preemption_attempts",
            "Attempts to make room for a pod group, by status code.",
            ("result",),
            registry,
        )
        self.victims = Histogram(
            "mooring_workload_preemption_victims",
            "Pods selected as victims of a preemption for a pod group.",
            buckets=exponential(1, 2, 11),
            registry=registry,
        )


def _queue_sizes(queue: QueueCounts) -> list[Metric]:
    """Count at each scrape, since a pod's rejecting plugins and a group's pods change."""
    pending = GaugeMetricFamily(
        "mooring_pending_pods",
        "Pending pods, by queue: active, backoff, unschedulable or gated; incomplete, whose pod group is "
        "not known; or pending, whose pod group is being tried.",
        labels=("queue",),
    )
    for place, count in queue.count_pods().items():
        pending.add_metric((place,), count)
    entities = GaugeMetricFamily(
        "mooring_queued_entities",
        "Pods that are alone, and pod groups, by queue.",
        labels=("queue", "type"),
    )
    for labels, count in queue.count_entities().items():
        entities.add_metric(labels, count)
    text = "Pods in the queue that a plugin rejected, by plugin and profile."
    rejected = GaugeMetricFamily("mooring_unschedulable_pods", text, labels=("plugin", "profile"))
    for labels, count in queue.count_rejections().items():
        rejected.add_metric(labels, count)
    text = "Pods in the queue by the reason codes of their last attempt; a pod counts for each of its codes."
    causes = GaugeMetricFamily("mooring_unschedulable_pod_causes", text, labels=("plugin", "code", "profile"))
    for cause, count in queue.count_causes().items():
        causes.add_metric(cause, count)
    oldest = GaugeMetricFamily(
        "mooring_oldest_active_pod_age_seconds",
        "Seconds for which the longest-waiting active pod has been ready; 0 without one.",
        value=queue.oldest_active(),
    )
    return [pending, entities, rejected, causes, oldest]
