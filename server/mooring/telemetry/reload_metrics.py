"""Metrics of the configuration's reloads."""

from __future__ import annotations

import time

from prometheus_client import Gauge

from mooring.telemetry.metrics import Metrics


class ReloadMetrics:
    """The configuration in force, since when, and whether the file's last content could be used.

    For one thread at a time.
    """

    def __init__(self, metrics: Metrics) -> None:
        registry = metrics.registry
        self._success = Gauge(
            "mooring_config_reload_success",
            "1 when the last content of the configuration file is in force, 0 when it can't be used.",
            registry=registry,
        )
        self._time = Gauge(
            "mooring_config_last_reload_timestamp_seconds",
            "When the content in force was read, in seconds since the epoch.",
            registry=registry,
        )
        self._info = Gauge(
            "mooring_config_info",
            "1 for the hash of the configuration in force.",
            ("hash",),
            registry=registry,
        )

    def took(self, configuration: str) -> None:
        """Note that the configuration of this hash is in force."""
        self._info.clear()
        self._info.labels(configuration).set(1)
        self._success.set(1)
        self._time.set(time.time())

    def rejected(self) -> None:
        """Note that the file can't be used."""
        self._success.set(0)
