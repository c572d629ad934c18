from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shared.adapters.memory import MemoryJobStore
from shared.domain.errors import OutcomeUnknown
from shared.domain.instants import DAY, HOUR
from shared.ports import JobWrite, WriteOutcome
from tests.unit.api.world import CRON, HTTP, JOB, World

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
WITHOUT_ID = {"schedule": {"in": "PT5S"}, "target": HTTP}


class LosesAnswers(MemoryJobStore):
    """Writes, and then says that it does not know."""

    def write(self, change: JobWrite) -> WriteOutcome:
        super().write(change)
        raise OutcomeUnknown("jobs.write", "timed out")


class Interrupted(MemoryJobStore):
    """Something happens right before a write."""

    def __init__(self, world: World, happens: Callable[[], object]) -> None:
        super().__init__(world.tables)
        self.happens: Callable[[], object] | None = happens

    def write(self, change: JobWrite) -> WriteOutcome:
        happens, self.happens = self.happens, None
        if happens is not None:
            happens()
        return super().write(change)


def test_a_repeat_under_the_same_key_gives_the_same_answer_and_no_second_job() -> None:
    world = World()
    first = world.send("POST", "/v1/jobs", WITHOUT_ID, idempotency_key=KEY)
    before = world.contents()
    world.clock.advance(HOUR)
    again = world.send("POST", "/v1/jobs", WITHOUT_ID, idempotency_key=KEY)
    assert (again.status, again.text) == (201, first.text)
    assert again.headers == first.headers
    assert world.contents() == before


def test_in_counts_from_the_first_attempt() -> None:
    world = World()
    first = world.send("POST", "/v1/jobs", WITHOUT_ID, idempotency_key=KEY)
    world.clock.advance(2_000)
    again = world.send("POST", "/v1/jobs", WITHOUT_ID, idempotency_key=KEY)
    assert first.json["schedule"]["at"] == again.json["schedule"]["at"] == "2026-11-27T00:00:05.000Z"


def test_a_repeat_is_answered_though_the_job_has_changed_since() -> None:
    world = World()
    first = world.send("POST", "/v1/jobs", JOB, idempotency_key=KEY)
    world.send("DELETE", "/v1/jobs/nightly-report")
    again = world.send("POST", "/v1/jobs", JOB, idempotency_key=KEY)
    assert (again.status, again.text) == (201, first.text)


def test_a_repeat_of_a_creation_over_a_cancelled_job_gives_its_generation_and_revision() -> None:
    world = World()
    world.create()
    world.send("DELETE", "/v1/jobs/nightly-report")
    first = world.send("POST", "/v1/jobs", JOB, idempotency_key=KEY)
    again = world.send("POST", "/v1/jobs", JOB, idempotency_key=KEY)
    assert (first.json["revision"], again.text) == (3, first.text)


def test_order_and_blanks_make_no_other_request() -> None:
    world = World()
    world.send(
        "POST",
        "/v1/jobs",
        '{"schedule": {"in": "PT5S"}, "target": {"type": "handler", "name": "echo"}}',
        idempotency_key=KEY,
    )
    again = world.send(
        "POST", "/v1/jobs", '{"target":{"name":"echo","type":"handler"},"schedule":{"in":"PT5S"}}', idempotency_key=KEY
    )
    assert again.status == 201
    assert len(world.tables.jobs) == 1


def test_the_same_key_with_another_body_is_refused() -> None:
    world = World()
    world.send("POST", "/v1/jobs", WITHOUT_ID, idempotency_key=KEY)
    before = world.contents()
    other = world.send("POST", "/v1/jobs", {**WITHOUT_ID, "name": "other"}, idempotency_key=KEY)
    assert other.status == 422
    assert KEY in other.json["detail"]
    assert world.contents() == before


def test_the_same_key_on_another_route_is_refused() -> None:
    world = World()
    world.send("POST", "/v1/jobs", JOB, idempotency_key=KEY)
    assert world.send("POST", "/v1/jobs/nightly-report/pause", idempotency_key=KEY).status == 422


