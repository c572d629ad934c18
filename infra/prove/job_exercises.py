"""Jobs, their entries, and the places of their runs."""

from __future__ import annotations

from dataclasses import replace

from infra.prove.exercises import OWNER, Bench, entry_of, exercise, job_of, receipt_of
from shared.domain.instants import DAY, MINUTE
from shared.domain.job import Cancellation, CancelOutcome, JobState, next_generation
from shared.domain.keys import EntryKey, job_key
from shared.domain.overlap import Holder, Place
from shared.ports.job_store import Completion, Hold, JobFilter, JobWrite, ReceiptUsed, RevisionConflict, Written

_CLOCK_BOUND_MS = 1_000


def _write(bench: Bench) -> None:
    job, receipt = job_of(bench, "written"), receipt_of(bench, "written", job_id="written", access_id="")
    creation = JobWrite(job, None, put_entry=entry_of(job), receipt=receipt)
    bench.expect("create", bench.jobs.write(creation), Written())
    bench.expect("the same create again, with the same request token", bench.jobs.write(creation), Written())
    bench.expect("read", bench.jobs.get(job.job_key), job)
    bench.expect("read many", bench.jobs.get_many([job.job_key, "proof/none"]), {job.job_key: job})
    other = replace(job, created_by="somebody else", revision=7)
    bench.expect(
        "create over it", bench.jobs.write(JobWrite(other, None, put_entry=entry_of(other))), RevisionConflict(job)
    )
    second = job_of(bench, "second")
    bench.expect(
        "another job with its receipt",
        bench.jobs.write(JobWrite(second, None, put_entry=entry_of(second), receipt=replace(receipt, job_id="second"))),
        ReceiptUsed(receipt),
    )
    bench.expect("that one is not there", bench.jobs.get(second.job_key), None)
    changed = replace(job, generation=next_generation(job.generation, bench.now), revision=2, name="changed")
    old = entry_of(job).key
    change = JobWrite(changed, job, put_entry=entry_of(changed), remove_entries=(old, old.parked))
    bench.expect("change", bench.jobs.write(change), Written())
    stale = JobWrite(replace(changed, name="stale"), job, put_entry=None)
    bench.expect("a change of what was read before", bench.jobs.write(stale), RevisionConflict(changed))
    bench.expect_soon("count", lambda: bench.jobs.count_of_owner(OWNER, at_most=10) >= 1, wanted=True)
    bench.expect_soon(
        "list",
        lambda: changed in bench.jobs.list_of_owner(OWNER, only=JobFilter(name_prefix="changed"), limit=5).items,
        wanted=True,
    )


def _end(bench: Bench) -> None:
    job = job_of(bench, "ended")
    bench.jobs.write(JobWrite(job, None, put_entry=entry_of(job)))
    first = Cancellation(CancelOutcome.RUNNING, ("run-1",))
    second = Cancellation(CancelOutcome.ALREADY_ENDED)
    record = bench.jobs.record_cancellation
    bench.expect("record a cancellation", record(job.job_key, job.generation, first), first)
    bench.expect("record another", record(job.job_key, job.generation, second), first)
    done = Completion(job.job_key, job.generation, bench.later(DAY))
    wrong = Completion("proof/none", job.generation, bench.later(DAY))
    bench.expect("complete, and one that is not there", bench.jobs.complete([done, wrong]), [True, False])
    stored = bench.jobs.get(job.job_key)
    bench.expect("state", None if stored is None else stored.state, JobState.COMPLETED)


