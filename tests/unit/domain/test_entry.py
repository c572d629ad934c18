from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.completion import completes
from shared.domain.entry import announce, entry_keys, entry_of, first_unsettled
from shared.domain.instants import HOUR, SECOND, Instant, to_rfc3339
from shared.domain.job import Job, JobState, first_to_come, may_run, recreated
from shared.domain.keys import EntryKey, announced_at, announced_id, run_id_of
from shared.domain.run import Run, RunKind, RunStatus
from shared.domain.schedules import fire_at, parse_schedule, slots

NOW = Instant(1_795_737_600_000)


def job(**schedule: Any) -> Job:
    return Job(
        owner_id="acme",
        job_id="x",
        schedule=parse_schedule(schedule, now=NOW),
        target={},
        generation=NOW,
        from_at=NOW,
        created_at=NOW,
        updated_at=NOW,
        created_by="test",
        updated_by="test",
    )


def at(instant: int) -> str:
    return to_rfc3339(Instant(instant))


def test_a_recurring_entry_waits_fresh_under_its_first_fire() -> None:
    entry = entry_of(job(every="PT10S", anchor=at(NOW + 3 * SECOND)), shard_count=4)
    assert (entry.next_at, entry.fresh, entry.is_single, entry.is_tombstone) == (NOW + 3 * SECOND, True, False, False)
    assert entry.entry_id == f"000{NOW + 3 * SECOND}#acme/x#{NOW}"


def test_a_one_time_entry_is_a_single_fire_even_a_little_in_the_past() -> None:
    entry = entry_of(job(at=at(NOW - 30 * SECOND)), shard_count=4)
    assert (entry.run_id, entry.slot, entry.next_at) == (run_id_of(entry.slot or NOW), NOW - 30_000, NOW - 30_000)
    assert first_unsettled(entry, NOW) == NOW - 30 * SECOND


def test_a_changed_job_announces_itself_now() -> None:
    entry = entry_of(job(every="PT1H"), shard_count=4, announce_at=NOW)
    assert entry.next_at == NOW
    assert entry_of(job(at=at(NOW - 30 * SECOND)), shard_count=4, announce_at=NOW).next_at == NOW - 30 * SECOND
    # Owed for longer, it would be looked for in vain.
    assert entry_of(job(at=at(NOW - 50 * SECOND)), shard_count=4, announce_at=Instant(NOW + HOUR)).next_at == NOW + HOUR


def test_ids_of_announced_entries_sort_by_their_instant_and_parked_ones_lie_behind_them_all() -> None:
    instants = [Instant(each) for each in (0, 9, 10, NOW, 10 * NOW, 253_402_300_799_999)]
    announced = [EntryKey(1, announced_id(each, "zz/zz#1")) for each in instants]

    assert sorted(announced) == announced
    assert [announced_at(key.entry_id) for key in announced] == instants
    assert not any(key.is_parked for key in announced)
    parked = EntryKey(1, announced_id(NOW, "00/00#1")).parked
    assert parked.is_parked
    assert parked.parked == parked
    assert announced[-1] < parked


@pytest.mark.parametrize(
    ("changed", "announce_at", "may_be_parked"),
    [
        (job(every="P1D"), None, True),
        (job(every="PT1S"), NOW, True),
        (replace(job(every="P1D"), state=JobState.COMPLETED), NOW, True),
        (replace(job(every="P1D"), state=JobState.PAUSED), NOW, False),
        (replace(job(every="P1D"), state=JobState.CANCELLED), NOW, False),
        (job(at=at(NOW + HOUR)), None, False),
        (job(at=at(NOW + HOUR)), NOW, True),
    ],
)
def test_the_entry_of_a_job_is_found_wherever_it_can_lie(
    changed: Job, announce_at: Instant | None, may_be_parked: bool
) -> None:
    announced, entry = announce(changed, shard_count=4, at=announce_at)

    assert announced == replace(changed, entry_at=entry.next_at)
    assert entry_keys(announced, shard_count=4) == ((entry.key, entry.key.parked) if may_be_parked else (entry.key,))


def test_nothing_left_to_fire_makes_a_tombstone() -> None:
    assert entry_of(replace(job(every="PT1H"), state=JobState.PAUSED), shard_count=4, announce_at=NOW).is_tombstone
    exhausted = job(every="PT1H", end_at=at(NOW + 2 * HOUR))
    assert entry_of(replace(exhausted, from_at=Instant(NOW + 3 * HOUR)), shard_count=4, announce_at=NOW).is_tombstone


def test_a_fresh_entry_starts_at_its_own_next_at_whatever_the_watermark() -> None:
    entry = entry_of(job(every="PT10S", anchor=at(NOW)), shard_count=4)
    assert first_unsettled(entry, Instant(NOW + 1_000_000)) == NOW


def test_a_settled_entry_starts_behind_the_watermark() -> None:
    entry = replace(entry_of(job(every="PT10S", anchor=at(NOW)), shard_count=4), fresh=False)
    assert first_unsettled(entry, Instant(NOW + 20_000)) == NOW + 30_000
    assert first_unsettled(entry, Instant(NOW + 19_999)) == NOW + 20_000


def test_a_moved_entry_starts_at_next_at_when_the_watermark_is_older() -> None:
    entry = entry_of(job(every="PT10S", anchor=at(NOW)), shard_count=4)
    entry = replace(entry, entry_id=entry.key.parked.entry_id, fresh=False, next_at=Instant(NOW + 50_000))
    assert first_unsettled(entry, NOW) == NOW + 50_000


