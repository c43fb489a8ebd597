"""An OTLP collector that keeps what it gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)


@dataclass(frozen=True)
class Received:
    """A span that was sent.

    Attributes:
        name: Its name.
        service: The program that sent it.
        trace: Its trace, hexadecimal.
        id: Its own id.
        parent: Its parent's, "" without one.
        attributes: Its attributes.
        error: Why it failed, "" = it didn't.
        seconds: How long it took.
    """

    name: str
    service: str
    trace: str
    id: str
    parent: str
    attributes: Mapping[str, Any]
    error: str
    seconds: float


@dataclass
class Collector(TraceServiceServicer):
    """Keeps all spans that are sent to ``address``."""

    address: str = ""
    spans: list[Received] = field(default_factory=list)

    def Export(  # noqa: N802 - the name of the call
        self, request: ExportTraceServiceRequest, context: grpc.ServicerContext
    ) -> ExportTraceServiceResponse:
        for resource in request.resource_spans:
            service = _values(resource.resource.attributes)["service.name"]
            for scope in resource.scope_spans:
                self.spans += [_received(span, service) for span in scope.spans]
        return ExportTraceServiceResponse()

    def named(self, name: str) -> Received:
        """Return the only span of that name."""
        (found,) = (span for span in self.spans if span.name == name)
        return found

    def below(self, parent: Received) -> list[str]:
        """Return the names of the spans right below one, in order."""
        return sorted(span.name for span in self.spans if span.parent == parent.id)

    def write_configuration(self, folder: Path, rate: int = 1_000_000) -> Path:
        """Return a TracingConfiguration for this collector."""
        file = folder / "tracing.yaml"
        head = "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"
        file.write_text(f"{head}endpoint: {self.address}\nsamplingRatePerMillion: {rate}\n")
        return file


@contextmanager
def collecting() -> Iterator[Collector]:
    """Yield a collector on a port of its own."""
    collector = Collector()
    server = grpc.server(ThreadPoolExecutor(2))
    add_TraceServiceServicer_to_server(collector, server)  # type: ignore[no-untyped-call]  # it has no types
    collector.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield collector
    finally:
        server.stop(None).wait()


def _received(span: Any, service: str) -> Received:
    return Received(
        span.name,
        service,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        _values(span.attributes),
        span.status.message,
        (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
    )


def _values(attributes: Sequence[Any]) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}
