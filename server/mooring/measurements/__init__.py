"""Sources of measured values of nodes, for the plugins that name them in ``measures``."""

from mooring.measurements.http import HttpAccess, MeasurementError
from mooring.measurements.sources import HttpJson, MeasurementFile, MeasurementFunction, PrometheusQuery

__all__ = [
    "HttpAccess",
    "HttpJson",
    "MeasurementError",
    "MeasurementFile",
    "MeasurementFunction",
    "PrometheusQuery",
]
