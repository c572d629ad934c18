"""How runs are claimed: insert, take-over, heartbeat."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.domain.instants import MINUTE, Instant
from shared.domain.run import Attempt, Run, RunError, RunKind, RunStatus
from shared.domain.schedules import Gap
from shared.ports.run_store import Heartbeat
from tests.contract.races import race
from tests.contract.stored import stored_run
from tests.contract.stores import Stores
from tests.contract.values import FENCED, KEPT, NOW, finish_of, make_run


def beat_of(run: Run, **changes: object) -> Heartbeat:
    beat = Heartbeat(run.key, run.token, Instant(run.lease_until + MINUTE))
    return replace(beat, **changes)  # type: ignore[arg-type]


def test_every_field_comes_back_as_it_was(stores: Stores) -> None:
    error = RunError("http_5xx", "\U0001f680 \uffff")
    run = make_run(
        kind=RunKind.BACKFILL,
        status=RunStatus.FAILED,
        token=3,
        attempt=2,
        enqueued_at=Instant(1),
        received_at=Instant(2),
        started_at=Instant(4),
        ended_at=Instant(5),
        revision=7,
        reason="r",
        completion="c",
        output="",
        error=error,
        progress="50 %",
        attempts=(Attempt(1, None, Instant(3), "w", error, 504), Attempt(2, Instant(4), None, "", revision=7)),
        gap=Gap(Instant(1), Instant(2), 2),
        expires_at=Instant(NOW + 1_234),
    )

    stored_run(stores, run)

    assert stores.runs.get(run.key) == run


def test_a_run_without_claim_and_worker_comes_back_as_it_was(stores: Stores) -> None:
    run = make_run(claim_id="", worker_id="", claimed_at=None)

    stored_run(stores, run)

    assert stores.runs.get(run.key) == run


def test_a_run_that_is_not_there_is_none(stores: Stores) -> None:
    assert stores.runs.get(make_run().key) is None
    assert stores.runs.insert([]) == []


def test_a_second_insert_is_answered_with_the_row_that_is_there(stores: Stores) -> None:
    first = stored_run(stores, make_run(claim_id="first"))

    assert stores.runs.insert([make_run(claim_id="second")]) == [first]
    assert stores.runs.get(first.key) == first


def test_each_run_of_a_batch_succeeds_or_fails_alone(stores: Stores) -> None:
    there = [stored_run(stores, make_run(NOW + slot, claim_id="first")) for slot in range(0, 60, 2)]
    batch = [make_run(NOW + slot, claim_id="second") for slot in range(60)]

    answers = stores.runs.insert(batch)

    assert answers[0::2] == there
    assert answers[1::2] == [None] * 30
    assert [stores.runs.get(run.key) for run in batch] == [
        (there[slot // 2] if slot % 2 == 0 else batch[slot]) for slot in range(60)
    ]


def test_of_equal_keys_in_a_batch_the_first_is_put(stores: Stores) -> None:
    first, second, other = make_run(claim_id="1"), make_run(claim_id="2"), make_run(NOW + 1)

    assert stores.runs.insert([first, other, second]) == [None, None, first]
    assert stores.runs.get(first.key) == first
    assert stores.runs.insert([second, second]) == [first, first]


def test_of_many_claims_of_one_slot_exactly_one_wins(stores: Stores) -> None:
    runs = [make_run(claim_id=f"claim-{number}") for number in range(16)]

    answers = [answer for [answer] in race(lambda number: stores.runs.insert([runs[number]]))]

    assert answers.count(None) == 1
    winner = runs[answers.index(None)]
    assert answers.count(winner) == 15
    assert stores.runs.get(winner.key) == winner


def test_records_are_put_where_no_run_is(stores: Stores) -> None:
    there = stored_run(stores, make_run())
    skipped = [make_run(NOW + slot, status=RunStatus.SKIPPED, reason="misfire") for slot in range(30)]

    answers = stores.runs.record([*skipped, replace(skipped[1], reason="second")])

    assert answers == [False, *[True] * 29, False]
    assert stores.runs.record(skipped[1:2]) == [False]
    assert stores.runs.get(there.key) == there
    assert stores.runs.get(skipped[1].key) == skipped[1]
    assert stores.runs.get(skipped[29].key) == skipped[29]


def test_a_run_is_taken_over_with_its_past_attempts(stores: Stores) -> None:
    past = Attempt(1, NOW, Instant(NOW + 1), "worker-1")
    seen = stored_run(stores, make_run(attempts=(past,), progress="old"))
    run = make_run(token=2, attempt=2, claim_id="claim-2")

    assert stores.runs.take_over(run, seen=seen) is None
    assert stores.runs.get(run.key) == replace(run, attempts=(past,))


def test_attempts_that_a_take_over_repeats_are_kept_once(stores: Stores) -> None:
    past, lost = Attempt(1, NOW, NOW, "worker-1"), Attempt(2, NOW, None, "worker-2")
    seen = stored_run(stores, make_run(attempts=(past,)))

    stores.runs.take_over(make_run(token=2, claim_id="claim-2", attempts=(past, lost)), seen=seen)

    found = stores.runs.get(seen.key)
    assert found is not None
    assert found.attempts == (past, lost)


def test_a_run_claimed_without_an_id_is_taken_over(stores: Stores) -> None:
    seen = stored_run(stores, make_run(claim_id="", status=RunStatus.SKIPPED))
    run = make_run(token=2, claim_id="claim-2")

    assert stores.runs.take_over(run, seen=seen) is None
    assert stores.runs.get(run.key) == run


def test_a_run_that_another_took_over_is_answered(stores: Stores) -> None:
    seen = stored_run(stores, make_run())
    winner = make_run(token=2, claim_id="winner")
    stores.runs.take_over(winner, seen=seen)

    assert stores.runs.take_over(make_run(token=2, claim_id="late"), seen=seen) == winner
    assert stores.runs.get(seen.key) == winner


def test_the_same_take_over_again_is_done(stores: Stores) -> None:
    seen = stored_run(stores, make_run())
    run = make_run(token=2, claim_id="winner")
    stores.runs.take_over(run, seen=seen)

    assert stores.runs.take_over(run, seen=seen) is None


def test_a_run_that_ended_since_it_was_read_is_not_taken_over(stores: Stores) -> None:
    seen = stored_run(stores, make_run())
    stores.runs.finish([finish_of(seen)])

    row = stores.runs.take_over(make_run(token=2, claim_id="late"), seen=seen)

    assert row is not None
    assert row.status is RunStatus.SUCCEEDED
    assert stores.runs.get(seen.key) == row


def test_a_run_that_was_prolonged_since_it_was_read_is_not_taken_over(stores: Stores) -> None:
    seen = stored_run(stores, make_run())
    stores.runs.heartbeat([beat_of(seen)])

    row = stores.runs.take_over(make_run(token=2, claim_id="late"), seen=seen)

    assert row == replace(seen, lease_until=Instant(seen.lease_until + MINUTE))


def test_a_run_that_is_gone_is_not_taken_over(stores: Stores) -> None:
    seen = make_run()

    assert stores.runs.take_over(make_run(token=2, claim_id="late"), seen=seen) == seen
    assert stores.runs.get(seen.key) is None


def test_of_many_take_overs_exactly_one_wins(stores: Stores) -> None:
    seen = stored_run(stores, make_run())
    runs = [make_run(token=2, claim_id=f"racer-{number}") for number in range(16)]

    answers = race(lambda number: stores.runs.take_over(runs[number], seen=seen))

    assert answers.count(None) == 1
    winner = runs[answers.index(None)]
    assert answers.count(winner) == 15


def test_a_heartbeat_prolongs_the_lease_and_tells_progress(stores: Stores) -> None:
    run = stored_run(stores, make_run())
    beat = beat_of(run, started_at=Instant(NOW + 3), revision=4, progress="half")

    assert stores.runs.heartbeat([beat]) == [KEPT]
    assert stores.runs.heartbeat([beat_of(run)]) == [KEPT]
    assert stores.runs.get(run.key) == replace(
        run, lease_until=beat.lease_until, started_at=Instant(NOW + 3), revision=4, progress="half"
    )


@pytest.mark.parametrize("token", [1, 3])
def test_a_heartbeat_of_another_token_is_fenced(stores: Stores, token: int) -> None:
    run = stored_run(stores, make_run(token=2))

    assert stores.runs.heartbeat([beat_of(run, token=token)]) == [FENCED]
    assert stores.runs.get(run.key) == run


def test_a_heartbeat_of_no_run_creates_none(stores: Stores) -> None:
    assert stores.runs.heartbeat([beat_of(make_run())]) == [FENCED]
    assert stores.runs.get(make_run().key) is None


def test_a_heartbeat_of_an_ended_run_is_fenced(stores: Stores) -> None:
    run = stored_run(stores, make_run())
    stores.runs.finish([finish_of(run)])

    assert stores.runs.heartbeat([beat_of(run)]) == [FENCED]


def test_heartbeats_of_a_batch_succeed_or_fail_alone(stores: Stores) -> None:
    runs = [stored_run(stores, make_run(NOW + slot)) for slot in range(30)]
    beats = [beat_of(run, token=1 + number % 2) for number, run in enumerate(runs)]

    assert stores.runs.heartbeat(beats) == [KEPT, FENCED] * 15


def test_two_heartbeats_of_one_run_in_a_batch_take_their_turns(stores: Stores) -> None:
    run = stored_run(stores, make_run())
    beats = [beat_of(run, progress="1"), beat_of(run, token=9), beat_of(run, progress="2")]

    assert stores.runs.heartbeat(beats) == [KEPT, FENCED, KEPT]
    found = stores.runs.get(run.key)
    assert found is not None
    assert found.progress == "2"
