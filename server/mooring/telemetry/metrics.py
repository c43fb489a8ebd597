"""Metrics: grpc_server_*, and kube-scheduler's names, labels and buckets with the prefix mooring_.

A pod's or node's name is never a label.
"""

import platform
from collections.abc import Callable, Iterable
from functools import cache

import grpc
from prometheus_client import CollectorRegistry, Counter, Gauge, disable_created_metrics
from prometheus_client.metrics_core import Metric
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from mooring import __version__
from mooring.telemetry.meters import Count, Duration, Family, counts, durations


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Upper bounds of histogram buckets: start, start*factor, ... (``count`` of them)."""
    return tuple(start * factor**i for i in range(count))


class Scraped(Collector):
    """Metrics that ``read`` returns at each scrape; as safe from threads as it is."""

    def __init__(self, read: Callable[[], Iterable[Metric]]) -> None:
        self._read = read

    def describe(self) -> Iterable[Metric]:
        """Describe nothing: a source may not be there yet."""
        return ()

    def collect(self) -> Iterable[Metric]:
        return self._read()


class Metrics:
    """Every metric of one server, in a registry of its own. Thread-safe.

    A metric with labels counts by their values: ``metrics.plugin_events.labels("Fit", "asked").inc()``.
    """

    def __init__(self) -> None:
        # It would be one more series for each counter that no query uses; Go's components have none.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # declares no types
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        build = self._gauge("mooring_build_info", "1 for the running version.", ("version", "python_version"))
        build.labels(__version__, platform.python_version()).set(1)
        self._decisions()
        self._placements()
        self._state()
        self._in_flight()
        self._plugins()
        self._calls()
        self._protection()
        self._audit()

    def _decisions(self) -> None:
        self.schedule_attempts = self._counters(
            "mooring_schedule_attempts",
            "Attempts to reserve or bind a pod, by result: scheduled, unschedulable or error.",
            ("result", "profile"),
        )
        self.dry_runs = self._counters(
            "mooring_dry_runs",
            "Decisions that reserve and bind nothing, by result: scheduled, unschedulable or error.",
            ("result", "profile"),
        )
        self.attempt_duration = self._histograms(
            "mooring_scheduling_attempt_duration_seconds",
            "Seconds of one scheduling attempt, including its commit.",
            ("result", "profile"),
            exponential(0.001, 2, 15),
        )
        self.algorithm_duration = self._histograms(
            "mooring_scheduling_algorithm_duration_seconds",
            "Seconds to filter and score the nodes for one pod.",
            (),
            exponential(0.001, 2, 15),
        )
        self.extension_point_duration = self._histograms(
            "mooring_framework_extension_point_duration_seconds",
            "Seconds to run all plugins of an extension point.",
            ("extension_point", "status", "profile"),
            exponential(0.0001, 2, 12),
        )

    def _placements(self) -> None:
        self.generated_placements = self._counters(
            "mooring_generated_placements", "Placements that were found for pod groups.", ("profile",)
        )
        self.placement_evaluations = self._counters(
            "mooring_placement_evaluations",
            "Placements in which a pod group was tried, by result: feasible or infeasible.",
            ("result", "profile"),
        )
        self.placement_evaluation_duration = self._histograms(
            "mooring_placement_evaluation_duration_seconds",
            "Seconds to try a pod group in one placement, by result.",
            ("result", "profile"),
            exponential(0.001, 2, 15),
        )

    def _state(self) -> None:
        self.stale_decisions = self._counter(
            "mooring_stale_decisions", "Decisions without a commit that were made on a stale state."
        )
        self.self_checks = self._counters(
            "mooring_self_checks",
            "Cached answers compared with full evaluations, by result: same, different or failed.",
            ("result",),
        )
        self.cache_size = self._gauge(
            "mooring_cache_size", "Objects in the scheduler cache, by type.", ("type",)
        )
        self.reservations = self._gauge(
            "mooring_reservations",
            "Pods with a reservation that are not bound yet, by stage: reserved, binding or unknown.",
            ("stage",),
        )
        self.sessions = self._gauge("mooring_sessions", "Sessions of SimulationService that are open.")
        self.session_bytes = self._gauge(
            "mooring_session_bytes", "Bytes that the changes of all sessions take."
        )

    def _in_flight(self) -> None:
        self.pods_in_flight = self._gauge(
            "mooring_pods_in_flight",
            "Pods that passed a filter call of kube-scheduler and may still be bound.",
        )
        self.flight_wait_duration = self._histograms(
            "mooring_flight_wait_duration_seconds",
            "Seconds that filter calls of kube-scheduler waited for pods in flight.",
            (),
            exponential(0.001, 2, 15),
        )
        self.flights_given_up = self._counters(
            "mooring_flights_given_up",
            "Pods in flight counted on their possible nodes after a filter call's wait for them timed out.",
            (),
        )

    def _plugins(self) -> None:
        self.plugin_execution_duration = self._histograms(
            "mooring_plugin_execution_duration_seconds",
            "Seconds to run a plugin at an extension point, sampled.",
            ("plugin", "extension_point", "status"),
            exponential(0.00001, 1.5, 20),
        )
        self.plugin_evaluation = self._counters(
            "mooring_plugin_evaluation",
            "Times a plugin was evaluated, by extension point and profile.",
            ("plugin", "extension_point", "profile"),
        )
        self.plugin_errors = self._counters(
            "mooring_plugin_errors", "Plugin calls that raised an exception.", ("plugin", "extension_point")
        )
        self.plugin_events = self._counters(
            "mooring_plugin_events",
            "Events that a plugin counts itself, by plugin and event.",
            ("plugin", "event"),
        )

    def _calls(self) -> None:
        method = ("grpc_type", "grpc_service", "grpc_method")
        self.started = self._counters("grpc_server_started", "Calls started.", method)
        self.handled = self._counters("grpc_server_handled", "Calls ended.", (*method, "grpc_code"))
        self.received = self._counters("grpc_server_msg_received", "Requests received.", method)
        self.sent = self._counters("grpc_server_msg_sent", "Responses sent.", method)
        self.handling = self._histograms(
            "grpc_server_handling_seconds",
            "Seconds from a call's start to its end.",
            method,
            exponential(0.0001, 2, 17),
        )

    def _protection(self) -> None:
        self.inflight_calls = self._gauge(
            "mooring_inflight_calls", "Calls whose request has arrived and that have no answer yet."
        )
        self.shed_calls = self._counter(
            "mooring_shed_calls", "Calls rejected because too many were in flight."
        )
        self.body_timeouts = self._counter(
            "mooring_body_timeouts", "Calls whose request did not arrive in time."
        )
        self.broken_connections = self._counter(
            "mooring_telemetry_broken_connections",
            "Broken connections to probes and metrics, such as plain HTTP to a TLS port.",
        )
        self.abandoned_workers = self._gauge(
            "mooring_abandoned_workers", "Threads still running a plugin after their call's deadline."
        )

    def _audit(self) -> None:
        self.audit_written = self._counter("mooring_audit_written_events", "Events written to the audit log.")
        self.audit_lost = self._counter(
            "mooring_audit_lost_events", "Events that were not written to the audit log: too many waited."
        )
        self.audit_waiting = self._gauge(
            "mooring_audit_waiting_events", "Events of the audit log that wait to be written."
        )

    def scrape(self, read: Callable[[], Iterable[Metric]]) -> None:
        """Expose what ``read`` returns at each scrape."""
        self.registry.register(Scraped(read))

    def _gauge(self, name: str, text: str, labels: tuple[str, ...] = ()) -> Gauge:
        return Gauge(name, text, labels, registry=self.registry)

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(name, text, registry=self.registry)

    def _counters(self, name: str, text: str, labels: tuple[str, ...]) -> Family[Count]:
        return counts(name, text, labels, self.registry)

    def _histograms(
        self, name: str, text: str, labels: tuple[str, ...], buckets: tuple[float, ...]
    ) -> Family[Duration]:
        return durations(name, text, labels, buckets, self.registry)


class MethodMetrics:
    """The grpc_server_* children of one unary method, made once. Thread-safe.

    Args:
        metrics: The metrics to which they belong.
        method: The full name as on the wire, such as "/mooring.v1.SchedulingService/Filter".
    """

    def __init__(self, metrics: Metrics, method: str) -> None:
        service, _, name = method.strip("/").partition("/")
        labels = ("unary", service, name)
        self.started: Count = metrics.started.labels(*labels)
        self.received: Count = metrics.received.labels(*labels)
        self.handling: Duration = metrics.handling.labels(*labels)
        self.handled: dict[grpc.StatusCode, Count] = {
            code: metrics.handled.labels(*labels, camel_case(code)) for code in grpc.StatusCode
        }
        # A call sends its response where it ends well, and only there: one count is both.
        metrics.sent.children[labels] = self.handled[grpc.StatusCode.OK]


@cache
def camel_case(code: grpc.StatusCode) -> str:
    """Return a code as gRPC's Go libraries spell it and dashboards expect it: InvalidArgument, Canceled."""
    if code is grpc.StatusCode.OK:
        return "OK"
    if code is grpc.StatusCode.CANCELLED:
        return "Canceled"
    return "".join(word.capitalize() for word in code.name.split("_"))
