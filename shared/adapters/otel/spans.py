from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from shared.domain.traces import TraceContext, read_header
from shared.ports.traces import Work

_SCOPE = "carillon"
_FLUSH_MS = 2_000
_KINDS = MappingProxyType(
    {
        Work.REQUEST: SpanKind.SERVER,
        Work.DISPATCH: SpanKind.PRODUCER,
        Work.RUN: SpanKind.CONSUMER,
        Work.CALL: SpanKind.CLIENT,
    }
)


class OtelTraces:
    """Parents are named by whoever begins a span: nothing here depends on which thread does it."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer(_SCOPE)

    def begin(
        self,
        work: Work,
        *,
        under: str | None = None,
        because_of: str | None = None,
        attributes: Mapping[str, str | int] | None = None,
    ) -> OtelSpan:
        parent, cause = read_header(under), read_header(because_of)
        return OtelSpan(
            self._tracer.start_span(
                work,
                # An empty one, and not the thread's: that may be of another library.
                context=Context()
                if parent is None
                else set_span_in_context(NonRecordingSpan(_remote(parent)), Context()),
                kind=_KINDS[work],
                attributes={f"{_SCOPE}.{name}": value for name, value in (attributes or {}).items()},
                links=[] if cause is None else [Link(_remote(cause))],
            )
        )

    def flush(self) -> None:
        self._provider.force_flush(_FLUSH_MS)


class OtelSpan:
    def __init__(self, span: Span) -> None:
        self._span = span

    @property
    def header(self) -> str | None:
        context = self._span.get_span_context()
        if not context.trace_flags.sampled:
            return None
        return TraceContext(f"{context.trace_id:032x}", f"{context.span_id:016x}").header

    def end(self, *, failure: str | None = None) -> None:
        if failure is not None:
            self._span.set_status(StatusCode.ERROR, failure)
        self._span.end()


def _remote(context: TraceContext) -> SpanContext:
    return SpanContext(
        int(context.trace_id, 16),
        int(context.span_id, 16),
        is_remote=True,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )
