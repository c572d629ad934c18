"""API, node and worker over the same tables, each with traces of its own that end in one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from functions.api.resolving import build
from functions.api.tracing import traced as traced_handler
from functions.scheduler.node import Node
from functions.scheduler.tracing import traced as traced_queue
from functions.worker.executor import Executor
from functions.worker.settings import WorkerSettings
from functions.worker.targets import Target, Targets
from functions.worker.targets.aws_api import AwsApiTarget
from functions.worker.tracing import traced as traced_targets
from shared.adapters.memory import MemoryDueQueue, MemoryEntryStore, MemoryJobStore, MemoryRunStore, SeededRandomness
from shared.adapters.otel import OtelTraces
from shared.domain.addresses import HostPort
from shared.domain.grants import AWS, Grant
from shared.domain.instants import Instant
from shared.domain.traces import TraceContext, read_header
from shared.ports.traces import Traces
from tests.unit.api.world import World as Api
from tests.unit.scheduler.world import World as Fleet
from tests.unit.worker.receiver import Received, Receiver, receiving
from tests.unit.worker.recorded_api import RecordedApi
from tests.unit.worker.webhooks import REGION, webhooks_for
from tests.unit.worker.workshop import execute

OF_SOMEBODY = TraceContext("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")


class Lane(MemoryDueQueue):
    #: As the emulator does of what is sent in batches.
    forgets_traces = False

    def send_body(self, body: str, *, trace: str | None = None) -> str:
        return super().send_body(body, trace=None if self.forgets_traces else trace)


@dataclass
class Chain:
    receiver: Receiver
    share: float = 1.0
    spans: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    #: Lambda's own trace of the API's next calls.
    invocation: str | None = None

    def __post_init__(self) -> None:
        self.api = Api()
        internal = frozenset({HostPort("127.0.0.1", self.receiver.port)})
        handle = build(replace(self.api.backend(), internal_targets=internal))
        self.api.handler = traced_handler(handle, self.traces(), lambda: self.invocation)
        self.aws = RecordedApi({"MessageId": "m"})
        self.fleet = Fleet(clock=self.api.clock, tables=self.api.tables)
        self.lane = Lane(self.api.clock)
        self.fleet.queues = {"default": self.lane}
        self.node: Node = self.fleet.start_node("a", queues={"default": traced_queue(self.lane, self.traces())})
        self.worker = self._worker()

    def traces(self) -> Traces:
        provider = TracerProvider(sampler=ParentBased(TraceIdRatioBased(self.share)), shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.spans))
        return OtelTraces(provider)

    def _worker(self) -> Executor:
        clock, tables = self.api.clock, self.api.tables
        by_type: dict[str, Target] = {
            "http": webhooks_for(self.receiver, clock=clock).target,
            "aws": AwsApiTarget(self.aws, region=REGION),
        }
        return Executor(
            queue=self.lane,
            run_store=MemoryRunStore(tables),
            job_store=MemoryJobStore(tables),
            entry_store=MemoryEntryStore(tables),
            targets=traced_targets(Targets(by_type), self.traces()),
            clock=clock,
            randomness=SeededRandomness(1),
            settings=WorkerSettings(),
            worker_id="worker",
        )

    def create(self, schedule: dict[str, Any], **headers: Any) -> None:
        target = {"type": "http", "url": self.receiver.url, "method": "POST"}
        body = {"job_id": "nightly", "schedule": schedule, "target": target, "payload": {"secret": "words"}}
        reply = self.api.send("POST", "/v1/jobs", body, **headers)
        assert reply.status == 201, reply.text

    def grant_all_of(self, service: str) -> None:
        assert self.api.access.put_grant(
            Grant("acme", service, AWS, f"arn:aws:{service}:*", Instant(0), "root", role_arn=None)
        )

    def work(self, duration_ms: int) -> None:
        """Nodes and the worker live for a while."""
        end = self.api.clock.now() + duration_ms
        while self.api.clock.now() < end:
            self.fleet.step(self.node)
            deliveries = self.lane.receive(limit=10, wait_seconds=0, visibility_seconds=30)
            self.worker.claim_once(deliveries)
            for live in self.worker.start_due_once():
                execute(self.worker, live)
            self.worker.finish_once()
            self.api.clock.advance(50)

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans.get_finished_spans() if span.name == name]


@contextmanager
def chained(share: float = 1.0) -> Iterator[Chain]:
    with receiving() as receiver:
        yield Chain(receiver, share)


def ids(span: ReadableSpan) -> tuple[str, str]:
    context = span.get_span_context()
    assert context is not None
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"


def parent_of(span: ReadableSpan) -> str | None:
    return None if span.parent is None else f"{span.parent.span_id:016x}"


def told(received: Received) -> tuple[str, str]:
    """The trace and the span that a receiver was told of, in both forms alike."""
    headers = {name.lower(): value for name, value in received.headers.items()}
    context = read_header(headers["x-amzn-trace-id"])
    assert context is not None
    assert headers["traceparent"] == context.traceparent
    return context.trace_id, context.span_id
