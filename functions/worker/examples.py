"""Three handlers to try Carillon with."""

from __future__ import annotations

from carillon import Context, handler


class ExampleFailure(Exception):
    """What `fail` raises."""


@handler("echo")
def echo(_context: Context, payload: object) -> object:
    """Answer the payload."""
    return payload


@handler("sleep")
def sleep(context: Context, payload: object) -> str:
    """Wait for `{"seconds": 2.5}` (default 1), or until the run is cancelled."""
    seconds = payload.get("seconds", 1) if isinstance(payload, dict) else 1
    context.progress(f"sleeping {seconds} s")
    if context.cancellation.wait(timeout=float(seconds)):
        return "cancelled"
    return f"slept {seconds} s"


@handler("fail")
def fail(_context: Context, payload: object) -> None:
    """Raise, with the payload's `message` if it has one."""
    message = payload.get("message") if isinstance(payload, dict) else None
    raise ExampleFailure(str(message or "this handler always fails"))
