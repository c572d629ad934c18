"""Requests that are traced: each is a span, under which what it asks for is done later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final

from shared.domain.traces import read_header, read_traceparent
from shared.ports.traces import NoTraces, Span, Traces, Work

# As `resolving` has them, which imports this.
Event = Mapping[str, Any]
Handler = Callable[[Event, Any], dict[str, Any]]

_FIRST_FAILURE: Final = 500


class _Request:
    """Its span begins a trace of its own, by the deployment's share. What the caller traces is continued only once it
    is known who calls: no stranger may have spans made, sent and paid for by a header.
    """

    def __init__(self, begin: Callable[[str | None], Span], parent: str | None) -> None:
        self._begin = begin
        self._parent = parent
        self.span = begin(None)

    def admit(self) -> None:
        if self._parent is not None:
            # The other one has told nobody of itself, and never ends.
            self.span = self._begin(self._parent)


_CURRENT: Final[ContextVar[_Request | None]] = ContextVar("request", default=None)


def current_trace() -> str | None:
    """The header that work of the request being served is to continue; None when it is not traced."""
    request = _CURRENT.get()
    return None if request is None else request.span.header


def admit_caller() -> None:
    """It is known who sent the request that is being served."""
    request = _CURRENT.get()
    if request is not None:
        request.admit()


def traced(handle: Handler, traces: Traces, invocation: Callable[[], str | None]) -> Handler:
    """The handler itself where nobody traces. `invocation` is the header of Lambda's own trace of this call."""
    if isinstance(traces, NoTraces):
        return handle

    def handle_traced(event: Event, context: Any) -> dict[str, Any]:
        http = event.get("requestContext", {}).get("http", {})
        attributes = {"method": str(http.get("method", "")), "path": str(http.get("path", ""))}

        def begin(parent: str | None) -> Span:
            return traces.begin(Work.REQUEST, under=parent, attributes=attributes)

        request = _Request(begin, _parent_of(event, invocation()))
        token = _CURRENT.set(request)
        failure: str | None = "broken"
        try:
            answer = handle(event, context)
            status = int(answer.get("statusCode", 0))
            failure = str(status) if status >= _FIRST_FAILURE else None
        finally:
            _CURRENT.reset(token)
            request.span.end(failure=failure)
            if request.span.header is not None:
                # Lambda freezes this process as soon as it has the answer.
                traces.flush()
        return answer

    return handle_traced


def _parent_of(event: Event, invocation: str | None) -> str | None:
    """What the caller traces; else what Lambda does."""
    headers = {str(name).lower(): value for name, value in event.get("headers", {}).items()}
    context = read_traceparent(headers.get("traceparent")) or read_header(invocation)
    return None if context is None else context.header
