"""What a run calls. One file per type of target, all behind `Target`; `Targets` picks by the job's `type`.

A target calls once, within the time it is given, and answers an Outcome, or a Later: what it called is at work then,
and no thread waits for it. A failure of what it called is an outcome, not an exception. Neither payload nor headers nor
output reach a log.

Words for what went wrong, by which retry policies choose (exceptions of handlers and functions go by their own names):

    http_3xx http_4xx http_5xx   the answer of a webhook; http_1xx is a change of protocols that nobody asked for
    timeout                      no answer in time: the run is TIMED_OUT
    connect                      nothing was sent
    tls                          nothing was sent: no TLS with the receiver, or a certificate that is not trusted
    throttled                    refused because of its rate
    refused                      refused, certainly not done
    outcome_unknown              sent, and perhaps done
    not_granted, refused_address, unusable_secret, unknown_target, unknown_handler      not tried: it would be in vain
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any, Protocol

from shared.domain.errors import OutcomeUnknown, StoreError, StoreThrottled
from shared.domain.grants import Roles
from shared.domain.instants import Instant, to_rfc3339
from shared.domain.keys import RunKey, job_id_of, owner_of
from shared.domain.run import RunError, RunStatus
from shared.domain.templates import Values, filled, is_templated

#: A session: in what AWS says, always that of the caller, which is the deployment's own where no role was granted.
_CALLER = re.compile(r"arn:aws[\w-]*:sts::\d*:assumed-role/[^\s\"',;]+")


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt of one run, as its target sees it."""

    key: RunKey
    slot: Instant
    fire_at: Instant
    attempt: int
    token: int
    #: The job's `target` object, as it is stored: each target fills its placeholders itself.
    target: Mapping[str, Any]
    #: With its placeholders filled, where the target has any.
    payload: Any
    #: What is left until the deadline when the call starts.
    timeout_ms: int
    deadline: Instant
    cancelled: Event
    report: Callable[[str], None]
    #: The roles under which the owner was granted what the target calls.
    roles: Roles = field(default_factory=dict)
    #: Where this attempt is traced, and where the request that made the job is (`shared.domain.traces`).
    trace: str | None = None
    made_by: str | None = None

    @property
    def owner_id(self) -> str:
        return owner_of(self.key.job_key)

    @property
    def job_id(self) -> str:
        return job_id_of(self.key.job_key)

    @property
    def run_id(self) -> str:
        return self.key.run_id

    @property
    def values(self) -> Values:
        """Of the placeholders; none where the target's texts are sent as they are."""
        if not is_templated(self.target):
            return {}
        return {
            "slot": to_rfc3339(self.slot),
            "run_id": self.run_id,
            "attempt": str(self.attempt),
            "job_id": self.job_id,
            "fencing_token": str(self.token),
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended: SUCCEEDED, FAILED or TIMED_OUT."""

    status: RunStatus
    output: str | None = None
    error: RunError | None = None
    #: `done`, or `accepted` when the target answers before its work is done.
    completion: str | None = None
    #: The target asked not to be called again sooner than this after the end of the attempt (`Retry-After`).
    retry_after_ms: int | None = None
    #: Of the answer, where there was one.
    http_status: int | None = None
    #: Another attempt would end the same way.
    is_permanent: bool = False


@dataclass(frozen=True, slots=True)
class Later:
    """What was called is at work, and is waited for by nobody."""

    #: Ends, one way or the other, by the deadline of the call.
    answer: Future[Any]
    #: How it goes on once the answer is there, on a thread that may wait for a store; raises what a target raises.
    go_on: Callable[[], Outcome | Later]


def waited(answer: Outcome | Later) -> Outcome:
    """On this thread."""
    while isinstance(answer, Later):
        wait([answer.answer])
        answer = answer.go_on()
    return answer


def succeeded(output: str | None = None, *, completion: str = "done") -> Outcome:
    return Outcome(RunStatus.SUCCEEDED, output=output, completion=completion)


def failed(
    error_type: str,
    message: str,
    *,
    output: str | None = None,
    retry_after_ms: int | None = None,
    is_permanent: bool = False,
) -> Outcome:
    return Outcome(
        RunStatus.FAILED,
        output=output,
        error=RunError(error_type, message),
        retry_after_ms=retry_after_ms,
        is_permanent=is_permanent,
    )


def timed_out(message: str) -> Outcome:
    return Outcome(RunStatus.TIMED_OUT, error=RunError("timeout", message))


def words_of(error: StoreError) -> str:
    """What an owner is told of it: what was not allowed on what, and not to which role of the deployment."""
    return _CALLER.sub("(the role of this call)", str(error))


def outcome_of_fault(error: StoreError) -> Outcome:
    """Of a call of AWS that brought no answer, or a refusal."""
    if isinstance(error, OutcomeUnknown):
        return failed("outcome_unknown", f"{words_of(error)}: perhaps it was done")
    return failed("throttled" if isinstance(error, StoreThrottled) else "refused", words_of(error))


class Target(Protocol):
    """One type of target."""

    def call(self, call: Call) -> Outcome | Later:
        """Called from several threads at once. What it raises fails the run under the exception's name."""
        ...


class Admission(Protocol):
    """Whether an owner may call what a target names: asked right before each call."""

    def admit(self, call: Call) -> Call | Outcome:
        """The call with the roles it is made under, or how it ends without being made."""
        ...


class _Unasked:
    def admit(self, call: Call) -> Call | Outcome:
        return call


class Targets:
    """The registry of target types. Without an admission everything is admitted: for tests of what is around it."""

    def __init__(self, by_type: Mapping[str, Target], admission: Admission | None = None) -> None:
        self._by_type = dict(by_type)
        self._admission = admission or _Unasked()

    def call(self, call: Call) -> Outcome | Later:
        kind = call.target.get("type")
        target = self._by_type.get(kind) if isinstance(kind, str) else None
        if target is None:
            return failed("unknown_target", f"this worker knows no target of type {kind!r}", is_permanent=True)
        admitted = self._admission.admit(call)
        if isinstance(admitted, Outcome):
            return admitted
        return target.call(replace(admitted, payload=filled(call.payload, call.values)))
