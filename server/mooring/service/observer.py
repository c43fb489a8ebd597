"""The runtime's measurements as metrics."""

from __future__ import annotations

from mooring.service.metrics import Metrics


class MetricsObserver:
    """Implements ``mooring.runtime.progress.Observer``. Thread-safe."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def plugin_duration(self, plugin: str, extension_point: str, status: str, seconds: float) -> None:
        self._metrics.plugin_execution_duration(plugin, extension_point, status).observe(seconds)

    def point_duration(self, extension_point: str, status: str, profile: str, seconds: float) -> None:
        self._metrics.extension_point_duration(extension_point, status, profile).observe(seconds)

    def plugin_evaluated(self, plugin: str, extension_point: str, profile: str) -> None:
        self._metrics.plugin_evaluation(plugin, extension_point, profile).inc()
