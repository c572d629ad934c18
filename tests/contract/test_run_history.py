"""How runs end, and how they are found afterwards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.domain.instants import HOUR, MINUTE, Instant
from shared.domain.run import LISTED_AFTER_MS, Attempt, Run, RunError, RunKind, RunStatus
from shared.ports.run_store import ANY_RUN, Heartbeat, RunFilter
from tests.contract.stored import stored_run
from tests.contract.stores import Stores
from tests.contract.values import NOW, SUCCEEDED, finish_of, make_run


def alive(stores: Stores, since: int = NOW) -> list[Run]:
    return stores.runs.alive("acme/job", since=Instant(since))


def test_the_runs_of_a_range_are_answered_with_the_one_before_them(stores: Stores) -> None:
    runs = [stored_run(stores, make_run(NOW + number * MINUTE)) for number in range(5)]
    manual = stored_run(stores, replace(make_run(NOW + 2 * MINUTE), run_id=f"{runs[2].run_id}-m1"))

    found = stores.runs.between("acme/job", since=Instant(NOW + MINUTE), until=Instant(NOW + 3 * MINUTE))

    assert [run.run_id for run in found] == [runs[0].run_id, runs[1].run_id, runs[2].run_id, manual.run_id]
    assert stores.runs.between("acme/job", since=NOW, until=NOW) == []


def test_a_payload_of_its_own_stays_with_a_run_that_is_taken_over(stores: Stores) -> None:
    run = stored_run(stores, make_run(payload_json='{"a":null}'))
    successor = replace(run, token=run.token + 1, claim_id="other", payload_json=None)

    assert stores.runs.take_over(successor, seen=run) is None
    found = stores.runs.get(run.key)
    assert found is not None
    assert found.payload_json == '{"a":null}'


def test_runs_are_erased_by_parts_and_alive_ones_stay(stores: Stores) -> None:
    live = stored_run(stores, make_run(NOW + 2 * MINUTE))
    for number in (0, 1, 3, 4):
        run = stored_run(stores, make_run(NOW + number * MINUTE))
        stores.runs.finish([finish_of(run)])
    stored_run(stores, make_run(job_key="acme/other"))

    first, second = stores.runs.erase("acme/job", limit=3), stores.runs.erase("acme/job", limit=30)
    assert first.count in {3, 4}
    assert (first.count + second.count, second.is_done) == (4, False)
    assert stores.runs.list_of_job("acme/job", limit=9).items == (live,)
    stores.runs.finish([finish_of(live)])
    third = stores.runs.erase("acme/job", limit=30)
    assert (third.count, third.is_done) == (1, True)
    assert stores.runs.erase("acme/job", limit=30).is_done
    assert len(stores.runs.list_of_job("acme/other", limit=9).items) == 1


def test_a_finish_stores_what_it_says_and_keeps_the_rest(stores: Stores) -> None:
    past = Attempt(1, NOW, NOW, "worker-1")
    run = stored_run(stores, make_run(token=2, attempts=(past,), started_at=Instant(1), progress="p"))
    attempt = Attempt(2, Instant(NOW + 1), Instant(NOW + 2), "worker-2", RunError("http_5xx", ""), 503)
    finish = finish_of(
        run,
        status=RunStatus.FAILED,
        revision=3,
        completion="c",
        output="",
        error=RunError("ValueError", "bad"),
        attempts=(attempt,),
        expires_at=Instant(NOW + 1),
    )

    assert stores.runs.finish([finish]) == [RunStatus.FAILED]
    assert stores.runs.get(run.key) == replace(
        run,
        status=RunStatus.FAILED,
        ended_at=finish.ended_at,
        revision=3,
        completion="c",
        output="",
        error=finish.error,
        attempts=(past, attempt),
        expires_at=finish.expires_at,
    )


@pytest.mark.parametrize("token", [1, 3])
def test_a_finish_of_another_token_is_fenced(stores: Stores, token: int) -> None:
    run = stored_run(stores, make_run(token=2))

    assert stores.runs.finish([finish_of(run, token=token)]) == [None]
    assert stores.runs.get(run.key) == run


def test_a_finish_of_no_run_creates_none(stores: Stores) -> None:
    assert stores.runs.finish([finish_of(make_run())]) == [None]
    assert stores.runs.get(make_run().key) is None


def test_the_same_finish_again_is_done_and_adds_nothing(stores: Stores) -> None:
    run = stored_run(stores, make_run())
    finish = finish_of(run, attempts=(Attempt(1, NOW, NOW, "w"),))
    stores.runs.finish([finish])
    once = stores.runs.get(run.key)

    assert stores.runs.finish([finish]) == [SUCCEEDED]
    assert stores.runs.get(run.key) == once


def test_another_finish_of_an_ended_run_is_fenced(stores: Stores) -> None:
    run = stored_run(stores, make_run())
    stores.runs.finish([finish_of(run)])

    later = finish_of(run, ended_at=Instant(NOW + 6))
    assert stores.runs.finish([later, finish_of(run, status=RunStatus.FAILED)]) == [None, None]


def test_finishes_of_a_batch_succeed_or_fail_alone(stores: Stores) -> None:
    runs = [stored_run(stores, make_run(NOW + slot)) for slot in range(60)]
    finishes = [finish_of(run, token=1 + number % 2) for number, run in enumerate(runs)]

    assert stores.runs.finish(finishes) == [SUCCEEDED, None] * 30
    assert stores.runs.finish([]) == []


def test_of_two_finishes_of_one_run_in_a_batch_the_first_counts(stores: Stores) -> None:
    run = stored_run(stores, make_run())

    answers = stores.runs.finish([finish_of(run), finish_of(run, status=RunStatus.FAILED), finish_of(run)])

    assert answers == [SUCCEEDED, None, SUCCEEDED]


def test_many_runs_are_read_by_key_and_those_that_do_not_exist_are_missing(stores: Stores) -> None:
    runs = [stored_run(stores, make_run(NOW + slot)) for slot in range(3)]
    other = stored_run(stores, make_run(job_key="acme/job2"))
    keys = [run.key for run in [*runs[:2], other]]

    assert stores.runs.get_many([]) == {}
    assert stores.runs.get_many([*keys, make_run(NOW + 9).key, keys[0]]) == {run.key: run for run in [*runs[:2], other]}


def test_more_runs_than_one_call_may_ask_for_are_read(stores: Stores) -> None:
    runs = [make_run(NOW + slot) for slot in range(120)]
    assert stores.runs.insert(runs) == [None] * 120

    assert stores.runs.get_many([run.key for run in runs]) == {run.key: run for run in runs}


def test_runs_of_a_job_are_listed_newest_first(stores: Stores) -> None:
    runs = [stored_run(stores, make_run(NOW + slot)) for slot in range(7)]
    stored_run(stores, make_run(job_key="acme/job2"))
    listed: list[Run] = []
    cursor = None
    for _ in range(4):
        page = stores.runs.list_of_job("acme/job", limit=3, cursor=cursor)
        listed += page.items
        cursor = page.cursor
        if cursor is None:
            break

    assert listed == runs[::-1]
    assert cursor is None


def test_runs_of_recent_slots_are_alive_until_they_end(stores: Stores) -> None:
    runs = [stored_run(stores, make_run(NOW + slot)) for slot in (-1, 0, 1)]
    stored_run(stores, make_run(NOW + 2, status=RunStatus.SKIPPED))
    stored_run(stores, make_run(NOW, job_key="acme/job2"))

    assert alive(stores) == runs[1:]
    stores.runs.finish([finish_of(runs[1])])
    assert alive(stores) == runs[2:]


def test_an_old_run_is_found_alive_after_its_first_heartbeat_until_it_ends(stores: Stores) -> None:
    run = stored_run(stores, make_run(NOW - HOUR))
    assert alive(stores) == []

    stores.runs.heartbeat([Heartbeat(run.key, run.token, Instant(NOW + 1), lists=True)])
    assert alive(stores) == [replace(run, lease_until=Instant(NOW + 1))]

    stores.runs.finish([finish_of(run)])
    assert alive(stores) == []


@pytest.mark.parametrize(("late_ms", "is_found"), [(LISTED_AFTER_MS, False), (LISTED_AFTER_MS + 1, True)])
def test_a_run_claimed_late_is_found_alive_at_once(stores: Stores, late_ms: int, is_found: bool) -> None:
    slot = NOW - HOUR
    run = stored_run(stores, make_run(slot, claimed_at=Instant(slot + late_ms)))

    assert alive(stores) == ([run] if is_found else [])


def test_a_late_take_over_is_found_alive_and_an_ended_one_is_not(stores: Stores) -> None:
    seen = stored_run(stores, make_run(NOW - HOUR))
    run = make_run(NOW - HOUR, token=2, claim_id="claim-2", claimed_at=NOW)

    stores.runs.take_over(run, seen=seen)

    assert alive(stores) == [run]


def test_a_waiting_run_is_alive(stores: Stores) -> None:
    run = stored_run(stores, make_run(NOW - HOUR, status=RunStatus.WAITING, lease_until=Instant(NOW + MINUTE)))

    assert alive(stores) == [run]


def test_a_recent_late_run_is_found_once(stores: Stores) -> None:
    run = stored_run(stores, make_run(claimed_at=Instant(NOW + HOUR)))

    assert alive(stores) == [run]


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        (ANY_RUN, [6, 5, 4, 3, 2, 1, 0]),
        (RunFilter(statuses=frozenset({RunStatus.SKIPPED})), [6, 4, 2, 0]),
        (RunFilter(statuses=frozenset({RunStatus.SKIPPED, RunStatus.RUNNING})), [6, 5, 4, 3, 2, 1, 0]),
        (RunFilter(kind=RunKind.MANUAL), [3]),
        (RunFilter(since=Instant(NOW + 2 * MINUTE)), [6, 5, 4, 3, 2]),
        (RunFilter(until=Instant(NOW + 2 * MINUTE)), [1, 0]),
        (RunFilter(frozenset({RunStatus.SKIPPED}), None, Instant(NOW + 1), Instant(NOW + 5 * MINUTE)), [4, 2]),
        (RunFilter(since=Instant(NOW + MINUTE), until=NOW), []),
    ],
)
@pytest.mark.parametrize("limit", [1, 2, 9])
def test_a_list_holds_the_runs_that_its_filter_admits(
    stores: Stores, only: RunFilter, expected: list[int], limit: int
) -> None:
    for number in range(7):
        status = RunStatus.RUNNING if number % 2 else RunStatus.SKIPPED
        kind = RunKind.MANUAL if number == 3 else RunKind.SCHEDULED
        stored_run(stores, make_run(NOW + number * MINUTE, status=status, kind=kind))
    seen: list[int] = []
    cursor = None
    while True:
        page = stores.runs.list_of_job("acme/job", only=only, limit=limit, cursor=cursor)
        assert len(page.items) <= limit
        seen += [(run.slot - NOW) // MINUTE for run in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == expected


def test_a_cursor_goes_on_under_another_filter(stores: Stores) -> None:
    for number in range(4):
        stored_run(stores, make_run(NOW + number * MINUTE))
    cursor = stores.runs.list_of_job("acme/job", limit=1).cursor
    for only in (RunFilter(until=Instant(NOW + MINUTE)), RunFilter(since=NOW, until=Instant(NOW + MINUTE))):
        page = stores.runs.list_of_job("acme/job", only=only, limit=9, cursor=cursor)
        assert [run.slot for run in page.items] == [NOW]
    above = RunFilter(since=Instant(NOW + 3 * MINUTE))
    assert stores.runs.list_of_job("acme/job", only=above, limit=9, cursor=cursor).items == ()


def test_a_run_that_gives_signs_of_life_soon_after_its_slot_need_not_be_listed(stores: Stores) -> None:
    run = stored_run(stores, make_run(NOW - 60 * MINUTE))
    stores.runs.heartbeat([Heartbeat(run.key, run.token, Instant(NOW))])
    assert alive(stores) == []

    stores.runs.heartbeat([Heartbeat(run.key, run.token, Instant(NOW + 1), lists=True)])
    stores.runs.heartbeat([Heartbeat(run.key, run.token, Instant(NOW + 2))])
    assert [found.lease_until for found in alive(stores)] == [NOW + 2]

    stores.runs.finish([finish_of(run, is_listed=True)])
    assert alive(stores) == []


def test_a_run_that_waited_is_found_alive_through_its_next_claim_and_not_after_its_end(stores: Stores) -> None:
    old = Instant(NOW - 60 * MINUTE)
    run = stored_run(stores, make_run(old, claimed_at=old))
    stores.runs.finish([finish_of(run, status=RunStatus.WAITING, lease_until=Instant(NOW + 1), attempt=2)])
    [waiting] = alive(stores)
    assert waiting.status is RunStatus.WAITING

    again = make_run(old, claimed_at=old, token=2, claim_id="claim-2")
    assert stores.runs.take_over(again, seen=waiting) is None
    [running] = alive(stores)
    assert (running.status, running.token) == (RunStatus.RUNNING, 2)

    stores.runs.finish([finish_of(again, is_listed=True)])
    assert alive(stores) == []
