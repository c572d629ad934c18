from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from carillon.client import at, every, in_
from carillon.client.connection import path_to
from carillon.client.errors import InvalidRequest, JobEnded, JobExists, JobNotFound, NotFound, PreconditionFailed
from shared.domain.access import Scope
from tests.unit.api.world import World
from tests.unit.client.api import HTTP, NIGHTLY, client_of, end_run


def test_a_job_is_created_and_read() -> None:
    client = client_of(World())
    job = client.create_job(job_id="nightly", schedule=NIGHTLY, target=HTTP, tags={"team": "finance"}, payload=[1])
    assert (job["job_id"], job["state"], job["revision"]) == ("nightly", "active", 1)
    assert client.get_job("nightly") == job


def test_without_a_job_id_the_api_makes_one() -> None:
    client = client_of(World())
    made = client.create_job(schedule=NIGHTLY, target=HTTP)["job_id"]
    assert client.get_job(made)["job_id"] == made


def test_an_own_idempotency_key_holds_over_calls() -> None:
    world = World()
    key = 'order "7" \\ step 1'
    first = client_of(world).create_job(schedule=NIGHTLY, target=HTTP, idempotency_key=key)
    again = client_of(world).create_job(schedule=NIGHTLY, target=HTTP, idempotency_key=key)
    assert again == first
    assert len(world.tables.jobs) == 1


def test_two_calls_without_a_key_are_two_jobs() -> None:
    world = World()
    client = client_of(world)
    client.create_job(schedule=NIGHTLY, target=HTTP)
    client.create_job(schedule=NIGHTLY, target=HTTP)
    assert len(world.tables.jobs) == 2


def test_python_values_are_sent_as_the_api_reads_them() -> None:
    client = client_of(World())
    when = datetime(2027, 1, 1, 8, 0, 0, 250_000, tzinfo=UTC)
    job = client.create_job(
        schedule=at(when), target=HTTP, timeout=timedelta(minutes=2), payload={"until": when, "for": timedelta(days=1)}
    )
    assert job["next_slots"] == ["2027-01-01T08:00:00.250Z"]
    assert job["timeout"] == "PT2M"
    assert job["payload"] == {"until": "2027-01-01T08:00:00.250+00:00", "for": "PT86400.000S"}


def test_every_kind_of_schedule_is_accepted() -> None:
    client = client_of(World())
    for schedule in (
        NIGHTLY,
        at(datetime(2027, 1, 1, 9), timezone="Europe/Berlin"),  # noqa: DTZ001 - local time of the zone beside it
        in_(timedelta(seconds=1.5)),
        every("PT15M", anchor=datetime(2027, 1, 1, tzinfo=UTC), max_runs=3, exclude=[{"date": "2027-01-02"}]),
    ):
        assert client.create_job(schedule=schedule, target=HTTP)["next_slots"]


def test_put_makes_a_job_what_it_says() -> None:
    client = client_of(World())
    assert client.put_job("nightly", schedule=NIGHTLY, target=HTTP, name="one")["revision"] == 1
    assert client.put_job("nightly", schedule=NIGHTLY, target=HTTP, name="two")["revision"] == 2
    with pytest.raises(PreconditionFailed):
        client.put_job("nightly", schedule=NIGHTLY, target=HTTP, create_only=True)
    with pytest.raises(PreconditionFailed):
        client.put_job("nightly", schedule=NIGHTLY, target=HTTP, if_match=1)
    assert client.put_job("nightly", schedule=NIGHTLY, target=HTTP, if_match=2, name="three")["name"] == "three"


def test_update_changes_what_is_named() -> None:
    client = client_of(World())
    client.create_job(job_id="nightly", schedule=NIGHTLY, target=HTTP, tags={"team": "finance", "floor": "3"})
    changed = client.update_job("nightly", if_match=1, name="new", tags={"floor": None})
    assert (changed["name"], changed["tags"], changed["schedule"]["cron"]) == (
        "new",
        {"team": "finance"},
        "30 2 * * MON-FRI",
    )
    with pytest.raises(PreconditionFailed):
        client.update_job("nightly", if_match=1, name="newer")