def test_quoted_and_bare_are_the_same_key() -> None:
    world = World()
    world.send("POST", "/v1/jobs", WITHOUT_ID, idempotency_key=KEY)
    assert world.send("POST", "/v1/jobs", WITHOUT_ID, idempotency_key=f'"{KEY}"').status == 201
    assert len(world.tables.jobs) == 1


@pytest.mark.parametrize("key", ["", '""', " ", "a b", "a" * 129, '"' + "a" * 129 + '"', '"a', "ü", "a\x00"])
def test_what_is_no_key_is_refused_and_writes_nothing(key: str) -> None:
    world = World()
    reply = world.send("POST", "/v1/jobs", JOB, idempotency_key=key)
    assert (reply.status, reply.pointers) == (400, ["#/Idempotency-Key"])
    assert world.tables.jobs == {}


def test_a_key_may_have_128_characters() -> None:
    assert World().send("POST", "/v1/jobs", JOB, idempotency_key="a" * 128).status == 201


def test_a_key_is_free_again_after_a_day() -> None:
    world = World()
    world.send("POST", "/v1/jobs", WITHOUT_ID, idempotency_key=KEY)
    world.clock.advance(DAY)
    assert world.send("POST", "/v1/jobs", {**WITHOUT_ID, "name": "other"}, idempotency_key=KEY).status == 201


def test_owners_do_not_share_keys() -> None:
    world = World()
    world.send("POST", "/v1/jobs", WITHOUT_ID, idempotency_key=KEY)
    assert world.send("POST", "/v1/jobs", JOB, idempotency_key=KEY, key=world.mint("globex")).status == 201


def test_after_a_lost_answer_a_repeat_finds_the_job_it_made() -> None:
    """B64."""
    world = World()
    lost = world.send(
        "POST", "/v1/jobs", WITHOUT_ID, idempotency_key=KEY, handler=world.process(jobs=LosesAnswers(world.tables))
    )
    assert lost.status == 503
    assert lost.headers["retry-after"]
    assert "same Idempotency-Key" in lost.json["detail"]
    again = world.send("POST", "/v1/jobs", WITHOUT_ID, idempotency_key=KEY)
    assert again.status == 201
    assert [job.job_id for job in world.tables.jobs.values()] == [again.json["job_id"]]


def test_of_two_requests_at_once_under_one_key_both_get_the_one_job() -> None:
    world = World()
    answers: list[Any] = []
    racing = Interrupted(world, lambda: answers.append(world.send("POST", "/v1/jobs", WITHOUT_ID, idempotency_key=KEY)))
    slower = world.send("POST", "/v1/jobs", WITHOUT_ID, idempotency_key=KEY, handler=world.process(jobs=racing))
    assert (slower.status, slower.text) == (201, answers[0].text)
    assert len(world.tables.jobs) == 1


def test_of_two_requests_at_once_for_one_id_the_slower_is_refused() -> None:
    world = World()
    racing = Interrupted(world, world.create)
    slower = world.send("POST", "/v1/jobs", {**JOB, "name": "slower"}, handler=world.process(jobs=racing))
    assert slower.status == 409
    assert world.job().name == ""


def test_a_change_under_a_key_happens_once() -> None:
    world = World()
    world.create()
    patch = {"schedule": {"every": "PT5S"}}
    lost = world.send(
        "PATCH", "/v1/jobs/nightly-report", patch, if_match='"1"', idempotency_key=KEY,
        handler=world.process(jobs=LosesAnswers(world.tables)),
    )  # fmt: skip
    assert lost.status == 503
    before = world.contents()
    again = world.send("PATCH", "/v1/jobs/nightly-report", patch, if_match='"1"', idempotency_key=KEY)
    assert (again.status, again.json["revision"]) == (200, 2)
    assert world.contents() == before


def test_a_preview_takes_no_notice_of_a_key() -> None:
    world = World()
    for count in (1, 2):
        reply = world.send("POST", "/v1/schedules/preview", {"schedule": CRON, "count": count}, idempotency_key=KEY)
        assert (reply.status, len(reply.json["items"])) == (200, count)
