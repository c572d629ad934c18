"""Attempts that are traced: the run is a span under its dispatch, and the call of its target one under the run."""

from __future__ import annotations

from dataclasses import replace

from functions.worker.targets import Call, Outcome, Targets
from shared.ports.traces import NoTraces, Traces, Work


def traced(targets: Targets, traces: Traces) -> Targets:
    """The targets themselves where nobody traces."""
    return targets if isinstance(traces, NoTraces) else TracedTargets(targets, traces)


class TracedTargets(Targets):
    def __init__(self, targets: Targets, traces: Traces) -> None:
        self._targets = targets
        self._traces = traces

    def call(self, call: Call) -> Outcome:
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
        failure: str | None = "broken"
        try:
            outcome = self._called(replace(call, trace=run.header))
            failure = None if outcome.error is None else outcome.error.type
        finally:
            run.end(failure=failure)
        return outcome

    def _called(self, call: Call) -> Outcome:
        kind = str(call.target.get("type"))
        span = self._traces.begin(Work.CALL, under=call.trace, attributes={"target": kind})
        failure: str | None = "broken"
        try:
            outcome = self._targets.call(replace(call, trace=span.header))
            failure = None if outcome.error is None else outcome.error.type
        finally:
            span.end(failure=failure)
        return outcome
