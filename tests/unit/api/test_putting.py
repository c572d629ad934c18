from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from shared.domain.instants import DAY, HOUR, Instant
from shared.domain.job import JobState
from shared.ports import Completion
from tests.unit.api.test_idempotency import LosesAnswers
from tests.unit.api.world import CRON, HTTP, World

PATH = "/v1/jobs/nightly-report"
BODY: dict[str, Any] = {"schedule": CRON, "target": HTTP, "payload": {"report": "daily"}, "name": "Nightly"}


def test_a_put_creates_the_job_and_a_repeat_writes_nothing() -> None:
    world = World()
    first = world.send("PUT", PATH, BODY)
    assert (first.status, first.headers["etag"], first.headers["location"]) == (201, '"1"', PATH)
    before = world.contents()
    world.clock.advance(HOUR)
    again = world.send("PUT", PATH, BODY)
    assert (again.status, again.headers["etag"]) == (200, '"1"')
    assert world.contents() == before


def test_what_a_put_leaves_out_gets_its_default() -> None:
    world = World()
    world.send("PUT", PATH, {**BODY, "timeout": "PT5M", "tags": {"a": "b"}})
    reply = world.send("PUT", PATH, BODY)
    assert (reply.status, reply.json["timeout"], reply.json["tags"], reply.json["revision"]) == (200, "PT60S", {}, 2)


def test_a_put_does_not_resume_a_job_unless_it_says_so() -> None:
    world = World()
    world.send("PUT", PATH, BODY)
    world.send("POST", f"{PATH}/pause")
    assert world.send("PUT", PATH, {**BODY, "payload": 1}).json["state"] == "paused"
    assert world.send("PUT", PATH, {**BODY, "state": "active"}).json["state"] == "active"


def test_a_put_of_another_payload_leaves_the_entry_and_of_another_schedule_makes_a_new_generation() -> None:
    world = World()
    world.send("PUT", PATH, BODY)
    entries = world.entries()
    now = world.clock.advance(HOUR)
    world.send("PUT", PATH, {**BODY, "payload": 2})
    assert world.entries() == entries
    world.send("PUT", PATH, {**BODY, "schedule": {"every": "PT1M"}})
    assert (world.entry().generation, world.entry().next_at) == (now, now)


