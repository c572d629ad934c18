from __future__ import annotations

from typing import Any

import pytest

from functions.api.ulid import ulid
from shared.domain.access import Scope
from shared.domain.instants import DAY, HOUR, SECOND, Instant, to_rfc3339
from shared.domain.job import JobState
from shared.domain.keys import run_id_of
from shared.domain.schedules import At, Cron, Every, Misfire
from shared.ports import Completion
from tests.unit.api.world import CRON, HTTP, JOB, SHARD_COUNT, World

MEMBERS = [
    "job_id", "name", "group", "tags", "state", "state_reason", "generation", "revision", "schedule", "target",
    "payload", "lane",
    "timeout", "retry", "overlap", "max_concurrent", "misfire", "keep_after_completion", "next_slots", "last_run",
    "created_at", "created_by", "updated_at", "updated_by",
]  # fmt: skip


def test_a_created_job_is_answered_with_every_member_its_location_and_its_etag() -> None:
    world = World()
    reply = world.send("POST", "/v1/jobs", JOB)
    assert reply.status == 201
    assert reply.headers["location"] == "/v1/jobs/nightly-report"
    assert reply.headers["etag"] == '"1"'
    assert reply.headers["content-type"] == "application/json"
    assert sorted(reply.json) == sorted(MEMBERS)
    assert reply.json["next_slots"][0] == "2026-11-27T01:30:00.000Z"
    assert len(reply.json["next_slots"]) == 5
    assert reply.json["created_by"] == f"key:crl_{world.key_of(world.key_text).key_id}"


def test_a_get_answers_what_the_create_did() -> None:
    world = World()
    created = world.send("POST", "/v1/jobs", JOB)
    shown = world.send("GET", "/v1/jobs/nightly-report")
    assert (shown.status, shown.json, shown.headers["etag"]) == (200, created.json, '"1"')


def test_a_created_job_has_an_entry_under_its_first_fire() -> None:
    world = World()
    job = world.create()
    entry = world.entry()
    assert (entry.job_key, entry.generation, entry.fresh) == ("acme/nightly-report", job.generation, True)
    assert to_rfc3339(entry.next_at) == "2026-11-27T01:30:00.000Z"
    assert 0 <= entry.shard < SHARD_COUNT


@pytest.mark.parametrize(
    ("schedule", "kind"),
    [
        (CRON, Cron),
        ({"every": "PT5S"}, Every),
        ({"in": "PT5S"}, At),
        ({"at": "2026-11-27T00:00:05Z"}, At),
        ({"at": "2026-11-27T01:00:05", "timezone": "Europe/Berlin"}, At),
    ],
)
def test_each_kind_of_schedule_is_accepted(schedule: dict[str, Any], kind: type) -> None:
    world = World()
    job = world.create(schedule=schedule)
    assert isinstance(job.schedule, kind)


def test_in_counts_from_the_servers_clock_and_is_stored_as_at() -> None:
    world = World()
    job = world.create(schedule={"in": "PT5S"})
    due = Instant(world.clock.now() + 5 * SECOND)
    assert job.schedule == At(instant=due)
    assert (world.entry().run_id, world.entry().next_at) == (run_id_of(due), due)


def test_an_at_of_a_minute_ago_is_the_oldest_that_is_accepted() -> None:
    world = World()
    world.create(job_id="just", schedule={"at": to_rfc3339(Instant(world.clock.now() - 60 * SECOND))})
    late = to_rfc3339(Instant(world.clock.now() - 60 * SECOND - 1))
    reply = world.send("POST", "/v1/jobs", {**JOB, "schedule": {"at": late}})
    assert (reply.status, reply.pointers) == (400, ["#/schedule/at"])


def test_an_id_made_by_the_server_is_a_ulid() -> None:
    world = World()
    reply = world.send("POST", "/v1/jobs", {"schedule": CRON, "target": HTTP})
    assert reply.status == 201
    assert len(reply.json["job_id"]) == 26
    assert reply.headers["location"] == f"/v1/jobs/{reply.json['job_id']}"


def test_ulids_agree_with_the_specification_and_sort_by_time() -> None:
    assert ulid(Instant(1_469_918_176_385), bytes(10)) == "01ARYZ6S410000000000000000"
    assert ulid(Instant(0), b"\xff" * 10) == "0000000000ZZZZZZZZZZZZZZZZ"
    assert ulid(Instant(1), b"\xff" * 10) < ulid(Instant(2), bytes(10))
    with pytest.raises(ValueError, match="10 random bytes"):
        ulid(Instant(1), bytes(9))


def test_a_job_may_be_created_paused_and_then_has_a_tombstone() -> None:
    world = World()
    job = world.create(state="paused")
    assert job.state is JobState.PAUSED
    assert world.entry().is_tombstone
    assert world.send("GET", "/v1/jobs/nightly-report").json["next_slots"] == []


@pytest.mark.parametrize("state", ["active", "paused"])
def test_the_id_of_a_job_that_is_there_is_refused(state: str) -> None:
    world = World()
    world.create(state=state)
    before = world.contents()
    reply = world.send("POST", "/v1/jobs", JOB)
    assert reply.status == 409
    assert "nightly-report" in reply.json["detail"]
    assert state in reply.json["detail"]
    assert world.contents() == before


def test_the_id_of_a_completed_job_is_refused_until_it_is_gone() -> None:
    world = World()
    job = world.create(schedule={"in": "PT5S"})
    assert world.jobs.complete([Completion(job.job_key, job.generation, Instant(world.clock.now() + DAY))]) == [True]
    assert world.send("POST", "/v1/jobs", JOB).status == 409
    world.clock.advance(DAY)
    assert world.send("GET", "/v1/jobs/nightly-report").status == 404
    assert world.send("POST", "/v1/jobs", JOB).status == 201


