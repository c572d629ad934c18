"""What must hold of a ledger once everything has settled. Each rule yields a sentence for whatever breaks it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from tests.soak.ledger import Delivery, Ledger, Life, Row, to_ms

#: Around an answer: clocks of two machines, and the time of a request.
MARGIN_MS: Final = 2_000
#: A run that was claimed and read before a pause may still start; what waits longer is read again.
PAUSE_MS: Final = 2_000
#: A deletion, a pause and a new schedule drop what is late by then, and faults make it late by so much.
LATE_MS: Final = 20_000
ALIVE: Final = ("waiting", "running")
OF_SCHEDULES: Final = ("scheduled", "catch_up", "backfill")
#: Attempts that every run has whose workers die.
DEATHS_FORGIVEN: Final = 3
#: A process may grow by so much, and by so many bytes, from the first third of its samples to the last.
GROWTH: Final = 1.3
GROWTH_BYTES: Final = 48 * 2**20
SAMPLES: Final = 12

#: The rows of each job id.
Rows = Mapping[str, Sequence[Row]]


def problems(ledger: Ledger, rows: Rows, until: int) -> dict[str, list[str]]:
    """By rule; `until` is when the last slot was due that must have a row by now."""
    found = {name: list(rule(ledger, rows, until)) for name, rule in RULES.items()}
    return {name: sentences for name, sentences in found.items() if sentences}


def _lost(ledger: Ledger, rows: Rows, until: int) -> Iterator[str]:
    for life in ledger.lives:
        by_slot = {to_ms(row["slot"]): row for row in rows.get(life.job_id, ()) if row["kind"] in OF_SCHEDULES}
        gaps = [
            (to_ms(row["gap"]["first"]), to_ms(row["gap"]["last"]))
            for row in rows.get(life.job_id, ())
            if row.get("gap")
        ]
        for slot in _sure_slots(life, until):
            row = by_slot.get(slot)
            if row is None and not any(first <= slot <= last for first, last in gaps):
                yield f"{life.job_id}: slot {slot} has no row"
            elif life.is_strict and (row is None or row["status"] == "skipped"):
                yield f"{life.job_id}: slot {slot} was skipped ({row and row['reason']}), and every slot must run"


def _failed(ledger: Ledger, rows: Rows, _until: int) -> Iterator[str]:
    """Nothing is wrong with these receivers: only deaths of workers can end such a run badly."""
    for life in ledger.lives:
        if not life.is_strict or life.deletion is not None:
            continue
        for row in rows.get(life.job_id, ()):
            if row["status"] in ("failed", "timed_out") and row["attempt"] < DEATHS_FORGIVEN:
                yield f"{life.job_id}: {row['run_id']} is {row['status']} ({row['attempt']} attempts): {row['error']}"


def _unplanned(ledger: Ledger, rows: Rows, _until: int) -> Iterator[str]:
    lives = _by_job(ledger.lives)
    for job_id, found in rows.items():
        for row in found:
            slot = to_ms(row["slot"])
            if row["kind"] not in ("scheduled", "catch_up") or row["started_at"] is None:
                continue
            if not any(life.is_possible(slot, margin_ms=MARGIN_MS) for life in lives.get(job_id, ())):
                yield f"{job_id}: {row['run_id']} ran, and no schedule in force named its slot"


def _early(ledger: Ledger, rows: Rows, _until: int) -> Iterator[str]:
    for job_id, found in rows.items():
        for row in found:
            # Its `fire_at` moves on with each attempt that it waits for; no job here has a window, so the slot was it.
            if row["started_at"] is not None and to_ms(row["started_at"]) < to_ms(row["slot"]):
                yield f"{job_id}: {row['run_id']} started at {row['started_at']}, before its slot"
    for delivery in ledger.deliveries:
        if delivery.came_at < delivery.slot:
            yield f"{delivery.job_id}: {delivery.run_id} was delivered {delivery.slot - delivery.came_at} ms early"


def _twice(ledger: Ledger, _rows: Rows, _until: int) -> Iterator[str]:
    for (job_id, run_id), deliveries in _by_run(ledger.deliveries).items():
        attempts = [delivery.attempt for delivery in deliveries]
        if len(set(attempts)) < len(attempts):
            yield f"{job_id}: {run_id} delivered one attempt twice: {attempts}"
        successes = [delivery for delivery in deliveries if delivery.status is not None and delivery.status < 300]
        for first, second in pairwise(successes):
            if not _had_trouble(ledger, first.came_at, second.came_at):
                yield f"{job_id}: {run_id} succeeded twice, and nothing had happened to a worker"


def _doubled(_ledger: Ledger, rows: Rows, _until: int) -> Iterator[str]:
    """One slot is one run, whoever asks for it."""
    for job_id, found in rows.items():
        slots = Counter(row["slot"] for row in found if row["kind"] in OF_SCHEDULES and not row.get("gap"))
        yield from (f"{job_id}: slot {slot} has {count} runs" for slot, count in slots.items() if count > 1)


def _tokens(ledger: Ledger, _rows: Rows, _until: int) -> Iterator[str]:
    for (job_id, run_id), deliveries in _by_run(ledger.deliveries).items():
        for before, after in pairwise(deliveries):
            is_frozen = _had_trouble(ledger, before.came_at - MARGIN_MS, after.came_at)
            if after.token <= before.token and not is_frozen:
                yield f"{job_id}: {run_id} was delivered with token {before.token} and then {after.token}"


def _deleted(ledger: Ledger, _rows: Rows, _until: int) -> Iterator[str]:
    lives = _by_job(ledger.lives)
    for life in ledger.lives:
        if life.deletion is None:
            continue
        later = [other.asked_at for other in lives[life.job_id] if other.asked_at > life.deletion.asked_at]
        again_at = min(later, default=None)
        for delivery in ledger.deliveries:
            is_after = delivery.job_id == life.job_id and delivery.came_at > life.deletion.answered_at
            if not is_after or (again_at is not None and delivery.came_at >= again_at):
                continue
            if delivery.run_id not in life.deletion.run_ids:
                yield f"{life.job_id}: {delivery.run_id} was delivered after DELETE said {life.deletion.outcome}"


def _paused(ledger: Ledger, rows: Rows, _until: int) -> Iterator[str]:
    kinds = {(job_id, row["run_id"]): row["kind"] for job_id, found in rows.items() for row in found}
    for life in ledger.lives:
        for _, since, until in life.pauses:
            for delivery in ledger.deliveries:
                is_planned = kinds.get((delivery.job_id, delivery.run_id)) in ("scheduled", "catch_up")
                is_inside = since + PAUSE_MS < delivery.slot and (until is None or delivery.slot < until)
                if delivery.job_id == life.job_id and is_planned and is_inside:
                    yield f"{life.job_id}: {delivery.run_id} is of a slot inside a pause"


def _overlapping(ledger: Ledger, _rows: Rows, _until: int) -> Iterator[str]:
    """Of each life of an id, for the next may let its runs go on beside each other."""
    lives = _by_job(ledger.lives)
    for life in ledger.lives:
        if not life.is_exclusive:
            continue
        until = min((other.asked_at for other in lives[life.job_id] if other.asked_at > life.asked_at), default=None)
        mine = [
            each
            for each in ledger.deliveries
            if each.job_id == life.job_id and each.slot >= life.asked_at and (until is None or each.slot < until)
        ]
        for first, second in pairwise(sorted(mine, key=lambda each: each.came_at)):
            if second.came_at < first.left_at and not _had_trouble(ledger, first.came_at, second.came_at):
                yield f"{life.job_id}: {first.run_id} and {second.run_id} were called at once"


def _alive(_ledger: Ledger, rows: Rows, _until: int) -> Iterator[str]:
    for job_id, found in rows.items():
        yield from (f"{job_id}: {row['run_id']} is {row['status']}" for row in found if row["status"] in ALIVE)


def _denied(ledger: Ledger, rows: Rows, _until: int) -> Iterator[str]:
    """What was delivered is never called skipped."""
    delivered = {(delivery.job_id, delivery.run_id) for delivery in ledger.deliveries}
    for job_id, found in rows.items():
        for row in found:
            if row["status"] == "skipped" and (job_id, row["run_id"]) in delivered:
                yield f"{job_id}: {row['run_id']} was delivered, and is skipped ({row['reason']})"


def _growing(ledger: Ledger, _rows: Rows, _until: int) -> Iterator[str]:
    for process, samples in ledger.memory.items():
        third = len(samples) // 3
        if len(samples) < SAMPLES:
            continue
        before, after = median(samples[:third]), median(samples[-third:])
        if after > before * GROWTH and after - before > GROWTH_BYTES:
            yield f"{process} grew from {before / 2**20:.0f} to {after / 2**20:.0f} MB"


def _surprising(ledger: Ledger, _rows: Rows, _until: int) -> Iterator[str]:
    yield from ledger.surprises


RULES: Final[Mapping[str, Callable[[Ledger, Rows, int], Iterator[str]]]] = {
    "no slot is lost": _lost,
    "runs of good receivers succeed": _failed,
    "nothing runs that was not planned": _unplanned,
    "nothing is early": _early,
    "nothing is done twice without a take-over": _twice,
    "one slot is one run": _doubled,
    "the tokens of a run rise": _tokens,
    "a DELETE names all that still starts": _deleted,
    "no slot of a pause fires": _paused,
    "runs that exclude each other do": _overlapping,
    "nothing is alive for ever": _alive,
    "what was delivered is not called skipped": _denied,
    "memory stays flat": _growing,
    "the API answers as it says": _surprising,
}


def _sure_slots(life: Life, until: int) -> Iterator[int]:
    if life.at is not None:
        # A pause or a deletion before its time is another rule's.
        if life.at < until and life.deletion is None and not life.pauses:
            yield life.at
        return
    for window in life.windows:
        end = until if window.end_asked_at is None else min(until, window.end_asked_at - LATE_MS)
        first = -(-window.answered_at // window.period_ms) * window.period_ms
        for slot in range(first, end, window.period_ms):
            if window.is_sure(slot, margin_ms=MARGIN_MS):
                yield slot


def _by_job(lives: Sequence[Life]) -> dict[str, list[Life]]:
    found: dict[str, list[Life]] = defaultdict(list)
    for life in lives:
        found[life.job_id].append(life)
    return found


def _by_run(deliveries: Sequence[Delivery]) -> dict[tuple[str, str], list[Delivery]]:
    found: dict[tuple[str, str], list[Delivery]] = defaultdict(list)
    for delivery in sorted(deliveries, key=lambda each: each.came_at):
        found[delivery.job_id, delivery.run_id].append(delivery)
    return found


def _had_trouble(ledger: Ledger, since: int, until: int) -> bool:
    return any(begun <= until and since <= ended for begun, ended in ledger.worker_troubles)
