"""What is sent again, after how long, and what never is: over a scripted network, without waiting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import httpx
import pytest

from carillon.client import Client, cron, in_
from carillon.client.errors import InternalError, InvalidRequest, NoAnswer, OutcomeUnknown, TooManyRequests, Unavailable
from carillon.client.repeating import Patience
from tests.unit.api.world import World
from tests.unit.client.api import HTTP, NIGHTLY, URL, FakeTime, InProcess

HEALTH = httpx.Response(200, json={"status": "ok"})
PROBLEMS = "https://example.org/#errors-"


def saying(status: int, kind: str, **headers: str) -> httpx.Response:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, headers=sent, json={"type": PROBLEMS + kind, "status": status, "title": kind})


BUSY = saying(503, "busy")
UNKNOWN = saying(503, "outcome-unknown")
LIMITED = saying(429, "too-many-requests", Retry_After="3")
#: As other frameworks say it.
ELSEWHERE = httpx.Response(400, json={"title": "Bad", "errors": {"Name": ["required"]}})
GATEWAY = httpx.Response(503, json={"message": "Service Unavailable"})
UNSENT = httpx.ConnectError("refused")
LOST = httpx.ReadError("reset")


@dataclass
class Script(httpx.BaseTransport):
    """Answers with what stands in it, in order."""

    lines: list[httpx.Response | Exception]
    requests: list[httpx.Request] = field(default_factory=list)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        line = self.lines[min(len(self.requests), len(self.lines)) - 1]
        if isinstance(line, Exception):
            raise line
        return httpx.Response(line.status_code, headers=line.headers, content=line.content)


@dataclass
class Scene:
    script: Script
    client: Client
    time: FakeTime


def scene(*lines: httpx.Response | Exception, patience: Patience | None = None) -> Scene:
    script, time = Script(list(lines)), FakeTime()
    client = Client(URL, "crl_x_y", transport=script, time=time.seams, patience=patience or Patience())
    return Scene(script, client, time)


@pytest.mark.parametrize("failure", [UNSENT, LOST, httpx.ReadTimeout("slow"), BUSY, UNKNOWN, GATEWAY, LIMITED])
def test_a_read_is_repeated_until_it_is_answered(failure: httpx.Response | Exception) -> None:
    acted = scene(failure, failure, HEALTH)
    assert acted.client.health()["status"] == "ok"
    assert len(acted.script.requests) == 3


def test_pauses_are_random_below_a_bound_that_doubles_up_to_a_cap() -> None:
    acted = scene(LOST, patience=Patience(attempts=6, first_bound_seconds=1, cap_seconds=5))
    with pytest.raises(NoAnswer):
        acted.client.health()
    assert acted.time.slept == [0.5, 1.0, 2.0, 2.5, 2.5]


def test_retry_after_is_waited_for_and_spread() -> None:
    acted = scene(LIMITED, HEALTH, patience=Patience(first_bound_seconds=1))
    acted.client.health()
    assert acted.time.slept == [3.5]


@pytest.mark.parametrize(("seconds", "attempts"), [("60", 2), ("61", 1)])
def test_who_asks_for_more_than_a_minute_is_not_waited_for(seconds: str, attempts: int) -> None:
    acted = scene(saying(429, "too-many-requests", Retry_After=seconds), patience=Patience(attempts=2))
    with pytest.raises(TooManyRequests):
        acted.client.health()
    assert len(acted.script.requests) == attempts


def test_attempts_end() -> None:
    acted = scene(BUSY, patience=Patience(attempts=3))
    with pytest.raises(Unavailable):
        acted.client.health()
    assert len(acted.script.requests) == 3


def test_what_will_not_change_is_not_repeated() -> None:
    acted = scene(saying(500, "internal"))
    with pytest.raises(InternalError):
        acted.client.health()
    assert acted.time.slept == []


def test_a_post_carries_one_key_over_its_attempts_and_another_one_over_calls() -> None:
    acted = scene(LOST, UNKNOWN, HEALTH)
    acted.client.create_job(schedule=NIGHTLY, target=HTTP)
    acted.client.create_job(schedule=NIGHTLY, target=HTTP)
    keys = [request.headers["idempotency-key"] for request in acted.script.requests]
    assert keys[0] == keys[1] == keys[2] != keys[3]


@pytest.mark.parametrize("failure", [UNSENT, BUSY, LIMITED])
def test_what_finds_its_own_success_in_the_way_is_repeated_if_it_was_not_heard(
    failure: httpx.Response | Exception,
) -> None:
    acted = scene(failure, HEALTH)
    acted.client.delete_grant("a")
    assert len(acted.script.requests) == 2


@pytest.mark.parametrize(
    ("failure", "raised"), [(LOST, NoAnswer), (UNKNOWN, OutcomeUnknown), (GATEWAY, OutcomeUnknown)]
)
def test_what_finds_its_own_success_in_the_way_is_not_repeated_if_it_may_have_been_heard(
    failure: httpx.Response | Exception, raised: type[Exception]
) -> None:
    acted = scene(failure, HEALTH)
    with pytest.raises(raised):
        acted.client.delete_grant("a")
    assert len(acted.script.requests) == 1


@pytest.mark.parametrize(
    ("put", "attempts"),
    [
        (lambda client: client.put_job("a", schedule=cron("0 9 * * *"), target=HTTP), 2),
        (lambda client: client.put_job("a", schedule=in_("PT5S"), target=HTTP), 1),
        (lambda client: client.put_job("a", schedule=cron("0 9 * * *"), target=HTTP, if_match=1), 1),
        (lambda client: client.put_job("a", schedule=cron("0 9 * * *"), target=HTTP, create_only=True), 1),
    ],
)
def test_a_put_is_repeated_only_where_its_repeat_is_the_same(put: Callable[[Client], object], attempts: int) -> None:
    acted = scene(LOST, HEALTH)
    if attempts == 1:
        with pytest.raises(NoAnswer):
            put(acted.client)
    else:
        put(acted.client)
    assert len(acted.script.requests) == attempts


def test_a_lost_answer_tells_whether_it_may_have_happened() -> None:
    for failure, may_have_happened in ((UNSENT, False), (LOST, True)):
        with pytest.raises(NoAnswer) as caught:
            scene(failure).client.health()
        assert caught.value.may_have_happened is may_have_happened


@dataclass
class Deaf(httpx.BaseTransport):
    """The API hears every request, and the first answers are lost."""

    behind: InProcess
    losses: int

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self.behind.handle_request(request)
        self.losses -= 1
        if self.losses >= 0:
            raise LOST
        return answer


def test_a_job_whose_answers_were_lost_is_created_once() -> None:
    world, time = World(), FakeTime()
    client = Client(URL, world.key_text, transport=Deaf(InProcess(world.handler), losses=3), time=time.seams)
    job = client.create_job(schedule=NIGHTLY, target=HTTP)
    assert [stored.job_id for stored in world.tables.jobs.values()] == [job["job_id"]]


def test_a_run_whose_answers_were_lost_is_planned_once() -> None:
    world, time = World(), FakeTime()
    world.create()
    client = Client(URL, world.key_text, transport=Deaf(InProcess(world.handler), losses=3), time=time.seams)
    run = client.run_now("nightly-report")
    assert [stored.run_id for stored in world.tables.runs.values()] == [run["run_id"]]


@pytest.mark.parametrize("answer", [ELSEWHERE, httpx.Response(400, json={"errors": None})])
def test_a_refusal_by_something_else_is_a_problem_too(answer: httpx.Response) -> None:
    with pytest.raises(InvalidRequest) as refused:
        scene(answer).client.health()
    assert (refused.value.kind, refused.value.errors) == ("", ())
