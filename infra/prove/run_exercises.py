"""Runs: claimed, prolonged, planned, ended, cancelled, listed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from infra.prove.exercises import OWNER, Bench, entry_of, exercise, job_of, receipt_of
from shared.domain.entry import Entry
from shared.domain.errors import ItemRefused
from shared.domain.instants import DAY, HOUR, MINUTE
from shared.domain.keys import RunKey, announced_id, job_key, run_id_of
from shared.domain.run import Attempt, Finish, Run, RunError, RunKind, RunStatus
from shared.ports.job_store import ReceiptUsed, Written
from shared.ports.run_store import FailureFilter, Heartbeat, HeartbeatAnswer, RowThere, RunFilter

#: A row holds 400 KB.
_TOO_LARGE = "x" * 410_000


def _claim(bench: Bench) -> None:
    run = _run(bench, "claimed")
    bench.expect("insert", bench.runs.insert([run]), [None])
    bench.expect("insert again", bench.runs.insert([run]), [run])
    newer = replace(run, token=2, claim_id="claim-2", lease_until=bench.later(2 * MINUTE))
    bench.expect("take over", bench.runs.take_over(newer, seen=run), None)
    bench.expect("take over what was seen before", bench.runs.take_over(replace(newer, token=3), seen=run), newer)
    bench.expect("read", bench.runs.get(run.key), newer)
    row, none = _run(bench, "recorded", status=RunStatus.SKIPPED, ended_at=bench.now), RunKey("proof/none", "x")
    bench.expect("record", bench.runs.record([row, run]), [True, False])
    bench.expect("read many", bench.runs.get_many([run.key, row.key, none]), {run.key: newer, row.key: row})


def _beat_and_finish(bench: Bench) -> None:
    run, other = _run(bench, "kept"), _run(bench, "kept", slot=1)
    bench.runs.insert([run, other])
    beat = Heartbeat(run.key, 1, bench.later(2 * MINUTE), started_at=bench.now, revision=1, progress="half")
    fenced = Heartbeat(other.key, 9, bench.later(2 * MINUTE))
    bench.expect("heartbeat", bench.runs.heartbeat([beat, fenced]), [HeartbeatAnswer.KEPT, HeartbeatAnswer.FENCED])
    ends = [_finish(bench, run), _finish(bench, other, token=9)]
    bench.expect("finish", bench.runs.finish(ends), [RunStatus.SUCCEEDED, None])
    bench.expect("finish again", bench.runs.finish(ends[:1]), [RunStatus.SUCCEEDED])
    failed = _finish(bench, other, status=RunStatus.FAILED, error=RunError("http_5xx", "503"))
    bench.expect("fail", bench.runs.finish([failed]), [RunStatus.FAILED])
    bench.expect_soon(
        "failures of the owner",
        lambda: [
            each.key for each in bench.runs.list_failures(OWNER, only=FailureFilter(job_id="kept"), limit=5).items
        ],
        [other.key],
    )


def _cancel(bench: Bench) -> None:
    run, ended = _run(bench, "cancelled"), _run(bench, "cancelled", slot=1)
    bench.runs.insert([run, ended])
    bench.runs.finish([_finish(bench, ended)])
    when: dict[str, Any] = {"at": bench.later(1), "expires_at": bench.later(DAY)}
    receipt = receipt_of(bench, "cancelled")
    asked = bench.runs.request_cancel(run.key, **when, receipt=receipt)
    bench.expect("ask with a receipt", asked and asked.cancel_requested_at, bench.later(1))
    bench.expect("ask with the same receipt", bench.runs.request_cancel(run.key, **when, receipt=receipt), asked)
    beat = Heartbeat(run.key, 1, bench.later(2 * MINUTE))
    bench.expect("heartbeat after it", bench.runs.heartbeat([beat]), [HeartbeatAnswer.CANCEL_REQUESTED])
    bench.expect("finish after it", bench.runs.finish([_finish(bench, run)]), [RunStatus.CANCELLED])
    alone = receipt_of(bench, "cancelled-late")
    late = bench.runs.request_cancel(ended.key, **when, receipt=alone)
    bench.expect("ask for the end of an ended one", late and late.status, RunStatus.SUCCEEDED)
    waiting = _waiting(bench, "cancelled", slot=2)
    bench.runs.plan(waiting, _single(bench, waiting), seen=None)
    done = bench.runs.request_cancel(waiting.key, **when)
    bench.expect("cancel one that waits", done and done.status, RunStatus.CANCELLED)
    bench.expect("of no run", bench.runs.request_cancel(RunKey("proof/none", "x"), **when), None)


def _plan(bench: Bench) -> None:
    run, receipt = _waiting(bench, "planned"), receipt_of(bench, "planned")
    entry = _single(bench, run)
    bench.expect("plan", bench.runs.plan(run, entry, seen=None, receipt=receipt), Written())
    bench.expect("the same plan again", bench.runs.plan(run, entry, seen=None, receipt=receipt), Written())
    rival = replace(run, claim_id="plan-2")
    bench.expect("another plan", bench.runs.plan(rival, entry, seen=None), RowThere(run))
    used = bench.runs.plan(_waiting(bench, "other"), entry, seen=None, receipt=replace(receipt, fingerprint="0" * 64))
    bench.expect("a plan with a used receipt", used, ReceiptUsed(receipt))
    again = replace(run, claim_id="plan-3", token=1, attempt=2)
    bench.expect("plan over what was seen", bench.runs.plan(again, entry, seen=run), Written())
    claimed = replace(again, status=RunStatus.RUNNING, token=2, claim_id="claim-1", claimed_at=bench.now)
    bench.expect("claim it", bench.runs.take_over(claimed, seen=again), None)
    wait = _finish(
        bench,
        claimed,
        status=RunStatus.WAITING,
        lease_until=bench.later(HOUR),
        attempt=3,
        attempts=(Attempt(2, bench.now, bench.later(5), "worker-1", RunError("http_5xx", "503")),),
    )
    bench.expect("postpone", bench.runs.postpone(wait, entry), RunStatus.WAITING)
    bench.expect("postpone under an old token", bench.runs.postpone(replace(wait, token=1), entry), None)


def _list(bench: Bench) -> None:
    runs = [_run(bench, "listed", slot=number * MINUTE) for number in range(4)]
    bench.runs.insert(runs)
    waiting = _waiting(bench, "listed", slot=-HOUR)
    bench.runs.plan(waiting, _single(bench, waiting), seen=None)
    bench.runs.finish([_finish(bench, runs[0])])
    key = runs[0].job_key
    found = bench.runs.between(key, since=bench.later(MINUTE), until=bench.later(3 * MINUTE))
    bench.expect("between", [run.key for run in found], [run.key for run in runs[:3]])
    page = bench.runs.list_of_job(key, limit=3)
    bench.expect("newest first", [run.key for run in page.items], [run.key for run in runs[:0:-1]])
    rest = bench.runs.list_of_job(key, limit=3, cursor=page.cursor)
    bench.expect("the next page", [run.key for run in rest.items], [runs[0].key, waiting.key])
    within = RunFilter(since=bench.later(0), until=bench.later(2 * MINUTE))
    within_page = bench.runs.list_of_job(key, only=within, limit=9)
    bench.expect("within", [run.key for run in within_page.items], [runs[1].key, runs[0].key])
    after = RunFilter(since=bench.later(2 * MINUTE))
    bench.expect("since", [run.key for run in bench.runs.list_of_job(key, only=after, limit=9).items],
                 [runs[3].key, runs[2].key])  # fmt: skip
    alive = bench.runs.alive(key, since=bench.now)
    bench.expect("alive", {run.key for run in alive}, {waiting.key, *(run.key for run in runs[1:])})
    erased = bench.runs.erase(key, limit=10)
    bench.expect("erase what has ended", (erased.count, erased.is_done), (1, False))


def _refused(bench: Bench) -> None:
    good, large = _run(bench, "sized"), _run(bench, "sized", slot=1, output=_TOO_LARGE)
    answers = bench.runs.insert([good, large])
    bench.expect("beside one that is too large", answers[0], None)
    bench.expect("one that is too large", isinstance(answers[1], ItemRefused), wanted=True)


def _run(bench: Bench, job_id: str, *, slot: int = 0, **changes: Any) -> Run:
    at = bench.later(slot)
    run = Run(
        job_key=job_key(OWNER, job_id),
        run_id=run_id_of(at),
        kind=RunKind.SCHEDULED,
        slot=at,
        fire_at=at,
        status=RunStatus.RUNNING,
        generation=bench.now,
        claim_id="claim-1",
        worker_id="worker-1",
        lease_until=bench.later(slot + MINUTE),
        claimed_at=at,
    )
    return replace(run, **changes)


def _waiting(bench: Bench, job_id: str, *, slot: int = 0) -> Run:
    plan: dict[str, Any] = {"status": RunStatus.WAITING, "token": 0, "claim_id": "plan-1", "worker_id": ""}
    return _run(bench, job_id, slot=slot, claimed_at=None, **plan)


def _single(bench: Bench, run: Run) -> Entry:
    name = f"{run.job_key}#{run.generation}#{run.run_id}"
    entry = entry_of(job_of(bench, "single"), shard=3)
    return replace(
        entry, entry_id=announced_id(run.slot, name), schedule=None, fresh=False, run_id=run.run_id, slot=run.slot
    )


def _finish(bench: Bench, run: Run, **changes: Any) -> Finish:
    return replace(Finish(run.key, run.token, RunStatus.SUCCEEDED, bench.later(5)), **changes)


EXERCISES = (
    exercise(
        "claims of runs",
        _claim,
        "runs.insert runs.take_over runs.get runs.get_many runs.record CLAIM_OF_RUN conditions.all_as_seen "
        "statements._insert_text DuplicateItem",
    ),
    exercise(
        "heartbeats and ends of runs",
        _beat_and_finish,
        "runs.heartbeat runs.finish list.failures FAILURES_OF_SLICE statements._update_text",
    ),
    exercise("requests to end a run", _cancel, "runs.request_cancel FENCE_OF_RUN"),
    exercise("runs that wait, with their entries", _plan, "runs.plan runs.postpone RUN_IS_NEW RUN_IS_HELD"),
    exercise(
        "lists of runs",
        _list,
        "runs.between runs.list_of_job runs.alive runs.list runs.listed runs.unlist runs.erase RUNS_OF_JOB "
        "RUNS_BEFORE RUNS_BETWEEN RUNS_SINCE",
    ),
    exercise("one row that is too large spoils no batch", _refused, "ValidationError"),
)
