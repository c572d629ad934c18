"""One trace from the request to the call of the target, whoever takes part."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shared.domain.traces import TraceContext
from tests.unit.tracing.chain import OF_SOMEBODY, Chain, chained, ids, parent_of, told

SOON = {"in": "PT10S"}


@pytest.fixture
def chain() -> Iterator[Chain]:
    with chained() as made:
        yield made


def test_a_request_and_all_that_comes_of_it_are_one_trace(chain: Chain) -> None:
    chain.create(SOON)
    chain.work(15_000)

    (request,), (dispatch,), (run,), (call,) = map(chain.named, ("request", "dispatch", "run", "call"))
    assert len({ids(span)[0] for span in (request, dispatch, run, call)}) == 1
    assert [parent_of(span) for span in (request, dispatch, run, call)] == [
        None,
        *(ids(span)[1] for span in (request, dispatch, run)),
    ]
    assert told(chain.receiver.requests[0]) == ids(call)


def test_a_caller_that_traces_sees_the_run_in_its_own_trace(chain: Chain) -> None:
    chain.create(SOON, traceparent=OF_SOMEBODY.traceparent)
    chain.work(15_000)

    (request,), (call,) = chain.named("request"), chain.named("call")
    assert parent_of(request) == OF_SOMEBODY.span_id
    assert told(chain.receiver.requests[0]) == (OF_SOMEBODY.trace_id, ids(call)[1])


def test_a_stranger_has_nothing_traced_by_a_header() -> None:
    with chained(share=0.0) as chain:
        for key in (None, "crl_nobody_knows"):
            reply = chain.api.send("GET", "/v1/jobs", key=key, traceparent=OF_SOMEBODY.traceparent)
            assert reply.status == 401
        assert chain.api.send("GET", "/v1/health", key=None, traceparent=OF_SOMEBODY.traceparent).status == 200
        assert not chain.spans.get_finished_spans()

        chain.api.send("GET", "/v1/jobs", traceparent=OF_SOMEBODY.traceparent)
        assert [parent_of(span) for span in chain.named("request")] == [OF_SOMEBODY.span_id]


def test_what_strangers_send_is_traced_by_the_share_of_the_deployment(chain: Chain) -> None:
    assert chain.api.send("GET", "/v1/jobs", key=None, traceparent=OF_SOMEBODY.traceparent).status == 401

    (request,) = chain.named("request")
    assert parent_of(request) is None


def test_lambdas_own_trace_of_the_call_is_continued(chain: Chain) -> None:
    chain.invocation = OF_SOMEBODY.header
    chain.create(SOON)

    assert [parent_of(span) for span in chain.named("request")] == [OF_SOMEBODY.span_id]


def test_fires_of_a_schedule_are_traces_of_their_own_that_name_the_request_behind_them(chain: Chain) -> None:
    chain.create({"every": "PT10S"})
    chain.work(35_000)

    (request,) = chain.named("request")
    runs = chain.named("run")
    assert len(runs) >= 3
    assert len({ids(span)[0] for span in (request, *runs)}) == 1 + len(runs)
    for run in runs:
        (link,) = run.links
        assert f"{link.context.span_id:016x}" == ids(request)[1]
    assert [parent_of(span) for span in runs] == [ids(span)[1] for span in chain.named("dispatch")]


def test_a_run_that_is_asked_for_belongs_to_the_request_that_asked(chain: Chain) -> None:
    chain.create({"cron": "0 3 1 1 *"})
    chain.api.send("POST", "/v1/jobs/nightly/runs")
    chain.work(5_000)

    created, asked = chain.named("request")
    (run,) = chain.named("run")
    assert ids(run)[0] == ids(asked)[0] != ids(created)[0]


def test_attempts_stay_in_one_trace_and_a_retry_by_hand_is_in_that_of_its_request(chain: Chain) -> None:
    chain.receiver.status = 500
    chain.create(SOON)
    chain.work(60_000)
    chain.receiver.status = 200
    attempts = chain.named("run")
    run_id = chain.api.send("GET", "/v1/jobs/nightly/runs").json["items"][0]["run_id"]
    retried = chain.api.send("POST", f"/v1/jobs/nightly/runs/{run_id}/retry")
    chain.work(5_000)

    assert retried.status == 202
    assert len(attempts) == 5
    assert len({ids(span)[0] for span in attempts}) == 1
    assert [span.status.description for span in attempts] == ["http_5xx"] * 5
    assert ids(chain.named("run")[-1])[0] == ids(chain.named("request")[-1])[0]


def test_spans_tell_ids_and_nothing_that_an_owner_wrote(chain: Chain) -> None:
    chain.create(SOON)
    chain.work(15_000)

    spans = chain.spans.get_finished_spans()
    assert "words" not in str([span.to_json() for span in spans])
    assert {key for span in spans for key in (span.attributes or {})} == {
        *("carillon.method", "carillon.path", "carillon.job_key", "carillon.run_id", "carillon.attempt"),
        *("carillon.shard", "carillon.fencing_token", "carillon.target"),
    }


def test_what_is_not_sampled_leaves_nothing_behind() -> None:
    with chained(share=0.0) as chain:
        chain.create(SOON, traceparent=OF_SOMEBODY.traceparent[:-1] + "0")
        chain.work(15_000)

        assert chain.spans.get_finished_spans() == ()
        assert chain.api.job("nightly").trace is None
        (received,) = chain.receiver.requests
        assert not {"traceparent", "x-amzn-trace-id"} & {name.lower() for name in received.headers}


def test_a_header_that_the_job_sets_itself_is_left_to_it(chain: Chain) -> None:
    target = {"type": "http", "url": chain.receiver.url, "method": "POST", "headers": {"TraceParent": "mine"}}
    chain.api.send("POST", "/v1/jobs", {"job_id": "own", "schedule": SOON, "target": target})
    chain.work(15_000)

    (received,) = chain.receiver.requests
    assert [value for name, value in received.headers.items() if name.lower() == "traceparent"] == ["mine"]


@pytest.mark.parametrize(
    ("service", "operation", "parameters", "where"),
    [
        ("sqs", "SendMessage", {"QueueUrl": "https://sqs.eu-west-1.amazonaws.com/123456789012/orders"}, "attribute"),
        (
            "states",
            "StartExecution",
            {"stateMachineArn": "arn:aws:states:eu-west-1:123456789012:stateMachine:orders"},
            "traceHeader",
        ),
    ],
)
def test_services_of_aws_are_told_where_they_take_it(
    chain: Chain, service: str, operation: str, parameters: dict[str, str], where: str
) -> None:
    chain.grant_all_of(service)
    target = {"type": "aws", "service": service, "operation": operation, "parameters": parameters}
    chain.api.send("POST", "/v1/jobs", {"job_id": "aws", "schedule": SOON, "target": target, "payload": {}})
    chain.work(15_000)

    (called,) = chain.aws.calls
    (span,) = chain.named("call")
    header = TraceContext(*ids(span)).header
    attributes = called.parameters.get("MessageSystemAttributes", {})
    sent = attributes["AWSTraceHeader"]["StringValue"] if where == "attribute" else called.parameters[where]
    assert sent == called.trace == header


def test_a_row_knows_the_trace_of_its_run_where_the_message_lost_it(chain: Chain) -> None:
    chain.create({"cron": "0 3 1 1 *"})
    chain.lane.forgets_traces = True
    chain.api.send("POST", "/v1/jobs/nightly/runs")
    chain.work(5_000)

    (run,) = chain.named("run")
    asked = chain.named("request")[-1]
    assert (ids(run)[0], parent_of(run)) == ids(asked)
