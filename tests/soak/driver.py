"""Asks the API at random, by a seed, and writes down what was asked and answered: plain HTTP, no client of Carillon's.

A request whose outcome is unknown is sent again under its Idempotency-Key until it is known, as a good client would do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final
from uuid import uuid4

import httpx

from tests.soak.ledger import Deletion, Ledger, Life, Row, Window, to_ms
from tests.soak.receiver import BAD, GOOD, now_ms

LIVE_JOBS: Final = 20
PERIODS_MS: Final = (1_000, 2_000, 3_000, 5_000)
#: Of requests that are not answered, and of all tries together.
ANSWER_SECONDS: Final = 20.0
GIVE_UP_SECONDS: Final = 90.0
PAUSE_SECONDS: Final = 0.5
REFUSED: Final = 400
TRANSIENT: Final = frozenset((409, 429))
FAULTS: Final = 500

#: Every slot must run, however late.
PATIENT: Final = {"policy": "fire_all", "grace": None, "limit": 1000}


class Unanswered(Exception):
    """The API did not say what became of a request within GIVE_UP_SECONDS."""


@dataclass(frozen=True)
class Answered:
    status: int
    body: Any
    asked_at: int
    answered_at: int


@dataclass
class Driver:
    """`receiver` is the address of the webhooks' receiver; without one, jobs call handlers of the worker."""

    api: httpx.Client
    ledger: Ledger
    random: Random
    receiver: str | None
    prefix: str = field(default_factory=lambda: f"soak-{uuid4().hex[:6]}")
    live: list[Life] = field(default_factory=list)
    _number: int = 0

    def act(self) -> None:
        """One request, or a few that belong together."""
        if len(self.live) < LIVE_JOBS:
            self.create()
            return
        acts: list[Callable[[Life], None]] = [
            *[self.delete] * 3, *[self.pause] * 2, *[self.resume] * 4,
            self.payload, self.lane, self.period, self.run_now, self.declare, self.recreate,
        ]  # fmt: skip
        self.random.choice(acts)(self.random.choice(self.live))

    def create(self, job_id: str | None = None) -> None:
        self._number += 1
        job_id = job_id or f"{self.prefix}.{self._number}"
        behaviour = self.random.choice(GOOD * 3 + BAD) if self.receiver else ""
        is_strict = behaviour in (*GOOD, "") and self.random.random() < 0.6
        is_exclusive = not is_strict and self.random.random() < 0.3
        body: Row = {
            "job_id": job_id,
            "target": self._target(behaviour),
            "timeout": "PT4S",
            "retry": {"base": "PT1S", "cap": "PT2S", "max_attempts": 5, "max_age": "PT1M"},
        }
        if is_strict:
            body["misfire"] = PATIENT
        if is_exclusive:
            body |= self.random.choice([{"overlap": "skip"}, {"overlap": "buffer_one"}, {"max_concurrent": 1}])
        period_ms = self.random.choice(PERIODS_MS)
        is_once = self.random.random() < 0.2
        body["schedule"] = {"in": f"PT{self.random.randint(2, 8)}S"} if is_once else self._every(period_ms)
        made = self._ask("POST", "/v1/jobs", body)
        life = Life(job_id, made.asked_at, behaviour, is_strict, is_exclusive)
        if is_once:
            life.at = to_ms(made.body["schedule"]["at"])
        else:
            life.windows.append(Window(period_ms, made.asked_at, made.answered_at))
        self.ledger.lives.append(life)
        self.live.append(life)

    def delete(self, life: Life) -> None:
        gone = self._ask("DELETE", f"/v1/jobs/{life.job_id}")
        self._end_window(life, gone)
        self._end_pause(life, gone.asked_at)
        body = gone.body
        life.deletion = Deletion(gone.asked_at, gone.answered_at, body["outcome"], tuple(body["run_ids"]))
        self.live.remove(life)

    def recreate(self, life: Life) -> None:
        self.delete(life)
        self.create(life.job_id)

    def pause(self, life: Life) -> None:
        if self._has_ended(life) or (life.pauses and life.pauses[-1][2] is None):
            return
        paused = self._ask("POST", f"/v1/jobs/{life.job_id}/pause", may_refuse=life.at is not None)
        if paused.status >= REFUSED:
            return
        self._end_window(life, paused)
        life.pauses.append((paused.asked_at, paused.answered_at, None))

    def resume(self, life: Life) -> None:
        if not life.pauses or life.pauses[-1][2] is not None:
            return
        resumed = self._ask("POST", f"/v1/jobs/{life.job_id}/resume", may_refuse=life.at is not None)
        self._end_pause(life, resumed.asked_at)
        if life.at is None:
            life.windows.append(Window(life.windows[-1].period_ms, resumed.asked_at, resumed.answered_at))

    def payload(self, life: Life) -> None:
        """Moves no slot."""
        self._patch(life, {"payload": {"n": self.random.randint(0, 9)}})

    def lane(self, life: Life) -> None:
        """Moves no slot."""
        self._patch(life, {"timeout": self.random.choice(["PT4S", "PT5S"]), "name": f"renamed {life.job_id}"})

    def period(self, life: Life) -> None:
        if life.at is not None or (life.pauses and life.pauses[-1][2] is None):
            return
        period_ms = self.random.choice(PERIODS_MS)
        if period_ms == life.windows[-1].period_ms:
            return
        changed = self._patch(life, {"schedule": self._every(period_ms)})
        self._end_window(life, changed)
        life.windows.append(Window(period_ms, changed.asked_at, changed.answered_at))

    def declare(self, life: Life) -> None:
        """What is declared already, again: changes nothing."""
        shown = self._ask("GET", f"/v1/jobs/{life.job_id}")
        members = (
            "target",
            "schedule",
            "misfire",
            "overlap",
            "max_concurrent",
            "retry",
            "timeout",
            "payload",
            "name",
            "lane",
        )
        again = self._ask(
            "PUT", f"/v1/jobs/{life.job_id}", {name: shown.body[name] for name in members}, may_refuse=True
        )
        if again.status < REFUSED and again.body["state"] == shown.body["state"]:
            changed = [name for name in ("generation", "revision") if again.body[name] != shown.body[name]]
            if changed:
                self.ledger.surprises.append(f"{life.job_id}: declaring it again changed its {' and '.join(changed)}")

    def run_now(self, life: Life) -> None:
        self._ask("POST", f"/v1/jobs/{life.job_id}/runs", {}, may_refuse=True)

    # At the end.

    def stop(self) -> None:
        """Deletes what recurs."""
        for life in list(self.live):
            if life.at is None:
                self.delete(life)

    def rows(self) -> dict[str, list[Row]]:
        """Of every job there was."""
        found = {}
        for job_id in sorted({life.job_id for life in self.ledger.lives}):
            found[job_id] = self._pages(f"/v1/jobs/{job_id}/runs")
        return found

    def _pages(self, path: str) -> list[Row]:
        items: list[Row] = []
        cursor: str | None = None
        while True:
            query = {"limit": "200"} | ({"cursor": cursor} if cursor else {})
            page = self._ask("GET", path, query=query, may_refuse=True)
            if page.status >= REFUSED:
                return items
            items += page.body["items"]
            cursor = page.body["next_cursor"]
            if cursor is None:
                return items

    def _patch(self, life: Life, patch: Row) -> Answered:
        return self._ask("PATCH", f"/v1/jobs/{life.job_id}", patch, may_refuse=life.at is not None)

    def _end_window(self, life: Life, ended: Answered) -> None:
        if life.windows and life.windows[-1].end_asked_at is None:
            life.windows[-1].end_asked_at = ended.asked_at
            life.windows[-1].end_answered_at = ended.answered_at

    def _end_pause(self, life: Life, ended_at: int) -> None:
        if life.pauses and life.pauses[-1][2] is None:
            asked_at, answered_at, _ = life.pauses[-1]
            life.pauses[-1] = (asked_at, answered_at, ended_at)

    def _has_ended(self, life: Life) -> bool:
        return life.at is not None and life.at < now_ms()

    def _target(self, behaviour: str) -> Row:
        if self.receiver is None:
            return {"type": "handler", "name": "echo"}
        return {"type": "http", "url": f"{self.receiver}/{behaviour}"}

    def _every(self, period_ms: int) -> Row:
        if self.random.random() < 0.5:
            return {"every": f"PT{period_ms // 1000}S", "anchor": "1970-01-01T00:00:00Z"}
        # Equal to it where the period divides a minute, as all of these do.
        return {"cron": f"*/{period_ms // 1000} * * * * *" if period_ms > 1_000 else "* * * * * *", "seconds": True}

    def _ask(
        self,
        method: str,
        path: str,
        body: Row | None = None,
        *,
        query: dict[str, str] | None = None,
        may_refuse: bool = False,
    ) -> Answered:
        headers = {"Idempotency-Key": uuid4().hex} if method in ("POST", "PATCH") else {}
        asked_at = now_ms()
        give_up_at = time.monotonic() + GIVE_UP_SECONDS
        said = ""
        while time.monotonic() < give_up_at:
            try:
                answer = self.api.request(
                    method, path, json=body, params=query, headers=headers, timeout=ANSWER_SECONDS
                )
            except httpx.TransportError as error:
                said = repr(error)
            else:
                said = f"{answer.status_code} {answer.text[:300]}"
                is_final = answer.status_code < FAULTS and (answer.status_code not in TRANSIENT or may_refuse)
                if is_final and answer.status_code >= REFUSED and not may_refuse:
                    self.ledger.surprises.append(f"{method} {path}: {said}")
                    raise Unanswered(said)
                if is_final:
                    return Answered(answer.status_code, answer.json(), asked_at, now_ms())
            time.sleep(PAUSE_SECONDS)
        self.ledger.surprises.append(f"{method} {path} was not answered: {said}")
        raise Unanswered(said)
