"""Whatever is wrong is named by its place, with an example that works there, and nothing is written."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from functions.api.requests import EXAMPLES
from shared.domain.limits import MAX_DEPTH
from tests.unit.api.prepared import prepared
from tests.unit.api.world import CRON, HTTP, JOB, World, refused

NESTED: Any = []
for _ in range(MAX_DEPTH):
    NESTED = [NESTED]

PATH = "/v1/jobs/nightly-report"
#: Members to set in a good request, and the place that must be named.
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"nme": "x"}, "#/nme"),
    ({"revision": 3}, "#/revision"),
    ({"next_slots": []}, "#/next_slots"),
    ({"job_id": ""}, "#/job_id"),
    ({"job_id": "."}, "#/job_id"),
    ({"job_id": ".."}, "#/job_id"),
    ({"job_id": "batch"}, "#/job_id"),
    ({"job_id": "a/b"}, "#/job_id"),
    ({"job_id": "a\n"}, "#/job_id"),
    ({"job_id": "a\x00"}, "#/job_id"),
    ({"job_id": "ü"}, "#/job_id"),
    ({"job_id": "a" * 65}, "#/job_id"),
    ({"job_id": 7}, "#/job_id"),
    ({"name": 7}, "#/name"),
    ({"name": None}, "#/name"),
    ({"name": "a" * 201}, "#/name"),
    ({"name": "bell\x07"}, "#/name"),
    ({"name": "\ufffe"}, "#/name"),
    ({"group": "nul\x00"}, "#/group"),
    ({"group": "a" * 65}, "#/group"),
    ({"tags": {"team": "\x00"}}, "#/tags/team"),
    ({"tags": {"team": 7}}, "#/tags/team"),
    ({"tags": {"": "x"}}, "#/tags/"),
    ({"tags": {"a/b~": "x" * 201}}, "#/tags/a~1b~0"),
    ({"tags": {str(number): "x" for number in range(21)}}, "#/tags"),
    ({"tags": ["team"]}, "#/tags"),
    ({"state": "cancelled"}, "#/state"),
    ({"schedule": None}, "#/schedule"),
    ({"schedule": "daily"}, "#/schedule"),
    ({"schedule": {}}, "#/schedule"),
    ({"schedule": {"timezone": "UTC"}}, "#/schedule"),
    ({"schedule": {"cron": "* * * * *", "every": "PT5S"}}, "#/schedule/every"),
    ({"schedule": {"at": "2026-11-27T00:00:05Z", "in": "PT5S"}}, "#/schedule/in"),
    ({"schedule": {"cron": "0 0 30 2 *"}}, "#/schedule/cron"),
    ({"schedule": {"cron": "61 * * * *"}}, "#/schedule/cron"),
    ({"schedule": {"cron": 5}}, "#/schedule/cron"),
    ({"schedule": {"cron": "0 */24 * * *"}}, "#/schedule/cron"),
    ({"schedule": {"at": "2027-01-01T00:00:00+25:00"}}, "#/schedule/at"),
    ({"schedule": {"at": "2027-13-01T00:00:00Z"}}, "#/schedule/at"),
    ({"schedule": {"cron": "0 0 * * *", "timezone": "Mars/Olympus"}}, "#/schedule/timezone"),
    ({"schedule": {"cron": "0 0 * * *", "timezone": "../../etc/passwd"}}, "#/schedule/timezone"),
    ({"schedule": {"cron": "0 0 * * *", "zone": "UTC"}}, "#/schedule/zone"),
    ({"schedule": {"at": "2026-11-26T23:58:59Z"}}, "#/schedule/at"),
    ({"schedule": {"at": "2026-11-27T00:00:05"}}, "#/schedule/at"),
    ({"schedule": {"at": "tomorrow"}}, "#/schedule/at"),
    ({"schedule": {"at": 1795737605000}}, "#/schedule/at"),
    ({"schedule": {"at": "2126-11-27T00:00:05Z"}}, "#/schedule/at"),
    ({"schedule": {"in": "5 minutes"}}, "#/schedule/in"),
    ({"schedule": {"in": "P1M"}}, "#/schedule/in"),
    ({"schedule": {"in": -5}}, "#/schedule/in"),
    ({"schedule": {"every": "PT0S"}}, "#/schedule/every"),
    ({"schedule": {"every": "PT0.5S"}}, "#/schedule/every"),
    ({"schedule": {"every": "PT5S", "max_runs": 0}}, "#/schedule/max_runs"),
    ({"schedule": {"every": "PT5S", "window": "P2D"}}, "#/schedule/window"),
    ({"schedule": {"every": "PT5S", "end_at": "2020-01-01T00:00:00Z"}}, "#/schedule/every"),
    ({"target": None}, "#/target"),
    ({"target": {}}, "#/target/type"),
    ({"target": {"type": "ftp"}}, "#/target/type"),
    ({"target": {"type": ["http"]}}, "#/target/type"),
    ({"target": {"type": "http"}}, "#/target/url"),
    ({"target": {**HTTP, "url": "ftp://example.com"}}, "#/target/url"),
    ({"target": {**HTTP, "url": "file:///etc/passwd"}}, "#/target/url"),
    ({"target": {**HTTP, "url": "example.com/hook"}}, "#/target/url"),
    ({"target": {**HTTP, "url": "https://"}}, "#/target/url"),
    ({"target": {**HTTP, "url": "https:///hook"}}, "#/target/url"),
    ({"target": {**HTTP, "url": "https://user:secret@example.com/"}}, "#/target/url"),
    ({"target": {**HTTP, "url": "https://example.com:99999/"}}, "#/target/url"),
    ({"target": {**HTTP, "url": "https://[::1/"}}, "#/target/url"),
    ({"target": {**HTTP, "url": "https://example.com/a b"}}, "#/target/url"),
    ({"target": {**HTTP, "url": "https://example.com/\r\nX: y"}}, "#/target/url"),
    ({"target": {**HTTP, "url": "https://bücher.example/"}}, "#/target/url"),
    ({"target": {**HTTP, "url": "https://example.com/#part"}}, "#/target/url"),
    ({"target": {**HTTP, "url": "https://example.com/" + "a" * 2048}}, "#/target/url"),
    ({"target": {**HTTP, "method": "TRACE"}}, "#/target/method"),
    ({"target": {**HTTP, "headers": ["a"]}}, "#/target/headers"),
    ({"target": {**HTTP, "headers": {"X-A": 7}}}, "#/target/headers/X-A"),
    ({"target": {**HTTP, "headers": {"X A": "b"}}}, "#/target/headers/X A"),
    ({"target": {**HTTP, "headers": {"X-A": "b\r\nX-B: c"}}}, "#/target/headers/X-A"),
    ({"target": {**HTTP, "headers": {"Host": "b"}}}, "#/target/headers/Host"),
    ({"target": {**HTTP, "headers": {"Transfer-Encoding": "b"}}}, "#/target/headers/Transfer-Encoding"),
    ({"target": {**HTTP, "headers": {"webhook-id": "b"}}}, "#/target/headers/webhook-id"),
    ({"target": {**HTTP, "headers": {"Carillon-Slot": "b"}}}, "#/target/headers/Carillon-Slot"),
    ({"target": {**HTTP, "headers": {"Authorization": "Bearer x"}}}, "#/target/headers/Authorization"),
    ({"target": {**HTTP, "headers": {"X-A": "b", "x-a": "c"}}}, "#/target/headers/x-a"),
    ({"target": {**HTTP, "headers": {f"X-{number}": "b" for number in range(51)}}}, "#/target/headers"),
    ({"target": {**HTTP, "headers": {"X-A": "b" * 9000}}}, "#/target/headers"),
    ({"target": {**HTTP, "uri": "x"}}, "#/target/uri"),
    ({"target": {**HTTP, "auth": {"secret_ref": "arn:aws:x"}}}, "#/target/auth/secret_ref"),
    ({"target": {**HTTP, "url": "https://{{run_id}}.example.com/"}}, "#/target/url"),
    ({"target": {**HTTP, "url": "https://example.com/{{ runid }}"}}, "#/target/url"),
    ({"target": {**HTTP, "headers": {"X-Run": "{{run}}"}}}, "#/target/headers/X-Run"),
    ({"target": {**HTTP, "url": "http://%31%36%39.254.169.254/"}}, "#/target/url"),
    ({"target": {**HTTP, "url": "http://example.com%00.evil.example/"}}, "#/target/url"),
    ({"target": {**HTTP, "url": "https://example.com/{{run_id}}", "templates": False}}, "#/target/url"),
    ({"target": {**HTTP, "templates": "no"}}, "#/target/templates"),
    ({"target": {**HTTP, "body": {"a": 1}}}, "#/target/body"),
    ({"target": {**HTTP, "success": "ok"}}, "#/target/success"),
    ({"target": {**HTTP, "connect_timeout": "PT31S"}}, "#/target/connect_timeout"),
    ({"target": {**HTTP, "max_redirects": 6}}, "#/target/max_redirects"),
    ({"target": {"type": "handler"}}, "#/target/name"),
    ({"target": {"type": "handler", "name": "os; rm"}}, "#/target/name"),
    ({"target": {"type": "handler", "name": "echo", "url": "https://example.com"}}, "#/target/url"),
    ({"payload": "\ud800"}, "#/payload"),
    ({"payload": {"a": ["\udfff"]}}, "#/payload/a/0"),
    ({"payload": {"slots": ["{{slot}}", "{{ next_slot }}"]}}, "#/payload/slots/1"),
    ({"payload": NESTED}, "#/payload/0/0"),
    ({"lane": "catchup"}, "#/lane"),
    ({"lane": "mine"}, "#/lane"),
    ({"timeout": "PT0.999S"}, "#/timeout"),
    ({"timeout": "PT11H0.001S"}, "#/timeout"),
    ({"timeout": 60}, "#/timeout"),
    ({"timeout": "P1Y"}, "#/timeout"),
    ({"retry": {"max_attempts": 0}}, "#/retry/max_attempts"),
    ({"retry": {"max_attempts": 101}}, "#/retry/max_attempts"),
    ({"retry": {"factor": 0.5}}, "#/retry/factor"),
    ({"retry": {"factor": 1e9}}, "#/retry/factor"),
    ({"retry": {"cap": "P8D"}}, "#/retry/cap"),
    ({"retry": {"max_age": "P8D"}}, "#/retry/max_age"),
    ({"retry": {"retry_on": ["a b"]}}, "#/retry/retry_on/0"),
    ({"retry": {"never_on": ["x"] * 21}}, "#/retry/never_on"),
    ({"lane": "catchup"}, "#/lane"),
    ({"lane": "express"}, "#/lane"),
    ({"lane": "default", "timeout": "PT14M"}, "#/lane"),
    ({"retry": {"max_attempts": "1"}}, "#/retry/max_attempts"),
    ({"retry": {"max_attempts": True}}, "#/retry/max_attempts"),
    ({"retry": {"base": "P2D"}}, "#/retry/base"),
    ({"retry": {"attempts": 1}}, "#/retry/attempts"),
    ({"overlap": None}, "#/overlap"),
    ({"overlap": "never"}, "#/overlap"),
    ({"max_concurrent": 0}, "#/max_concurrent"),
    ({"max_concurrent": 101}, "#/max_concurrent"),
    ({"max_concurrent": "2"}, "#/max_concurrent"),
    ({"overlap": "skip", "max_concurrent": 2}, "#/max_concurrent"),
    ({"misfire": {"policy": "panic"}}, "#/misfire/policy"),
    ({"misfire": {"grace": "soon"}}, "#/misfire/grace"),
    ({"misfire": {"grace": ""}}, "#/misfire/grace"),
    ({"misfire": {"grace": "PT0S"}}, "#/misfire/grace"),
    ({"misfire": {"grace": "PT0.999S"}}, "#/misfire/grace"),
    ({"misfire": {"limit": 1001}}, "#/misfire/limit"),
    ({"misfire": {"limit": 0}}, "#/misfire/limit"),
    ({"keep_after_completion": "P367D"}, "#/keep_after_completion"),
]


@pytest.mark.parametrize(("members", "pointer"), WRONG, ids=lambda value: json.dumps(value)[:60])
def test_a_wrong_member_is_refused_by_name_with_an_example(members: dict[str, Any], pointer: str) -> None:
    document = refused(World(), {**JOB, **members})
    assert document["status"] == 400
    found = {each["pointer"]: each for each in document["errors"]}
    assert pointer in found, document
    assert found[pointer]["detail"]
    if "deeper" not in found[pointer]["detail"]:
        assert "example" in found[pointer], found[pointer]


#: The routes, besides create, that have these members.
ELSEWHERE: dict[str, tuple[str, str, dict[str, Any]]] = {
    **dict.fromkeys(["#/count", "#/after"], ("POST", "/v1/schedules/preview", {"schedule": CRON})),
    **dict.fromkeys(["#/from", "#/to", "#/dry_run"], ("POST", f"{PATH}/backfills", {"from": "2026-11-20T00:00:00Z"})),
    **dict.fromkeys(["#/scopes", "#/expires_at"], ("POST", "/v1/keys", {"scopes": ["read"]})),
    **dict.fromkeys(["#/error_type", "#/since", "#/until"], ("POST", "/v1/redrives", {})),
    **dict.fromkeys(["#/rate", "#/all"], ("POST", "/v1/redrives", {"all": True})),
    "#/on": ("PUT", "/v1/fleet/firing", {}),
    "#/items": ("POST", "/v1/jobs/batch", {}),
}
IN_QUERY = {"#/limit": "/v1/jobs", "#/tag": "/v1/jobs", "#/slot": f"{PATH}/explain", "#/status": "/v1/runs"}


@pytest.mark.parametrize("pointer", sorted(EXAMPLES))
def test_every_example_is_accepted_where_it_is_given(pointer: str) -> None:
    world = prepared()
    name, value = pointer.rpartition("/")[-1], EXAMPLES[pointer]
    if pointer in ELSEWHERE:
        method, path, body = ELSEWHERE[pointer]
        reply = world.send(method, path, {**body, name: value})
    elif pointer in IN_QUERY:
        reply = world.send("GET", IN_QUERY[pointer], query=f"{name}={value}")
    else:
        # The id that the example names is taken in this world.
        reply = World().send("POST", "/v1/jobs", placed(deepcopy(JOB), pointer, value))
    assert reply.status in {200, 201, 202}, reply.text


def placed(document: dict[str, Any], pointer: str, value: Any) -> Any:
    if pointer == "#":
        return value
    *parents, name = pointer.removeprefix("#/").split("/")
    inner = document
    for parent in parents:
        inner = inner.setdefault(parent, {})
    inner[name] = value
    return document


@pytest.mark.parametrize(
    ("members", "pointer"),
    [each for each in WRONG if each[1].count("/") == 2 and each[1].startswith(("#/schedule", "#/target"))],
    ids=lambda value: json.dumps(value)[:60],
)
def test_the_example_beside_a_member_of_schedule_or_target_is_accepted(members: dict[str, Any], pointer: str) -> None:
    """At its place, or, where the member itself is the fault, in place of the part that it is in."""
    world = World()
    problem = next(each for each in refused(world, {**JOB, **members})["errors"] if each["pointer"] == pointer)
    part = pointer.split("/")[1]
    at_its_place = placed({**JOB, **deepcopy(members)}, pointer, problem["example"])
    in_place_of_the_part = {**JOB, part: problem["example"]}
    replies = [world.send("POST", "/v1/jobs", body) for body in (at_its_place, in_place_of_the_part)]
    if "example" in problem and "exclude each other" not in problem["detail"]:
        assert any(reply.status == 201 for reply in replies), [problem, *replies]


def test_all_problems_are_named_at_once() -> None:
    wrong = {"schedule": {"cron": "x"}, "target": {"type": "http", "url": "z"}, "timeout": "soon"}
    document = refused(World(), {**JOB, **wrong})
    pointers = {each["pointer"] for each in document["errors"]}
    assert pointers >= {"#/schedule/cron", "#/target/url", "#/timeout"}


def test_a_misspelt_member_is_told_the_name_it_may_have_meant() -> None:
    document = refused(World(), {**JOB, "shedule": CRON})
    assert "did you mean schedule?" in document["errors"][0]["detail"]


@pytest.mark.parametrize("missing", ["schedule", "target"])
def test_a_missing_part_is_named(missing: str) -> None:
    document = refused(World(), {name: value for name, value in JOB.items() if name != missing})
    assert [each["pointer"] for each in document["errors"]] == [f"#/{missing}"]
    assert document["errors"][0]["example"]


def test_the_position_of_a_character_that_cannot_be_sent_is_told() -> None:
    """B52."""
    document = refused(World(), {**JOB, "name": "ab\x00"})
    assert "position 2" in document["errors"][0]["detail"]
    assert "'\\x00'" in document["errors"][0]["detail"]
