"""The places of a job's runs: at most so many, and only by the newest claim of each run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shared.adapters.aws.client import dynamodb_client
from shared.adapters.dynamodb.job_rows import key_of
from shared.adapters.memory import MemoryJobStore
from shared.config import TableNames
from shared.domain.instants import Instant
from shared.domain.job import Job
from shared.domain.overlap import Holder, Place
from shared.ports import Hold, JobFilter, Written
from tests.contract.faults import LOST, Faults
from tests.contract.races import race
from tests.contract.stored import stored_job
from tests.contract.stores import Stores, dynamo_stores
from tests.contract.values import NOW, change_of, make_job
from tests.emulator import aws_environment

LEASE_MS = 30_000
BOUND_MS = 90_000


def holder(run_id: str, token: int = 1, *, lease_until: int = NOW + LEASE_MS) -> Holder:
    return Holder(run_id, token, Instant(lease_until))


def held(job: Job, run_id: str, token: int = 1, *, lease_until: int = NOW + LEASE_MS, place: Place = Place.RUN) -> Hold:
    return Hold(job.job_key, holder(run_id, token, lease_until=lease_until), place)


def hold(stores: Stores, wanted: Hold, *, limit: int = 1, now: int = NOW) -> tuple[Holder, ...]:
    return stores.jobs.hold(wanted, limit=limit, now=Instant(now), clock_bound_ms=BOUND_MS)


def test_a_place_is_taken_once_and_is_free_again_when_it_is_left(stores: Stores) -> None:
    job = stored_job(stores, make_job())

    assert hold(stores, held(job, "r1")) == ()
    assert hold(stores, held(job, "r2")) == (holder("r1"),)
    stores.jobs.release([held(job, "r1")])
    assert hold(stores, held(job, "r2")) == ()
    assert hold(stores, held(job, "r1")) == (holder("r2"),)


@pytest.mark.parametrize("limit", [1, 3])
def test_of_sixteen_that_race_no_more_get_a_place_than_there_are(stores: Stores, limit: int) -> None:
    job = stored_job(stores, make_job())

    answers = race(lambda number: hold(stores, held(job, f"r{number}"), limit=limit))

    assert answers.count(()) == limit
    assert all(len(answer) == limit for answer in answers if answer)


def test_of_sixteen_that_race_for_the_places_of_the_dead_no_more_get_one_than_there_are(stores: Stores) -> None:
    job = stored_job(stores, make_job())
    for run_id in ("dead1", "dead2"):
        assert hold(stores, held(job, run_id), limit=2) == ()
    late = NOW + LEASE_MS + BOUND_MS + 1

    answers = race(lambda number: hold(stores, held(job, f"r{number}", lease_until=late + LEASE_MS), limit=2, now=late))

    assert answers.count(()) == 2


def test_a_silent_holder_keeps_its_place_up_to_the_clock_bound_and_not_longer(stores: Stores) -> None:
    job = stored_job(stores, make_job())
    hold(stores, held(job, "dead"))
    lapses_at = NOW + LEASE_MS + BOUND_MS

    assert hold(stores, held(job, "r2"), now=lapses_at) == (holder("dead"),)
    assert hold(stores, held(job, "r2", lease_until=lapses_at + LEASE_MS), now=lapses_at + 1) == ()
    assert stores.jobs.extend([held(job, "dead", lease_until=lapses_at + LEASE_MS)]) == [False]


def test_a_newer_claim_has_the_place_of_the_older_which_is_refused(stores: Stores) -> None:
    job = stored_job(stores, make_job())
    hold(stores, held(job, "r1", 1))

    assert hold(stores, held(job, "r1", 2)) == ()
    assert hold(stores, held(job, "r1", 1)) == (holder("r1", 2),)
    assert stores.jobs.extend([held(job, "r1", 1, lease_until=NOW * 2)]) == [False]
    stores.jobs.release([held(job, "r1", 1)])
    assert hold(stores, held(job, "r2")) == (holder("r1", 2),)


def test_holding_again_by_the_same_claim_prolongs(stores: Stores) -> None:
    job = stored_job(stores, make_job())
    hold(stores, held(job, "r1"))

    assert hold(stores, held(job, "r1", lease_until=NOW + 2 * LEASE_MS)) == ()
    assert hold(stores, held(job, "r2")) == (holder("r1", lease_until=NOW + 2 * LEASE_MS),)


def test_the_places_of_one_job_are_extended_and_left_in_one_call(stores: Stores) -> None:
    job = stored_job(stores, make_job())
    for run_id in ("r1", "r2"):
        hold(stores, held(job, run_id), limit=2)
    later = [held(job, run_id, lease_until=NOW + 2 * LEASE_MS) for run_id in ("r1", "none", "r2")]

    assert stores.jobs.extend(later) == [True, False, True]
    assert {each.lease_until for each in hold(stores, held(job, "r3"), limit=2)} == {NOW + 2 * LEASE_MS}
    stores.jobs.release(later)
    assert hold(stores, held(job, "r3")) == ()


def test_kinds_of_places_are_apart(stores: Stores) -> None:
    job = stored_job(stores, make_job())
    hold(stores, held(job, "r1"))

    assert hold(stores, held(job, "r2", place=Place.BUFFER)) == ()
    assert hold(stores, held(job, "r3", place=Place.BUFFER)) == (holder("r2"),)


def test_a_write_of_the_api_leaves_holders_and_a_holder_leaves_the_job(stores: Stores) -> None:
    job = stored_job(stores, make_job())
    hold(stores, held(job, "r1"))

    assert stores.jobs.get(job.job_key) == job
    change = change_of(job)
    assert stores.jobs.write(change) == Written()
    assert hold(stores, held(job, "r2")) == (holder("r1"),)
    assert stores.jobs.get(job.job_key) == change.job


def test_of_a_job_that_is_gone_nobody_holds_anything(stores: Stores) -> None:
    job = make_job("gone")

    assert hold(stores, held(job, "r1")) == ()
    assert stores.jobs.extend([held(job, "r1")]) == [False]
    stores.jobs.release([held(job, "r1")])
    assert stores.jobs.get(job.job_key) is None


def test_places_go_with_the_row_of_their_job_and_a_job_made_anew_has_none(
    stores: Stores, request: pytest.FixtureRequest
) -> None:
    job = stored_job(stores, make_job())
    hold(stores, held(job, "r1"))
    hold(stores, held(job, "r2", place=Place.BUFFER))

    _remove_row(stores, job, request)
    assert stores.jobs.extend([held(job, "r1", lease_until=NOW * 2)]) == [False]
    stored_job(stores, make_job(name="anew"))

    assert stores.jobs.extend([held(job, "r1", lease_until=NOW * 2)]) == [False]
    assert hold(stores, held(job, "r3")) == ()
    assert hold(stores, held(job, "r4", place=Place.BUFFER)) == ()


def _remove_row(stores: Stores, job: Job, request: pytest.FixtureRequest) -> None:
    """As DynamoDB does once its time is over."""
    if isinstance(stores.jobs, MemoryJobStore):
        del stores.jobs._tables.jobs[job.job_key]
        return
    client, names = request.getfixturevalue("dynamodb"), request.getfixturevalue("tables")
    client.delete_item(TableName=names.jobs, Key=key_of(job.job_key))


def of_owner(run_id: str, token: int = 1, *, row: str = "owner/.places.0", lease_until: int = NOW + LEASE_MS) -> Hold:
    return Hold(row, Holder(run_id, token, Instant(lease_until)), Place.OWNER)


def test_an_owners_row_is_made_by_the_first_who_takes_a_place_in_it(stores: Stores) -> None:
    assert stores.jobs.extend([of_owner("r1_job")]) == [False]
    assert hold(stores, of_owner("r1_job"), limit=2) == ()
    assert hold(stores, of_owner("r1_a-job_2"), limit=2) == ()
    assert {each.run_id for each in hold(stores, of_owner("r2_job"), limit=2)} == {"r1_job", "r1_a-job_2"}

    assert stores.jobs.extend([of_owner("r1_job", lease_until=NOW * 2), of_owner("r2_job")]) == [True, False]
    stores.jobs.release([of_owner("r1_a-job_2")])
    assert hold(stores, of_owner("r2_job"), limit=2) == ()


def test_of_sixteen_that_race_in_an_owners_new_row_no_more_get_a_place_than_there_are(stores: Stores) -> None:
    answers = race(lambda number: hold(stores, of_owner(f"r{number}_job"), limit=3))

    assert answers.count(()) == 3


def test_an_owners_silent_holders_lose_their_places(stores: Stores) -> None:
    hold(stores, of_owner("dead_job"))
    late = NOW + LEASE_MS + BOUND_MS + 1

    assert hold(stores, of_owner("r2_job", lease_until=late), now=late) == ()
    assert hold(stores, of_owner("dead_job", 2), now=late) == (holder("r2_job", lease_until=late),)


def test_an_owners_row_is_no_job(stores: Stores) -> None:
    hold(stores, of_owner("r1_job"))

    assert stores.jobs.list_of_owner("owner", only=JobFilter(), limit=10).items == ()
    assert stores.jobs.count_of_owner("owner", at_most=10) == 0


@pytest.fixture
def faulty(emulator_endpoint: str, tables: TableNames) -> Iterator[tuple[Stores, Faults]]:
    with aws_environment(emulator_endpoint):
        client = dynamodb_client()
    yield dynamo_stores(client, tables), Faults(client)
    client.close()


@pytest.mark.emulator
def test_a_place_whose_answer_was_lost_is_held(faulty: tuple[Stores, Faults]) -> None:
    stores, faults = faulty
    job = stored_job(stores, make_job())
    hold(stores, held(job, "r0"))
    stores.jobs.release([held(job, "r0")])
    faults.script("UpdateItem", LOST)

    assert hold(stores, held(job, "r1")) == ()
    assert hold(stores, held(job, "r2")) == (holder("r1"),)
