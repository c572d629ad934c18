"""Where in a trace some work belongs, as it travels: in the form of AWS, which SQS carries and rows store, or in that
of W3C, which everybody else reads.

    Root=1-67449d80-5f84c0a1b2c3d4e5f6a7b8c9;Parent=53995c3f42cd8ad8;Sampled=1
    00-67449d805f84c0a1b2c3d4e5f6a7b8c9-53995c3f42cd8ad8-01

Only what is sampled travels, so that nothing of this is stored or sent while nobody traces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ROOT = re.compile(r"1-([0-9a-f]{8})-([0-9a-f]{24})")
_SPAN = re.compile(r"[0-9a-f]{16}")
_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED = 1


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A sampled span: its trace and itself, in lower-case hexadecimal."""

    trace_id: str
    span_id: str

    @property
    def header(self) -> str:
        """Of `AWSTraceHeader` and `X-Amzn-Trace-Id`."""
        return f"Root=1-{self.trace_id[:8]}-{self.trace_id[8:]};Parent={self.span_id};Sampled=1"

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-01"


def read_header(text: str | None) -> TraceContext | None:
    """None when it names no sampled span: strangers may have written it."""
    parts = dict(part.strip().partition("=")[::2] for part in (text or "").split(";"))
    root, span_id = _ROOT.fullmatch(parts.get("Root", "")), parts.get("Parent", "")
    if root is None or not _SPAN.fullmatch(span_id) or parts.get("Sampled") != "1":
        return None
    return _known(root[1] + root[2], span_id)


def read_traceparent(text: str | None) -> TraceContext | None:
    """None when it names no sampled span. A version to come may have more parts, which are left aside."""
    found = _TRACEPARENT.fullmatch((text or "").strip())
    if found is None or found[1] == "ff" or (found[1] == "00" and found[5]):
        return None
    return _known(found[2], found[3]) if int(found[4], 16) & _SAMPLED else None


def _known(trace_id: str, span_id: str) -> TraceContext | None:
    return TraceContext(trace_id, span_id) if int(trace_id, 16) and int(span_id, 16) else None


def trace_headers(header: str | None) -> dict[str, str]:
    """What an HTTP request carries so that its receiver continues the trace."""
    context = read_header(header)
    if context is None:
        return {}
    return {"traceparent": context.traceparent, "X-Amzn-Trace-Id": context.header}
