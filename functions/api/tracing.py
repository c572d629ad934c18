"""Requests that are traced: each is a span, under which what it asks for is done later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final

from shared.domain.traces import read_header, read_traceparent
from shared.ports.traces import NoTraces, Traces, Work

# As `resolving` has them, which imports this.
Event = Mapping[str, Any]
Handler = Callable[[Event, Any], dict[str, Any]]

_CURRENT: Final[ContextVar[str | None]] = ContextVar("trace", default=None)
_FIRST_FAILURE: Final = 500


def current_trace() -> str | None:
    """The header that work of the request being served is to continue; None when it is not traced."""
    return _CURRENT.get()


def traced(handle: Handler, traces: Traces, invocation: Callable[[], str | None]) -> Handler:
    """The handler itself where nobody traces. `invocation` is the header of Lambda's own trace of this call."""
    if isinstance(traces, NoTraces):
        return handle

    def handle_traced(event: Event, context: Any) -> dict[str, Any]:
        http = event.get("requestContext", {}).get("http", {})
        span = traces.begin(
            Work.REQUEST,
            under=_parent_of(event, invocation()),
            attributes={"method": str(http.get("method", "")), "path": str(http.get("path", ""))},
        )
        token = _CURRENT.set(span.header)
        failure: str | None = "broken"
        try:
            answer = handle(event, context)
            status = int(answer.get("statusCode", 0))
            failure = str(status) if status >= _FIRST_FAILURE else None
        finally:
            _CURRENT.reset(token)
            span.end(failure=failure)
            if span.header is not None:
                # Lambda freezes this process as soon as it has the answer.
                traces.flush()
        return answer

    return handle_traced


def _parent_of(event: Event, invocation: str | None) -> str | None:
    """What the caller traces; else what Lambda does."""
    headers = {str(name).lower(): value for name, value in event.get("headers", {}).items()}
    context = read_traceparent(headers.get("traceparent")) or read_header(invocation)
    return None if context is None else context.header
