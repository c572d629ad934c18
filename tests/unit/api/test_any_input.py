"""Whatever is sent: an answer that means it, never a fault of ours, and nothing written unless it says so."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.api.world import JOB, World

MEMBERS = [
    "job_id", "name", "group", "tags", "state", "schedule", "target", "payload", "lane", "timeout", "retry", "overlap",
    "max_concurrent", "misfire", "keep_after_completion", "at", "in", "cron", "every", "timezone", "anchor", "start_at",
    "end_at", "max_runs", "window", "exclude", "dst", "seconds", "type", "url", "method", "headers", "policy", "grace",
    "auth", "secret_ref", "scheme", "body", "success", "connect_timeout", "max_redirects", "function_arn", "invocation",
    "service", "operation", "parameters", "QueueUrl", "Entries", "EventBusName", "overrides", "taskDefinition",
    "limit", "max_attempts", "date", "reason", "count", "after",
]  # fmt: skip
TEXTS = st.sampled_from(
    ["", "a", "PT5S", "P1D", "PT0S", "* * * * *", "@daily", "rate(5 minutes)", "0001-01-01T00:00:00+14:00", "UTC",
     "9999-12-31T23:59:59.999-14:00", "2026-11-27T00:00:05Z", "2027-03-28T02:30:00", "Europe/Berlin", "https://example.com",
     "http://[::1]:80/",
     "lambda", "aws", "sqs", "SendMessage", "events", "PutEvents", "ecs", "RunTask",
     "arn:aws:sqs:eu-west-1:123456789012:q",
     "http://127.0.0.1:4566/000000000000/q", "basic", "2xx", "{{run}}", "http://{{slot}}/", "http://0x7f.1/",
     "skip", "fire_all", "echo", "http", "handler", "9" * 400, "\x00", "\ud800", "{{slot}}", "/", "#"]
)  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.text(max_size=8)
NAMES = st.sampled_from(MEMBERS) | st.text(max_size=3)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=8
)
SCHEDULES = st.dictionaries(
    st.sampled_from(
        ["at", "in", "cron", "every", "timezone", "anchor", "start_at", "end_at", "max_runs", "window", "exclude"]
    ),
    TEXTS | VALUES,
    min_size=1,
    max_size=3,
)
TARGETS = st.fixed_dictionaries(
    {"type": st.sampled_from(["http", "lambda", "aws", "handler"])},
    optional={
        "url": TEXTS,
        "auth": VALUES,
        "body": VALUES,
        "function_arn": TEXTS,
        "service": st.sampled_from(["sqs", "events", "ecs"]) | VALUES,
        "operation": st.sampled_from(["SendMessage", "PutEvents", "RunTask"]) | VALUES,
        "parameters": st.dictionaries(
            st.sampled_from(["QueueUrl", "Entries", "cluster", "taskDefinition", "overrides"]), VALUES, max_size=3
        ),
        "success": VALUES,
        "max_redirects": VALUES,
    },
)
BODIES = (
    st.dictionaries(NAMES, VALUES, max_size=5)
    | st.dictionaries(st.sampled_from(MEMBERS[:15]), VALUES, max_size=3).map(lambda members: {**JOB, **members})
    | TARGETS.map(lambda target: {**JOB, "target": target})
    | SCHEDULES.map(lambda schedule: {**JOB, "schedule": schedule})
)
ROUTES = st.sampled_from(
    [("POST", "/v1/jobs"), ("PATCH", "/v1/jobs/nightly-report"), ("POST", "/v1/schedules/preview")]
)


@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(route=ROUTES, body=BODIES)
def test_any_body_is_accepted_or_refused_and_a_refusal_writes_nothing(route: tuple[str, str], body: object) -> None:
    world = World()
    if route[0] == "PATCH":
        world.create()
    before = world.contents()
    reply = world.send(*route, json.dumps(body))
    assert reply.status in {200, 201, 400, 409, 413}, reply.text
    if reply.status >= 300:
        assert world.contents() == before
        assert reply.json["status"] == reply.status
        assert reply.json["detail"]


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    path=st.text(max_size=20),
    query=st.text(alphabet="abc=&%+limtagsuro:;0123456789/?#", max_size=30),
    header=st.text(max_size=20),
)
def test_any_path_query_and_header_is_answered(path: str, query: str, header: str) -> None:
    world = World()
    for target in (f"/v1/jobs/{path}", f"/{path}", "/v1/jobs"):
        assert world.send("GET", target, query=query, if_match=header).status in {200, 400, 404, 405}
    assert world.send("GET", "/v1/jobs", key=None, authorization=header).status == 401
    assert world.send("POST", "/v1/jobs", JOB, idempotency_key=header, content_type=header).status in {201, 400, 415}
