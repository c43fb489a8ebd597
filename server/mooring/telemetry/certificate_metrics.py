"""The expiry of the certificates that clients see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from cryptography import x509
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mooring.files import read_file


class CertificateCollector(Collector):
    """``mooring_certificate_expiration_timestamp_seconds``, of files that are read at each scrape.

    Safe from any thread. A file that can't be read has no series, as one that is being rotated.

    Args:
        files: Certificates or chains, PEM.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = tuple(dict.fromkeys(files))

    def collect(self) -> Iterator[Metric]:
        ends = GaugeMetricFamily(
            "mooring_certificate_expiration_timestamp_seconds",
            "Expiry of a certificate that clients see, in seconds since the epoch, by file.",
            labels=("file",),
        )
        for file in self._files:
            try:
                shown = x509.load_pem_x509_certificate(read_file(file))
            except (OSError, ValueError):
                continue
            ends.add_metric((str(file),), shown.not_valid_after_utc.timestamp())
        yield ends
