"""What a run calls. One file per type of target, all behind `Target`; `Targets` picks by the job's `type`.

A target calls once, within the time it is given, and answers an Outcome. A failure of what it called is an outcome, not
an exception. Neither payload nor headers nor output reach a log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Event
from typing import Any, Protocol

from shared.domain.instants import Instant
from shared.domain.keys import RunKey, job_id_of
from shared.domain.run import RunError, RunStatus


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt of one run, as its target sees it."""

    key: RunKey
    slot: Instant
    fire_at: Instant
    attempt: int
    token: int
    #: The job's `target` object.
    target: Mapping[str, Any]
    payload: Any
    #: What is left until the deadline when the call starts.
    timeout_ms: int
    deadline: Instant
    cancelled: Event
    report: Callable[[str], None]

    @property
    def job_id(self) -> str:
        return job_id_of(self.key.job_key)

    @property
    def run_id(self) -> str:
        return self.key.run_id


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended: SUCCEEDED, FAILED or TIMED_OUT."""

    status: RunStatus
    output: str | None = None
    error: RunError | None = None
    #: `done`, or `accepted` when the target answers before its work is done.
    completion: str | None = None


def succeeded(output: str | None = None, *, completion: str = "done") -> Outcome:
    return Outcome(RunStatus.SUCCEEDED, output=output, completion=completion)


def failed(error_type: str, message: str, *, output: str | None = None) -> Outcome:
    return Outcome(RunStatus.FAILED, output=output, error=RunError(error_type, message))


def timed_out(message: str) -> Outcome:
    return Outcome(RunStatus.TIMED_OUT, error=RunError("timeout", message))


class Target(Protocol):
    """One type of target."""

    def call(self, call: Call) -> Outcome:
        """Called from several threads at once. What it raises fails the run under the exception's name."""
        ...


class Targets:
    """The registry of target types."""

    def __init__(self, by_type: Mapping[str, Target]) -> None:
        self._by_type = dict(by_type)

    def call(self, call: Call) -> Outcome:
        kind = call.target.get("type")
        target = self._by_type.get(kind) if isinstance(kind, str) else None
        if target is None:
            return failed("unknown_target", f"this worker knows no target of type {kind!r}")
        return target.call(call)
