"""The status of measured values, as metrics that are collected on request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from mooring.runtime.measuring import MeasurementStatus


def measurement_metrics(measurements: Sequence[MeasurementStatus]) -> Iterator[Metric]:
    """Yield the metrics of every source of measured values; those without values have no age."""
    labels = ("measurement",)
    age = GaugeMetricFamily(
        "mooring_measurement_age_seconds", "Seconds since the values in use were measured.", labels=labels
    )
    duration = GaugeMetricFamily(
        "mooring_measurement_duration_seconds", "Seconds that the last call of a source took.", labels=labels
    )
    failures = CounterMetricFamily(
        "mooring_measurement_failures", "Calls of a source that failed.", labels=labels
    )
    for each in measurements:
        if each.age is not None:
            age.add_metric((each.name,), each.age)
        duration.add_metric((each.name,), each.duration)
        failures.add_metric((each.name,), each.failures)
    yield from (age, duration, failures)
