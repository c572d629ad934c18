"""Where spans go, and what it costs those who send none."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Iterator

import pytest
import requests

from shared.adapters.otel import OtelTraces, provider_of
from shared.adapters.otel.export import exporter_to
from shared.adapters.tracing import traces_from
from shared.config import ConfigurationMissing
from shared.domain.traces import read_header
from shared.ports.traces import NoTraces, Work
from tests.unit.tracing.chain import OF_SOMEBODY
from tests.unit.worker.receiver import Receiver, receiving

XRAY = "https://xray.eu-central-1.amazonaws.com/v1/traces"


@pytest.fixture
def collector() -> Iterator[Receiver]:
    with receiving() as receiver:
        receiver.answer = b""
        yield receiver


def test_ended_spans_reach_the_collector_at_a_flush(collector: Receiver) -> None:
    provider = provider_of(
        endpoint=collector.url, service="worker", deployment="Jobs", share=1.0, region="eu-central-1"
    )
    traces = OtelTraces(provider)
    traces.begin(Work.RUN, attributes={"run_id": "20261127T013000000Z"}).end()

    traces.flush()
    provider.shutdown()

    (sent,) = collector.requests
    headers = {name.lower(): value for name, value in sent.headers.items()}
    content = gzip.decompress(sent.body)
    assert headers["content-type"] == "application/x-protobuf"
    assert all(word in content for word in (b"carillon-worker", b"Jobs", b"run", b"20261127T013000000Z"))
    assert "authorization" not in headers


def test_what_x_ray_is_sent_is_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    sent: list[requests.PreparedRequest] = []

    def answer(_: object, request: requests.PreparedRequest, **__: object) -> requests.Response:
        sent.append(request)
        response = requests.Response()
        response.status_code = 200
        return response

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", answer)
    exporter_to(XRAY, region="eu-central-1").export([])

    (request,) = sent
    authorization = str(request.headers["Authorization"])
    assert request.url == XRAY
    assert "Credential=AKIDEXAMPLE/" in authorization
    assert "/eu-central-1/xray/aws4_request" in authorization
    assert "content-type" in authorization
    assert request.headers["X-Amz-Date"]


def test_a_collector_that_does_not_answer_holds_up_nothing() -> None:
    provider = provider_of(endpoint="http://127.0.0.1:9/v1/traces", service="api", deployment="d", share=1.0, region="")
    traces = OtelTraces(provider)
    traces.begin(Work.REQUEST).end()

    traces.flush()
    provider.shutdown()


@pytest.mark.parametrize("share", [None, "", "0"])
def test_nobody_traces_unless_asked_to(share: str | None) -> None:
    environment = {} if share is None else {"CARILLON_TRACED_SHARE": share}

    assert isinstance(traces_from(environment, service="api"), NoTraces)


def test_a_share_without_a_place_to_send_to_is_refused() -> None:
    with pytest.raises(ConfigurationMissing, match="CARILLON_TRACES_ENDPOINT"):
        traces_from({"CARILLON_TRACED_SHARE": "0.5"}, service="api")


@pytest.mark.parametrize("share", ["1.5", "-1", "half"])
def test_a_share_is_a_number_from_0_to_1(share: str) -> None:
    with pytest.raises(ValueError, match=r"0 to 1|half"):
        traces_from({"CARILLON_TRACED_SHARE": share}, service="api")


def test_who_does_not_trace_hands_on_what_others_do() -> None:
    span = NoTraces().begin(Work.RUN, under=OF_SOMEBODY.header)

    assert read_header(span.header) == OF_SOMEBODY


@pytest.mark.parametrize("wiring", ["functions.api.app", "functions.scheduler.wiring", "functions.worker.wiring"])
def test_nothing_of_opentelemetry_is_loaded_for_nothing(wiring: str) -> None:
    program = f"import sys, {wiring}; print(*(name for name in sys.modules if name.startswith('opentelemetry')))"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == ""
