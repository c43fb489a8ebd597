"""The expiry of the certificates that clients see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from cryptography import x509
from prometheus_client.core import GaugeMetricFamily, Metric

from mooring.files import read_file


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
