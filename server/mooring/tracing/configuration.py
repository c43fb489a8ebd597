"""The TracingConfiguration that Kubernetes' components read: the sampled share, and where spans go.

Mirrors ``component-base/tracing/api/v1``; the file is the one of kube-apiserver's ``--tracing-config-file``.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from mooring.documents import DocumentError, read_document
from mooring.files import read_file
from mooring.tracing.spans import Tracer

PER_MILLION = 1_000_000
"""The sampling rate with which everything is traced."""

_SCHEMES = ("", "dns", "unix", "unix-abstract")


class TracingConfiguration(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A TracingConfiguration.

    Attributes:
        api_version: One of kube-apiserver's.
        kind: TracingConfiguration.
        endpoint: The address of an OTLP collector that takes gRPC in plain text, as gRPC resolves it.
        sampling_rate_per_million: How many of a million calls and attempts are traced, of those that are
            not part of a trace already.
    """

    api_version: Literal[
        "apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"
    ]
    kind: Literal["TracingConfiguration"]
    endpoint: str = "localhost:4317"
    sampling_rate_per_million: Annotated[int, msgspec.Meta(ge=0, le=PER_MILLION)] = 0

    def __post_init__(self) -> None:
        """Check what types don't say. Raises ValueError if gRPC can't resolve the endpoint."""
        scheme, separator, _ = self.endpoint.partition("//")
        if separator and scheme.removesuffix(":") not in _SCHEMES:
            raise ValueError(f"endpoint {self.endpoint!r} must be HOST:PORT, dns, unix or unix-abstract")


def read_configuration(file: str) -> TracingConfiguration:
    """Return the configuration that a file has. Raises ValueError if it can't be read, or isn't one."""
    try:
        return msgspec.convert(read_document(read_file(file).decode()), TracingConfiguration)
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror}") from error
    except (msgspec.MsgspecError, DocumentError, UnicodeDecodeError) as error:
        raise ValueError(f"{file}: {error}") from error


def tracer_of(file: str, service: str) -> Tracer | None:
    """Return what traces as a file says; None without one. ``service`` is the name of this program. Raises
    ValueError if the file can't be used, or the extra ``tracing`` is not installed.
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
