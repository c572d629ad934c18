"""Each rule by which a soak is judged finds what breaks it, and finds nothing in a ledger that breaks none."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.soak.judge import MARGIN_MS, RULES, problems
from tests.soak.ledger import Deletion, Delivery, Ledger, Life, Window

START = 1_796_000_000_000
UNTIL = START + 60_000


def text(instant: int) -> str:
    seconds, ms = divmod(instant, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{ms:03d}Z"


def row(slot: int, **changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "run_id": f"run-{slot}",
        "kind": "scheduled",
        "slot": text(slot),
        "fire_at": text(slot),
        "status": "succeeded",
        "reason": None,
        "attempt": 1,
        "attempts": [{}],
        "started_at": text(slot + 3),
        "error": None,
    }
    return given | changes


def delivery(slot: int, **changes: Any) -> Delivery:
    return replace(Delivery("job", f"run-{slot}", 1, 1, slot, slot + 5, slot + 9, 200), **changes)


class Case:
    """A job each five seconds that ran as it should."""

    def __init__(self) -> None:
        self.life = Life("job", START - 3_000, "ok", is_strict=True, is_exclusive=True)
        self.life.windows.append(Window(5_000, START - 3_000, START - 2_900))
        self.slots = list(range(START, UNTIL, 5_000))
        self.rows = [row(slot) for slot in self.slots]
        self.ledger = Ledger([self.life], [delivery(slot) for slot in self.slots])

    def broken(self) -> set[str]:
        return set(problems(self.ledger, {"job": self.rows}, UNTIL))


def test_a_ledger_of_what_should_be_breaks_no_rule() -> None:
    assert Case().broken() == set()


def lose_a_row(case: Case) -> None:
    del case.rows[4]


def skip_a_strict_slot(case: Case) -> None:
    case.rows[4] |= {"status": "skipped", "reason": "misfire", "started_at": None}
    del case.ledger.deliveries[4]


def fail_a_good_receiver(case: Case) -> None:
    case.rows[4] |= {"status": "failed"}


def run_what_was_not_planned(case: Case) -> None:
    case.rows.append(row(START + 7_500))


def start_early(case: Case) -> None:
    case.rows[4] |= {"started_at": text(case.slots[4] - 1)}


def deliver_early(case: Case) -> None:
    case.ledger.deliveries[4] = delivery(case.slots[4], came_at=case.slots[4] - 1)


def repeat_an_attempt(case: Case) -> None:
    case.ledger.deliveries.append(delivery(START, token=2, came_at=START + 20, left_at=START + 21, status=500))


def succeed_twice(case: Case) -> None:
    case.ledger.deliveries.append(delivery(START, attempt=2, token=2, came_at=START + 20, left_at=START + 21))


def run_a_slot_twice(case: Case) -> None:
    case.rows.append(row(case.slots[4], run_id="another", kind="backfill"))


def repeat_a_token(case: Case) -> None:
    case.ledger.deliveries.append(delivery(START, attempt=2, came_at=START + 20, left_at=START + 21, status=500))


def deliver_after_a_delete(case: Case) -> None:
    case.life.windows[0].end_asked_at = case.life.windows[0].end_answered_at = UNTIL
    case.life.deletion = Deletion(UNTIL - 6_000, UNTIL - 5_999, "cancelled_before_fire", ())


def fire_in_a_pause(case: Case) -> None:
    case.life.pauses.append((START + 8_000, START + 8_010, START + 22_000))


def overlap(case: Case) -> None:
    case.ledger.deliveries[4] = delivery(case.slots[4], left_at=case.slots[4] + 5_100)


def stay_alive(case: Case) -> None:
    case.rows[4] |= {"status": "waiting"}


def deny_a_delivery(case: Case) -> None:
    case.life.is_strict = False
    case.rows[4] |= {"status": "skipped", "reason": "paused", "started_at": None}


def grow(case: Case) -> None:
    case.ledger.memory["worker-0 (1)"] = [100 * 2**20] * 8 + [200 * 2**20] * 8


def surprise(case: Case) -> None:
    case.ledger.surprises.append("POST /v1/jobs: 500")


@pytest.mark.parametrize(
    ("break_it", "rule"),
    [
        (lose_a_row, "no slot is lost"),
        (skip_a_strict_slot, "no slot is lost"),
        (fail_a_good_receiver, "runs of good receivers succeed"),
        (run_what_was_not_planned, "nothing runs that was not planned"),
        (start_early, "nothing is early"),
        (deliver_early, "nothing is early"),
        (repeat_an_attempt, "nothing is done twice without a take-over"),
        (succeed_twice, "nothing is done twice without a take-over"),
        (run_a_slot_twice, "one slot is one run"),
        (repeat_a_token, "the tokens of a run rise"),
        (deliver_after_a_delete, "a DELETE names all that still starts"),
        (fire_in_a_pause, "no slot of a pause fires"),
        (overlap, "runs that exclude each other do"),
        (stay_alive, "nothing is alive for ever"),
        (deny_a_delivery, "what was delivered is not called skipped"),
        (grow, "memory stays flat"),
        (surprise, "the API answers as it says"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_rule_finds_what_breaks_it(break_it: Any, rule: str) -> None:
    case = Case()
    break_it(case)
    assert rule in case.broken()


def test_every_rule_has_been_broken_here() -> None:
    marks = test_each_rule_finds_what_breaks_it.pytestmark
    assert {rule for _, rule in marks[0].args[1]} == set(RULES)


def test_a_worker_in_trouble_excuses_what_nobody_can_exclude_then() -> None:
    case = Case()
    succeed_twice(case)
    case.ledger.worker_troubles.append((START + 10, START + 15))
    assert case.broken() == set()


def test_the_next_job_of_an_id_may_let_its_runs_go_on_beside_each_other() -> None:
    case = Case()
    before = Life("job", START - 9_000, "ok", is_strict=False, is_exclusive=True)
    before.deletion = Deletion(START - 4_000, START - 3_999, "cancelled_before_fire", ())
    case.ledger.lives.insert(0, before)
    overlap(case)
    assert "runs that exclude each other do" in case.broken()
    case.life.is_exclusive = False
    assert case.broken() == set()


def test_what_nobody_can_tell_is_not_judged() -> None:
    case = Case()
    case.life.windows[0].answered_at = START + 5_000
    case.rows = case.rows[2:]
    case.ledger.deliveries = case.ledger.deliveries[2:]
    assert case.life.windows[0].is_sure(case.slots[2], margin_ms=MARGIN_MS)
    assert case.broken() == set()
