"""The tracer of a program."""

from __future__ import annotations

from mooring.tracing.configuration import read_configuration
from mooring.tracing.spans import Tracer


def tracer_of(file: str, service: str) -> Tracer | None:
    """Return what traces as a file says; None without one.

    Args:
        file: The TracingConfiguration's file; "" = nothing is traced.
        service: The name of this program.

    Raises:
        ValueError: The file can't be used, or the extra ``tracing`` is not installed.
    """
    if not file:
        return None
    configuration = read_configuration(file)
    try:
        from mooring.tracing.otlp import OtlpTracer
    except ImportError as error:
        raise ValueError(
            "OpenTelemetry's SDK is not installed: pip install '.[tracing]' in mooring's repository"
        ) from error
    return OtlpTracer(configuration, service)