@pytest.mark.parametrize("schedule", [{"every": "PT5M"}, {"every": "PT5M", "max_runs": 9}, {"cron": "rate(5 minutes)"}])
def test_a_schedule_that_counts_from_when_it_is_read_is_the_same_when_it_is_put_again(schedule: dict[str, Any]) -> None:
    world = World()
    world.send("PUT", PATH, {**BODY, "schedule": schedule})
    before = world.contents()
    world.clock.advance(7 * HOUR // 60)
    assert world.send("PUT", PATH, {**BODY, "schedule": schedule}).status == 200
    assert world.contents() == before


def test_an_interval_keeps_its_slots_over_a_pause() -> None:
    world = World()
    world.send("PUT", PATH, {**BODY, "schedule": {"every": "PT5M"}})
    world.clock.advance(90_000)
    for word in ("pause", "resume"):
        world.send("POST", f"{PATH}/{word}")
    before = world.contents()
    world.send("PUT", PATH, {**BODY, "schedule": {"every": "PT5M"}})
    assert world.contents() == before


def test_a_number_of_runs_is_counted_once_though_the_job_was_paused() -> None:
    world = World()
    schedule = {"every": "PT1H", "max_runs": 3}
    world.send("PUT", PATH, {**BODY, "schedule": schedule})
    end_at = world.job().schedule.end_at
    world.clock.advance(HOUR + HOUR // 2)
    for word in ("pause", "resume"):
        world.send("POST", f"{PATH}/{word}")
    before = world.contents()

    assert world.send("PUT", PATH, {**BODY, "schedule": schedule}).status == 200
    assert world.contents() == before
    assert world.job().schedule.end_at == end_at
    world.send("PUT", PATH, {**BODY, "schedule": {**schedule, "max_runs": 4}})
    assert world.job().schedule.end_at != end_at


def test_an_in_that_is_put_again_is_moved() -> None:
    world = World()
    world.send("PUT", PATH, {**BODY, "schedule": {"in": "PT5M"}})
    world.clock.advance(60_000)
    reply = world.send("PUT", PATH, {**BODY, "schedule": {"in": "PT5M"}})
    assert reply.json["next_slots"] == ["2026-11-27T00:06:00.000Z"]


def completed(world: World, schedule: dict[str, Any]) -> None:
    assert world.send("PUT", PATH, {**BODY, "schedule": schedule}).status == 201
    job = world.job()
    world.clock.advance(HOUR)
    assert world.jobs.complete([Completion(job.job_key, job.generation, Instant(world.clock.now() + DAY))]) == [True]


def test_a_completed_job_that_is_put_again_stays_as_it_is() -> None:
    world = World()
    at = {"at": "2026-11-27T00:00:05Z"}
    completed(world, at)
    before = world.contents()
    assert world.send("PUT", PATH, {**BODY, "schedule": at}).json["state"] == "completed"
    assert world.contents() == before
    assert world.send("PUT", PATH, {**BODY, "schedule": at, "payload": 2}).status == 409
    assert world.contents() == before


@pytest.mark.parametrize("was_cancelled", [True, False])
def test_an_ended_job_that_is_to_fire_again_is_created_again(*, was_cancelled: bool) -> None:
    world = World()
    completed(world, {"at": "2026-11-27T00:00:05Z"})
    if was_cancelled:
        world.send("DELETE", PATH)
    old = world.job()
    reply = world.send("PUT", PATH, {**BODY, "schedule": {"in": "PT5M"}})
    assert (reply.status, reply.json["state"]) == (201, "active")
    assert (reply.json["revision"], world.job().generation > old.generation) == (old.revision + 1, True)


@pytest.mark.parametrize(
    ("headers", "is_there", "status"),
    [
        ({"if_none_match": "*"}, False, 201),
        ({"if_none_match": "*"}, True, 412),
        ({"if_none_match": '"1"'}, True, 400),
        ({"if_match": '"1"'}, True, 200),
        ({"if_match": '"2"'}, True, 412),
        ({"if_match": "*"}, True, 200),
        ({"if_match": "*"}, False, 412),
    ],
)
def test_preconditions_of_a_put(headers: dict[str, Any], *, is_there: bool, status: int) -> None:
    world = World()
    if is_there:
        world.create()
    before = world.contents()
    assert world.send("PUT", PATH, BODY, **headers).status == status
    if status >= 400:
        assert world.contents() == before


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("/v1/jobs/no~tildes", BODY, "#/job_id"),
        ("/v1/jobs/" + "a" * 65, BODY, "#/job_id"),
        (PATH, {**BODY, "job_id": "other"}, "#/job_id"),
        (PATH, {"target": HTTP}, "#/schedule"),
        (PATH, {**BODY, "schedule": {"at": "2020-01-01T00:00:00Z"}}, "#/schedule/at"),
        (PATH, {**BODY, "revision": 3}, "#/revision"),
    ],
)
def test_a_wrong_put_is_refused_by_name(path: str, body: dict[str, Any], pointer: str) -> None:
    world = World()
    reply = world.send("PUT", path, body)
    assert (reply.status, reply.pointers) == (400, [pointer])
    assert world.tables.jobs == {}


def test_the_id_in_the_body_may_be_that_of_the_path() -> None:
    assert World().send("PUT", PATH, {**BODY, "job_id": "nightly-report"}).status == 201


def test_twenty_puts_at_once_make_one_job() -> None:
    """B38."""
    world = World()
    with ThreadPoolExecutor(20) as threads:
        replies = list(threads.map(lambda _: world.process()(world.event("PUT", PATH, BODY), None), range(20)))
    # On a clock that stands still all write the very same job, and each may say that it did.
    assert {reply["statusCode"] for reply in replies} <= {200, 201}
    assert (world.job().revision, len(world.entries())) == (1, 1)


def test_twenty_different_puts_at_once_make_one_job_with_one_entry() -> None:
    world = World()
    bodies = [{**BODY, "schedule": {"every": f"PT{number + 1}M"}} for number in range(20)]
    with ThreadPoolExecutor(20) as threads:
        replies = list(threads.map(lambda body: world.process()(world.event("PUT", PATH, body), None), bodies))
    assert {reply["statusCode"] for reply in replies} <= {200, 201, 409}
    assert world.entry().schedule == world.job().schedule


def test_a_put_whose_answer_was_lost_is_repeated_without_effect() -> None:
    world = World()
    lost = world.send("PUT", PATH, BODY, handler=world.process(jobs=LosesAnswers(world.tables)))
    assert lost.status == 503
    before = world.contents()
    assert world.send("PUT", PATH, BODY).status == 200
    assert world.contents() == before
    assert world.job().state is JobState.ACTIVE