def test_the_id_of_a_cancelled_job_is_free_and_generation_and_revision_go_on() -> None:
    world = World()
    first = world.create()
    world.send("DELETE", "/v1/jobs/nightly-report")
    again = world.create()
    assert again.state is JobState.ACTIVE
    assert again.generation > first.generation + 1
    assert again.revision == 3
    assert again.cancellation is None
    assert [entry.generation for entry in world.entries()] == [again.generation]


def test_owners_do_not_share_ids() -> None:
    world = World()
    world.create()
    reply = world.send("POST", "/v1/jobs", JOB, key=world.mint("globex", Scope.WRITE))
    assert reply.status == 201
    assert len(world.tables.jobs) == 2


def test_defaults_are_those_of_the_documentation() -> None:
    world = World()
    shown = world.send("POST", "/v1/jobs", {"schedule": CRON, "target": HTTP}).json
    assert shown["target"] == {
        "type": "http",
        "url": HTTP["url"],
        "method": "POST",
        "headers": {},
        "body": None,
        "auth": None,
        "success": "2xx",
        "connect_timeout": "PT5S",
        "max_redirects": 0,
        "templates": True,
    }
    assert (shown["timeout"], shown["lane"], shown["overlap"]) == ("PT60S", "default", "allow")
    assert shown["misfire"] == {"policy": "fire_once", "grace": "PT60S", "limit": 10}
    assert shown["keep_after_completion"] == "P7D"
    assert shown["retry"] == {
        "max_attempts": 5,
        "base": "PT2S",
        "factor": 2.0,
        "cap": "PT1H",
        "max_age": "P1D",
        "retry_on": [],
        "never_on": [],
    }
    assert shown["lane"] == "default"


def test_a_one_time_job_is_never_too_late_unless_it_says_so() -> None:
    world = World()
    assert world.create(job_id="a", schedule={"in": "PT5S"}).misfire.grace_ms is None
    lax = world.create(job_id="b", schedule={"in": "PT5S"}, misfire={"policy": "skip", "grace": "PT1H"})
    assert lax.misfire == Misfire(policy="skip", grace_ms=HOUR)


def test_the_default_grace_is_the_gap_to_the_next_slot_from_a_second_to_a_minute() -> None:
    world = World()
    graces = {"PT1S": "PT1S", "PT20S": "PT20S", "PT5M": "PT60S"}
    for number, (every, grace) in enumerate(graces.items()):
        world.create(job_id=f"every-{number}", schedule={"every": every}, misfire={"policy": "skip"})
        shown = world.send("GET", f"/v1/jobs/every-{number}").json["misfire"]
        assert shown == {"policy": "skip", "grace": grace, "limit": 10}


def test_a_grace_that_differs_from_slot_to_slot_is_left_out_and_stays_so() -> None:
    world = World()
    uneven = {"cron": "0,10 * * * * *", "seconds": True}
    created = world.create(job_id="uneven", schedule=uneven, misfire={"policy": "skip"})
    assert created.misfire.within_gap
    shown = world.send("GET", "/v1/jobs/uneven").json
    assert shown["misfire"] == {"policy": "skip", "limit": 10}
    world.send("PUT", "/v1/jobs/uneven", {"schedule": uneven, "target": HTTP, "misfire": shown["misfire"]})
    assert world.job("uneven").misfire == created.misfire
    fixed = {"schedule": uneven, "target": HTTP, "misfire": {"policy": "skip", "grace": "PT60S"}}
    world.send("PUT", "/v1/jobs/uneven", fixed)
    assert world.job("uneven").misfire == Misfire("skip", grace_ms=60 * SECOND)


def test_what_an_answer_shows_can_be_sent_again() -> None:
    world = World()
    read_only = {"state_reason", "generation", "revision", "next_slots", "last_run"}
    read_only |= {"created_at", "created_by", "updated_at", "updated_by"}
    for schedule in (CRON, {"every": "PT5S"}, {"in": "PT5S"}):
        shown = world.send("POST", "/v1/jobs", {"schedule": schedule, "target": HTTP}).json
        settable = {name: value for name, value in shown.items() if name not in read_only}
        again = world.send("POST", "/v1/jobs", {**settable, "job_id": None})
        assert again.status == 201, again.text
        assert again.json["next_slots"] == shown["next_slots"]


def test_the_order_of_a_payloads_members_is_kept() -> None:
    world = World()
    world.create(payload={"z": 1, "a": {"y": 2, "b": 3}})
    assert '"payload":{"z":1,"a":{"y":2,"b":3}}' in world.send("GET", "/v1/jobs/nightly-report").text


@pytest.mark.parametrize("payload", [None, 0, 1.5, "text", [], [1, None], {"deep": {"er": "ü€😀"}}, True])
def test_any_json_is_a_payload(payload: object) -> None:
    world = World()
    world.create(payload=payload)
    assert world.send("GET", "/v1/jobs/nightly-report").json["payload"] == payload


def test_what_is_empty_is_kept_and_an_empty_id_is_refused() -> None:
    """B61."""
    world = World()
    world.create(name="", tags={}, payload={})
    job = world.send("GET", "/v1/jobs/nightly-report").json
    assert (job["name"], job["tags"], job["payload"]) == ("", {}, {})

    refused = world.send("POST", "/v1/jobs", {**JOB, "job_id": ""})
    assert refused.status == 400
    assert [error["pointer"] for error in refused.json["errors"]] == ["#/job_id"]
