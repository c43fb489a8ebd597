"""The runtime's measurements as metrics."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from functools import partial

from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics_core import Metric

from mooring.framework.state import ClusterState
from mooring.runtime.answers import CacheCounts, Observer
from mooring.runtime.commit.reservations import Reservations, Stage
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.pure.followed_plugin import FollowedPlugin
from mooring.telemetry.metrics import Metrics
from mooring.tracing.spans import current_span


def cache_metrics(counts: CacheCounts) -> Iterator[Metric]:
    """Yield ``mooring_evaluation_cache_requests_total`` by result and reason."""
    family = CounterMetricFamily(
        "mooring_evaluation_cache_requests",
        "Pods answered by the evaluation cache (hit), evaluated for it first (miss), or given a full "
        "evaluation for a reason (bypass).",
        labels=("result", "reason"),
    )
    family.add_metric(("hit", ""), counts.hits)
    family.add_metric(("miss", ""), counts.misses)
    for reason, count in sorted(counts.bypasses().items()):
        family.add_metric(("bypass", reason.value), count)
    yield family


def answer_metrics(profiles: Iterable[Profile]) -> Iterator[Metric]:
    """Yield ``mooring_plugin_answers_total`` of the plugins that are followed, by result."""
    family = CounterMetricFamily(
        "mooring_plugin_answers",
        "Answers of Pure plugins about nodes: known by their reads (hit), or called for (miss).",
        labels=("plugin", "extension_point", "profile", "result"),
    )
    for profile in profiles:
        for name, plugin in profile.plugins.items():
            if isinstance(plugin, FollowedPlugin):
                both = plugin.filtering is plugin.scoring
                for point, answers in ("Filter", plugin.filtering), ("Score", plugin.scoring):
                    if answers is not None and not (both and point == "Score"):
                        calls = answers.calls
                        family.add_metric((name, point, profile.name, "hit"), answers.given - calls)
                        family.add_metric((name, point, profile.name, "miss"), calls)
    yield family


SAMPLED_CYCLES = 0.1
"""The share of decisions whose plugin durations are measured; kube-scheduler's own."""


class MetricsObserver(Observer):
    """Records for metrics, also for traces. Thread-safe."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def measures_plugins(self) -> bool:
        return current_span() is not None or random.random() < SAMPLED_CYCLES  # noqa: S311 - measurements

    def plugin_duration(self, plugin: str, extension_point: str, status: str, seconds: float) -> None:
        span = current_span()
        if span is not None:
            span.record(plugin, seconds, {"extension_point": extension_point, "status": status})
        self._metrics.plugin_execution_duration.labels(plugin, extension_point, status).observe(seconds)

    def point_duration(
        self, extension_point: str, status: str, profile: str, seconds: float, count: int = 1
    ) -> None:
        span = current_span()
        if span is not None:
            span.record(extension_point, seconds, {"profile": profile, "status": status})
        self._metrics.extension_point_duration.labels(extension_point, status, profile).observe(
            seconds, count
        )

    def plugin_evaluated(self, plugin: str, extension_point: str, profile: str, count: int = 1) -> None:
        self._metrics.plugin_evaluation.labels(plugin, extension_point, profile).inc(count)

    def algorithm_duration(self, seconds: float, count: int = 1) -> None:
        self._metrics.algorithm_duration.labels().observe(seconds, count)

    def placements_generated(self, profile: str, count: int) -> None:
        self._metrics.generated_placements.labels(profile).inc(count)

    def placements_evaluated(self, result: str, profile: str, seconds: float, count: int) -> None:
        self._metrics.placement_evaluations.labels(result, profile).inc(count)
        self._metrics.placement_evaluation_duration.labels(result, profile).observe(seconds, count)

    def plugin_raised(self, plugin: str, extension_point: str) -> None:
        self._metrics.plugin_errors.labels(plugin, extension_point).inc()

    def plugin_event(self, plugin: str, event: str) -> None:
        self._metrics.plugin_events.labels(plugin, event).inc()

    def self_checked(self, result: str) -> None:
        self._metrics.self_checks.labels(result).inc()


def measure_cache(metrics: Metrics, engine: Engine) -> None:
    """Let every scrape read what the evaluation cache and the kept answers of plugins were good for."""
    metrics.scrape(partial(cache_metrics, engine.cache_counts))
    metrics.scrape(lambda: answer_metrics(engine.profiles.values()))


def measure_state(metrics: Metrics, state: ClusterState) -> None:
    """Let every scrape count the state's objects."""
    metrics.cache_size.labels("nodes").set_function(lambda: len(state.snapshot.nodes))
    metrics.cache_size.labels("pods").set_function(lambda: len(state.snapshot.pods))
    metrics.cache_size.labels("assumed_pods").set_function(lambda: state.snapshot.pods.assumed_count)


def measure_reservations(metrics: Metrics, reservations: Reservations) -> None:
    """Let every scrape count the places that are kept for pods."""
    for stage in Stage:
        metrics.reservations.labels(stage.value).set_function(partial(_count, reservations, stage))


def _count(reservations: Reservations, stage: Stage) -> float:
    return reservations.count_by_stage()[stage]
