"""Traces that go to an OTLP collector, by OpenTelemetry's SDK (extra ``tracing``).

Sampling is decided before the SDK is called: a span costs it 13 µs even if it is
dropped, which is more than a decision from the cache. Spans within a call or an attempt are made of timings
once it ends.
"""

from __future__ import annotations

import random
import re
import time
from dataclasses import dataclass, field

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, StatusCode, TraceFlags

from mooring import __version__
from mooring.tracing.configuration import PER_MILLION, TracingConfiguration
from mooring.tracing.spans import Attributes

FLUSH_MILLISECONDS = 2_000
"""How long the last spans may take to be sent."""

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})")


@dataclass(slots=True)
class Timing:
    """Something that happened within a span, with the spans below it; times in nanoseconds."""

    name: str
    start: int
    end: int
    attributes: Attributes
    inner: list[Timing] = field(default_factory=list)


class OtlpSpan:
    """Implements ``mooring.tracing.spans.Span``."""

    def __init__(self, tracer: trace.Tracer, span: trace.Span) -> None:
        self._tracer = tracer
        self._span = span
        self._timings: list[Timing] = []

    @property
    def trace_id(self) -> str:
        return trace.format_trace_id(self._span.get_span_context().trace_id)

    @property
    def traceparent(self) -> str:
        own = self._span.get_span_context()
        return f"00-{trace.format_trace_id(own.trace_id)}-{trace.format_span_id(own.span_id)}-01"

    def set_attributes(self, attributes: Attributes) -> None:
        self._span.set_attributes(attributes)

    def record(self, name: str, seconds: float, attributes: Attributes) -> None:
        end = time.time_ns()
        timing = Timing(name, end - int(seconds * 1e9), end, attributes)
        # A child is recorded before its parent; both are a little late.
        while self._timings and self._timings[-1].start + self._timings[-1].end > 2 * timing.start:
            timing.inner.append(self._timings.pop())
        timing.inner.reverse()
        self._timings.append(timing)

    def begin_child(self, name: str) -> OtlpSpan:
        return OtlpSpan(self._tracer, self._tracer.start_span(name, trace.set_span_in_context(self._span)))

    def end(self, error: str = "") -> None:
        if not self._span.is_recording():
            return
        self._export(self._span, self._timings)
        self._timings = []
        if error:
            self._span.set_status(StatusCode.ERROR, error)
        self._span.end()

    def _export(self, parent: trace.Span, timings: list[Timing]) -> None:
        within = trace.set_span_in_context(parent)
        for timing in timings:
            span = self._tracer.start_span(
                timing.name, within, attributes=timing.attributes, start_time=timing.start
            )
            self._export(span, timing.inner)
            span.end(timing.end)


class OtlpTracer:
    """Implements ``mooring.tracing.spans.Tracer``.

    Args:
        configuration: The calls to trace, and the collector.
        service: The name of this program, unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES name it.
    """

    def __init__(self, configuration: TracingConfiguration, service: str) -> None:
        self._share = configuration.sampling_rate_per_million / PER_MILLION
        resource = Resource.create({SERVICE_NAME: service, SERVICE_VERSION: __version__})
        resource = resource.merge(OTELResourceDetector().detect())
        self._provider = TracerProvider(sampler=ALWAYS_ON, resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=configuration.endpoint, insecure=True)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("mooring", __version__)

    def begin_call(self, name: str, traceparent: str) -> OtlpSpan | None:
        parent = _TRACEPARENT.fullmatch(traceparent) if traceparent else None
        sampled = int(parent[3], 16) & TraceFlags.SAMPLED if parent else self._samples()
        if not sampled:
            return None
        within = _context(parent) if parent else None
        return OtlpSpan(self._tracer, self._tracer.start_span(name, within, SpanKind.SERVER))

    def begin_attempt(self, name: str) -> OtlpSpan | None:
        return OtlpSpan(self._tracer, self._tracer.start_span(name)) if self._samples() else None

    def close(self) -> None:
        self._provider.force_flush(FLUSH_MILLISECONDS)
        self._provider.shutdown()

    def _samples(self) -> bool:
        return random.random() < self._share  # noqa: S311 - a sample of measurements


def _context(parent: re.Match[str]) -> Context:
    """Return the context in which a span continues the trace of a caller elsewhere."""
    named = SpanContext(
        int(parent[1], 16), int(parent[2], 16), is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED)
    )
    return trace.set_span_in_context(NonRecordingSpan(named))
