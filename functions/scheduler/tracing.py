"""Dispatches that are traced: each is a span, which the worker continues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shared.domain.message import Dispatch
from shared.ports import Delivery, DueQueue, SendReport
from shared.ports.traces import NoTraces, Span, Traces, Work


def traced(queue: DueQueue, traces: Traces) -> DueQueue:
    """The queue itself where nobody traces: nothing is asked of a dispatch then."""
    return queue if isinstance(traces, NoTraces) else TracedQueue(queue, traces)


class TracedQueue:
    """A single fire belongs to the trace of the request that asked for it; any other begins one of its own."""

    def __init__(self, queue: DueQueue, traces: Traces) -> None:
        self._queue = queue
        self._traces = traces

    def send(self, dispatches: Sequence[Dispatch]) -> SendReport:
        spans = [self._begin(dispatch) for dispatch in dispatches]
        report = SendReport()
        try:
            report = self._queue.send(
                [replace(dispatch, trace=span.header) for dispatch, span in zip(dispatches, spans, strict=True)]
            )
        finally:
            for index, span in enumerate(spans):
                span.end(failure=_failure_of(index, report))
        return report

    def _begin(self, dispatch: Dispatch) -> Span:
        return self._traces.begin(
            Work.DISPATCH,
            under=dispatch.trace,
            attributes={
                "job_key": dispatch.job_key,
                "run_id": dispatch.run_id,
                "attempt": dispatch.attempt,
                "shard": dispatch.shard,
            },
        )

    def receive(self, *, limit: int, wait_seconds: int, visibility_seconds: int) -> list[Delivery]:
        return self._queue.receive(limit=limit, wait_seconds=wait_seconds, visibility_seconds=visibility_seconds)

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        self._queue.delete(deliveries)

    def hide(self, delivery: Delivery, *, seconds: int) -> None:
        self._queue.hide(delivery, seconds=seconds)

    def hide_all(self, deliveries: Sequence[Delivery], *, seconds: int) -> None:
        self._queue.hide_all(deliveries, seconds=seconds)


def _failure_of(index: int, report: SendReport) -> str | None:
    if index in report.accepted:
        return None
    return "refused" if index in report.refused else "unknown"
