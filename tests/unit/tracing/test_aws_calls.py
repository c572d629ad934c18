"""Calls of AWS carry the trace of the run that makes them, each its own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.adapters.aws.api import BotoAwsApi
from shared.adapters.memory import ManualClock
from shared.domain.traces import TraceContext
from shared.ports.aws_api import AwsCall
from tests.unit.tracing.chain import OF_SOMEBODY
from tests.unit.worker.receiver import Receiver, receiving

OTHER = TraceContext("a" * 32, "b" * 16)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with receiving() as receiver:
        yield receiver


def invoke(api: BotoAwsApi, function: str, trace: TraceContext | None) -> None:
    parameters = {"FunctionName": function, "InvocationType": "Event", "Payload": b"{}"}
    header = None if trace is None else trace.header
    api.call(AwsCall("lambda", "Invoke", parameters, region="eu-west-1", timeout_ms=5_000, trace=header))


def test_a_function_is_told_the_trace_of_the_call_that_invokes_it(aws: Receiver) -> None:
    api = BotoAwsApi(ManualClock(), endpoint_url=aws.url.removesuffix("/hook"))
    asked = [("mine", OF_SOMEBODY), ("other", OTHER), ("none", None)] * 4

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda each: invoke(api, *each), asked))

    told = {each.path.split("/")[3]: {n.lower(): v for n, v in each.headers.items()} for each in aws.requests}
    assert len(aws.requests) == len(asked)
    assert told["mine"]["x-amzn-trace-id"] == OF_SOMEBODY.header
    assert told["other"]["x-amzn-trace-id"] == OTHER.header
    assert "x-amzn-trace-id" not in told["none"]