def test_a_slot_before_the_watermark_that_fires_behind_it_is_not_lost() -> None:
    """Enumerated from the watermark alone, a slot whose jitter carries it over the watermark would be skipped."""
    jittered = job(every="PT60S", anchor=at(NOW), window="PT50S")
    entry = replace(entry_of(jittered, shard_count=4), fresh=False)
    for slot in (next(slots(jittered.schedule, Instant(NOW + 60_000 * k))) for k in range(50)):
        fires_at = fire_at(jittered.schedule, "acme/x", slot)
        assert first_unsettled(entry, Instant(fires_at - 1)) == slot


def why_not(
    job: Job | None,
    slot: int,
    *,
    generation: int = NOW,
    is_single_fire: bool = False,
    kind: RunKind = RunKind.SCHEDULED,
) -> str | None:
    return may_run(job, Instant(slot), generation=generation, is_single_fire=is_single_fire, kind=kind)


def test_the_definition_read_after_the_claim_decides_what_may_run() -> None:
    live = job(every="PT10S", anchor=at(NOW))
    slot = NOW + 10_000
    assert why_not(live, slot) is None
    assert why_not(None, slot) == "cancelled"
    assert why_not(replace(live, state=JobState.CANCELLED), slot, is_single_fire=True) == "cancelled"
    assert why_not(replace(live, state=JobState.PAUSED, generation=NOW + 1), slot) == "paused"
    assert why_not(live, slot + 1) == "superseded"
    assert why_not(live, slot + 1, is_single_fire=True) is None
    assert why_not(replace(live, from_at=Instant(slot + 2)), slot + 1) is None


def test_a_pause_stops_what_was_planned_before_it_and_not_what_a_person_asks_for() -> None:
    paused = replace(job(every="PT10S", anchor=at(NOW)), state=JobState.PAUSED, generation=NOW + 5)
    slot = NOW + 10_000
    assert why_not(paused, slot, is_single_fire=True) == "paused"
    assert why_not(paused, slot, is_single_fire=True, generation=NOW + 5) is None
    assert why_not(paused, slot, is_single_fire=True, kind=RunKind.MANUAL) is None
    assert why_not(paused, slot, is_single_fire=True, kind=RunKind.BACKFILL) is None


def test_what_was_planned_before_a_pause_does_not_start_after_it() -> None:
    """By generation: the clocks of those who wrote them are not compared."""
    resumed = replace(
        job(every="PT10S", anchor=at(NOW)),
        from_at=Instant(NOW + 20_000),
        generation=NOW + 9,
        resumed_generation=NOW + 7,
    )
    assert why_not(resumed, NOW + 10_000, generation=NOW + 6) == "paused"
    assert why_not(resumed, NOW + 10_000, generation=NOW + 7) is None
    assert why_not(resumed, NOW + 20_000, generation=NOW + 6) is None


@pytest.mark.parametrize("is_single_fire", [False, True])
@pytest.mark.parametrize("created_at", [NOW, NOW + 5, NOW + 99_999])
def test_what_was_planned_for_an_earlier_job_of_the_id_does_not_run(created_at: int, is_single_fire: bool) -> None:
    """Deleted and made anew: a dispatch that waited meanwhile knows another target, and another time."""
    earlier = replace(job(every="PT10S", anchor=at(NOW)), generation=NOW + 6, state=JobState.CANCELLED)
    anew = recreated(replace(job(every="PT10S", anchor=at(NOW)), created_at=Instant(created_at)), earlier)
    slot = NOW + 10_000

    assert why_not(anew, slot, generation=NOW + 6, is_single_fire=is_single_fire) == "cancelled"
    assert why_not(anew, slot, generation=anew.generation, is_single_fire=is_single_fire) is None


@pytest.mark.parametrize("is_single_fire", [False, True])
def test_rows_of_earlier_versions_know_no_first_generation(is_single_fire: bool) -> None:
    anew = replace(job(every="PT10S", anchor=at(NOW)), generation=NOW + 7, created_at=Instant(NOW + 5))
    slot = NOW + 10_000

    assert why_not(anew, slot, generation=NOW + 4, is_single_fire=is_single_fire) == "cancelled"
    assert why_not(anew, slot, generation=NOW + 5, is_single_fire=is_single_fire) is None


def test_the_end_of_a_run_of_an_earlier_job_of_the_id_completes_nothing() -> None:
    once = replace(job(at=at(NOW + 5_000)), generation=NOW + 7, first_generation=NOW + 7)
    run = Run("acme/x", "r", RunKind.SCHEDULED, Instant(NOW + 5_000), NOW, RunStatus.SUCCEEDED, NOW + 6)
    assert not completes(once, run, RunStatus.SUCCEEDED)
    assert completes(once, replace(run, generation=NOW + 7), RunStatus.SUCCEEDED)


def test_a_change_keeps_the_one_slot_that_waits_for_its_jitter() -> None:
    jittered = job(every="PT60S", anchor=at(NOW), window="PT50S")
    for slot in (next(slots(jittered.schedule, Instant(NOW + 60_000 * k))) for k in range(1, 20)):
        due = fire_at(jittered.schedule, "acme/x", slot)
        assert first_to_come(jittered, due) == slot
        assert first_to_come(jittered, Instant(due + 1)) == due + 1
        assert first_to_come(replace(jittered, from_at=Instant(slot + 1)), due) == due