def test_pause_and_resume() -> None:
    client = client_of(World())
    client.create_job(job_id="nightly", schedule=NIGHTLY, target=HTTP)
    assert client.pause("nightly")["state"] == "paused"
    assert client.resume("nightly")["state"] == "active"


def test_delete_says_what_became_of_the_job() -> None:
    client = client_of(World())
    client.create_job(job_id="nightly", schedule=NIGHTLY, target=HTTP)
    assert client.delete_job("nightly") == {"outcome": "cancelled_before_fire", "run_ids": [], "run_count": 0}
    with pytest.raises(JobEnded):
        client.pause("nightly")


def test_purge_goes_on_until_every_run_is_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    client = client_of(world)
    client.create_job(job_id="nightly", schedule=NIGHTLY, target=HTTP)
    made = [client.run_now("nightly")["run_id"] for _ in range(5)]
    for run_id in made[1:]:
        end_run(world, "nightly", run_id)
    monkeypatch.setattr("functions.api.jobs.MAX_ERASED_RUNS", 2)
    assert client.delete_job("nightly", purge=True)["purge"] == {"erased_runs": 4, "is_done": False}
    end_run(world, "nightly", made[0])
    assert client.delete_job("nightly", purge=True)["purge"] == {"erased_runs": 1, "is_done": True}
    assert world.tables.runs == {}


def test_the_list_goes_over_all_pages() -> None:
    client = client_of(World())
    for number in range(5):
        client.create_job(
            job_id=f"job-{number}", schedule=NIGHTLY, target=HTTP, group="even" if number % 2 == 0 else ""
        )
    assert {job["job_id"] for job in client.list_jobs(page_size=2)} == {f"job-{number}" for number in range(5)}
    assert {job["job_id"] for job in client.list_jobs(group="even")} == {"job-0", "job-2", "job-4"}


def test_the_list_can_be_narrowed_by_several_tags() -> None:
    client = client_of(World())
    client.create_job(job_id="both", schedule=NIGHTLY, target=HTTP, tags={"a": "1,2", "b": "x:y"})
    client.create_job(job_id="one", schedule=NIGHTLY, target=HTTP, tags={"a": "1,2"})
    found = client.list_jobs(tags={"a": "1,2", "b": "x:y"}, state="active", name_prefix="")
    assert [job["job_id"] for job in found] == ["both"]


def test_an_admin_acts_for_an_owner() -> None:
    world = World()
    client_of(world, owner="other").create_job(job_id="theirs", schedule=NIGHTLY, target=HTTP)
    with pytest.raises(JobNotFound):
        client_of(world).get_job("theirs")
    assert client_of(world, key=world.mint("other", Scope.READ)).get_job("theirs")["created_by"].startswith("key:")


def test_a_refusal_has_its_kind_and_names_the_fields() -> None:
    client = client_of(World())
    client.create_job(job_id="nightly", schedule=NIGHTLY, target=HTTP)
    with pytest.raises(JobExists):
        client.create_job(job_id="nightly", schedule=NIGHTLY, target=HTTP)
    with pytest.raises(InvalidRequest) as caught:
        client.create_job(schedule={"cron": "nonsense"}, target={"type": "pigeon"})
    problem = caught.value
    assert (problem.status, problem.kind, problem.instance) == (400, "invalid-request", "request-1")
    assert {error.pointer for error in problem.errors} == {"#/schedule/cron", "#/target/type"}
    assert all(error.detail for error in problem.errors)


@pytest.mark.parametrize("job_id", ["", ".", ".."])
def test_what_would_be_another_path_is_no_id(job_id: str) -> None:
    with pytest.raises(ValueError, match="is no id"):
        client_of(World()).delete_job(job_id)


def test_an_id_with_signs_stays_one_part_of_the_path() -> None:
    client = client_of(World())
    for job_id in ("nightly report", "nightly/runs", "nightly?purge=true"):
        with pytest.raises(NotFound):
            client.delete_job(job_id)
    assert path_to("jobs", "nightly/runs?x=1") == "/v1/jobs/nightly%2Fruns%3Fx%3D1"
