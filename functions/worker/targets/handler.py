"""A Python function, by the name it was registered under in `carillon.handlers`."""

from __future__ import annotations

import json

from carillon.handlers import Context, Registry
from functions.worker.targets import Call, Outcome, failed, succeeded
from shared.domain.instants import to_datetime


class HandlerTarget:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def call(self, call: Call) -> Outcome:
        name = call.target.get("name", "")
        function = self._registry.get(name)
        if function is None:
            # Its owner is told no more: what else a deployment has is not stored with every run.
            return failed("unknown_handler", f"no handler of this deployment is named {name!r}")
        try:
            answer = function(_context_of(call), call.payload)
        except BaseException as error:  # noqa: BLE001 (users' code may raise anything, also what ends a thread)
            return failed(type(error).__name__, _message_of(error))
        return succeeded(_as_text(answer))


def _context_of(call: Call) -> Context:
    return Context(
        job_id=call.job_id,
        run_id=call.run_id,
        slot=to_datetime(call.slot),
        fire_at=to_datetime(call.fire_at),
        attempt=call.attempt,
        token=call.token,
        deadline=to_datetime(call.deadline),
        cancellation=call.cancelled,
        report=call.report,
        owner_id=call.owner_id,
    )


def _as_text(answer: object) -> str | None:
    """A text as it is, anything else as JSON, or as Python shows it where JSON has no word for it. What cannot be shown
    at all fails nothing: the work is done, and must not be done again for the sake of its output.
    """
    if answer is None or isinstance(answer, str):
        return answer
    try:
        return json.dumps(answer, ensure_ascii=False, separators=(",", ":"), default=str)
    except BaseException as error:  # noqa: BLE001 (users' objects may raise anything when they are shown)
        kind = type(answer).__name__
        return f"succeeded; its result, of type {kind}, is no JSON and is not stored: {_message_of(error)}"


def _message_of(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # noqa: BLE001 (as above)
        return "its message cannot be shown"
