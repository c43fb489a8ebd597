"""Sources, measured values and certificates as metrics, which are collected on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from cryptography import x509
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from mooring.files import read_file
from mooring.framework.sources import SourceStatus
from mooring.runtime.measuring import MeasurementStatus


def source_metrics(sources: Sequence[SourceStatus]) -> Iterator[Metric]:
    """Yield the metrics of every source and of the kinds that it follows."""
    synced = GaugeMetricFamily(
        "mooring_source_synced",
        "1 once a source's first full list is complete, else 0.",
        labels=("source",),
    )
    staleness = GaugeMetricFamily(
        "mooring_source_staleness_seconds",
        "Seconds since the state was last known to match the cluster.",
        labels=("source",),
    )
    lag = GaugeMetricFamily(
        "mooring_source_writing_lag_seconds",
        "Seconds for which the oldest received event has been waiting to be written.",
        labels=("source",),
    )
    rollbacks = CounterMetricFamily(
        "mooring_source_rollbacks",
        "Times that the cluster returned to an older version of itself and was loaded again.",
        labels=("source",),
    )
    age = GaugeMetricFamily(
        "mooring_source_last_event_age_seconds",
        "Seconds since the last event, bookmark or list of a kind.",
        labels=("source", "kind"),
    )
    lists = CounterMetricFamily(
        "mooring_source_lists", "Full lists of a kind read so far.", labels=("source", "kind")
    )
    for source in sources:
        synced.add_metric((source.name,), float(source.synced))
        staleness.add_metric((source.name,), source.staleness)
        lag.add_metric((source.name,), source.lag)
        rollbacks.add_metric((source.name,), source.rollbacks)
        for kind in source.kinds:
            age.add_metric((source.name, kind.kind), kind.last_event_age)
            lists.add_metric((source.name, kind.kind), kind.lists)
    yield from (synced, staleness, lag, rollbacks, age, lists)


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


def certificate_metrics(files: Iterable[Path]) -> Iterator[Metric]:
    """Yield ``mooring_certificate_expiration_timestamp_seconds`` of certificates or chains, PEM.

    A file that can't be read has no series, as one that is being rotated.
    """
    ends = GaugeMetricFamily(
        "mooring_certificate_expiration_timestamp_seconds",
        "Expiry of a certificate that clients see, in seconds since the epoch, by file.",
        labels=("file",),
    )
    for file in dict.fromkeys(files):
        try:
            shown = x509.load_pem_x509_certificate(read_file(file))
        except (OSError, ValueError):
            continue
        ends.add_metric((str(file),), shown.not_valid_after_utc.timestamp())
    yield ends
