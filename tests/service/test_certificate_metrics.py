"""When shown certificates expire, as metrics."""

from __future__ import annotations

from pathlib import Path

from cryptography.x509 import load_pem_x509_certificate
from prometheus_client import CollectorRegistry, generate_latest

from mooring.telemetry.metrics import Scraped
from mooring.telemetry.scraped_metrics import certificate_metrics
from tests.certificates import Authority

NAME = "mooring_certificate_expiration_timestamp_seconds"


def test_a_scrape_says_when_each_file_that_can_be_read_expires(tmp_path: Path) -> None:
    shown = Authority(tmp_path).issue("shown").certificate
    torn = tmp_path / "torn.crt"
    torn.write_bytes(shown.read_bytes()[:100])
    registry = CollectorRegistry()
    files = [shown, torn, tmp_path / "gone.crt", shown]
    registry.register(Scraped(lambda: certificate_metrics(files)))
    said = generate_latest(registry).decode()
    ends = [line for line in said.splitlines() if line.startswith(NAME)]
    assert [line.rpartition(" ")[0] for line in ends] == [f'{NAME}{{file="{shown}"}}']
    expires = load_pem_x509_certificate(shown.read_bytes()).not_valid_after_utc
    assert float(ends[0].rpartition(" ")[2]) == expires.timestamp()
    torn.write_bytes(shown.read_bytes())
    assert generate_latest(registry).decode().count(f"\n{NAME}{{") == 2
