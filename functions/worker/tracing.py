"""Attempts that are traced: the run is a span under its dispatch, and the call of its target one under the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from functions.worker.targets import Call, Later, Outcome, Targets
from shared.ports.traces import NoTraces, Span, Traces, Work


def traced(targets: Targets, traces: Traces) -> Targets:
    """The targets themselves where nobody traces."""
    return targets if isinstance(traces, NoTraces) else TracedTargets(targets, traces)


class TracedTargets(Targets):
    def __init__(self, targets: Targets, traces: Traces) -> None:
        self._targets = targets
        self._traces = traces

    def call(self, call: Call) -> Outcome | Later:
        """Raises what a target raises."""
        run = self._traces.begin(
            Work.RUN,
            under=call.trace,
            because_of=call.made_by,
            attributes={
                "job_key": call.key.job_key,
                "run_id": call.key.run_id,
                "attempt": call.attempt,
                "fencing_token": call.token,
            },
        )
        return _within(run, lambda: self._called(replace(call, trace=run.header)))

    def _called(self, call: Call) -> Outcome | Later:
        kind = str(call.target.get("type"))
        span = self._traces.begin(Work.CALL, under=call.trace, attributes={"target": kind})
        return _within(span, lambda: self._targets.call(replace(call, trace=span.header)))


def _within(span: Span, act: Callable[[], Outcome | Later]) -> Outcome | Later:
    """The span ends with the outcome, or with what is raised instead of one."""
    try:
        answer = act()
    except BaseException:
        span.end(failure="broken")
        raise
    if isinstance(answer, Later):
        go_on = answer.go_on
        return replace(answer, go_on=lambda: _within(span, go_on))
    span.end(failure=None if answer.error is None else answer.error.type)
    return answer