def _places(bench: Bench) -> None:
    job = job_of(bench, "held")
    bench.jobs.write(JobWrite(job, None, put_entry=entry_of(job)))
    until = bench.later(MINUTE)
    for place, row in ((Place.RUN, job.job_key), (Place.OWNER, job_key(OWNER, ".places.0"))):
        one, two = Hold(row, Holder("run1", 1, until), place), Hold(row, Holder("run2", 1, until), place)
        bench.expect(f"first {place}", _hold(bench, one), ())
        bench.expect(f"none left of {place}", _hold(bench, two), (one.holder,))
        again = replace(one, holder=replace(one.holder, token=2))
        bench.expect(f"the same run's newer claim in {place}", _hold(bench, again), ())
        bench.expect(f"extend {place}", bench.jobs.extend([again, two]), [True, False])
        late = bench.later(MINUTE + 2 * _CLOCK_BOUND_MS)
        bench.expect(f"the place of a silent run in {place}", _hold(bench, two, now=late), ())
        bench.jobs.release([two, again])
        bench.expect(f"after a release of {place}", _hold(bench, one), ())
    none = Hold("proof/none", Holder("run1", 1, until))
    bench.expect("of a job that is not there", _hold(bench, none), ())
    bench.expect("and none was made", bench.jobs.get("proof/none"), None)


def _hold(bench: Bench, hold: Hold, *, now: int | None = None) -> tuple[Holder, ...]:
    at = bench.now if now is None else bench.later(now - bench.now)
    return bench.jobs.hold(hold, limit=1, now=at, clock_bound_ms=_CLOCK_BOUND_MS)


def _entries(bench: Bench) -> None:
    shard = 7
    jobs = [job_of(bench, f"entry-{number}", entry_at=bench.later(number)) for number in range(2)]
    for job in jobs:
        bench.jobs.write(JobWrite(job, None, put_entry=entry_of(job, shard=shard)))
    first, second = (entry_of(job, shard=shard) for job in jobs)
    until = bench.later(2 * MINUTE)
    store = bench.entries

    def announced() -> list[str]:
        return [row.entry_id for page in store.announced(shard, since=bench.now, until=until) for row in page]

    def parked() -> list[str]:
        return [row.entry_id for page in store.parked(shard, since=bench.now, until=until) for row in page]

    bench.expect("announced", announced(), [first.entry_id, second.entry_id])
    store.clear_fresh([second.key, EntryKey(shard, "none")])
    row = store.get(second.key)
    bench.expect("not fresh any more", row is not None and not row.read().fresh, wanted=True)
    bench.expect("one that is gone was not made", store.get(EntryKey(shard, "none")), None)
    bench.expect("park", store.move(first.key, bench.later(MINUTE)), wanted=True)
    bench.expect("raise", store.move(first.key, bench.later(MINUTE + 1)), wanted=True)
    bench.expect("lower", store.move(first.key.parked, bench.later(5)), wanted=False)
    bench.expect("move none", store.move(EntryKey(shard, "~none#1"), until), wanted=False)
    bench.expect("parked", parked(), [first.key.parked.entry_id])
    store.delete([first.key.parked, second.key])
    bench.expect("deleted", (announced(), parked()), ([], []))


EXERCISES = (
    exercise(
        "a job with its entry and receipt, in one transaction",
        _write,
        "jobs.write jobs.get jobs.get_many jobs.count_of_owner list.jobs receipts.get JOB_IS_NEW JOB_IS_AS_READ "
        "RECEIPT_IS_FREE JOBS_OF_SLICE conditions.set_and_remove ConditionalCheckFailed TransactionCanceled",
    ),
    exercise(
        "the end of a job",
        _end,
        "jobs.record_cancellation jobs.complete IS_NOT_ANSWERED RECORD_CANCELLATION statements._update_text",
    ),
    exercise(
        "places of runs",
        _places,
        "jobs.hold jobs.extend jobs.release NOBODY_HELD_YET NOBODY_OF_OWNER_HELD_YET FIRST_HOLDER ROOM_IS_LEFT "
        "TAKE_PLACE KEEP_ROW job_holds._replace",
    ),
    exercise(
        "entries of a shard",
        _entries,
        "entries.announced entries.parked entries.get entries.delete entries.move entries.park entries.clear_fresh "
        "ENTRIES_ANNOUNCED ENTRIES_PARKED ENTRY_IS_THERE ENTRY_IS_EARLIER MOVE_ENTRY",
    ),
)
