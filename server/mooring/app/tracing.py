"""The tracer of a server or a scheduler."""

from __future__ import annotations

from mooring.framework.errors import InvalidArgumentError
from mooring.tracing.configuration import tracer_of
from mooring.tracing.spans import Tracer


def tracer_for(file: str, service: str) -> Tracer | None:
    """Return what traces as ``--tracing-config-file`` says; None without it. Raises InvalidArgumentError if
    the file can't be used.
    """
    try:
        return tracer_of(file, service)
    except ValueError as error:
        raise InvalidArgumentError.at("--tracing-config-file", str(error)) from error
