"""Asks at random, by a seed, for all that the API does with jobs and runs, and writes down what was answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from random import Random
from typing import Final
from uuid import uuid4

from tests.soak.asking import Answered, Asker
from tests.soak.ledger import Deletion, Ledger, Life, Row, Window, to_ms
from tests.soak.receiver import BAD, GOOD, now_ms

LIVE_JOBS: Final = 20
CREATED: Final = 201
CHANGED_MEANWHILE: Final = 412
PERIODS_MS: Final = (1_000, 2_000, 3_000, 5_000)
#: Of windows: shorter than any period that has one.
WINDOW: Final = "PT2S"
#: An API may know a key by heart for so long after it was revoked.
KEYS_KNOWN_MS: Final = 70_000
BACKFILLED_MS: Final = 20_000

#: Every slot must run, however late.
PATIENT: Final = {"policy": "fire_all", "grace": None, "limit": 1000}
POLICIES: Final = ({"policy": "skip"}, {"policy": "fire_once"}, {"policy": "fire_all"}, None)
EXCLUSIVE: Final = ({"overlap": "skip"}, {"overlap": "buffer_one"}, {"max_concurrent": 1})
#: What was skipped is not asked for again: its slot may be of no schedule, or of a pause.
ENDED: Final = ("failed", "timed_out", "cancelled")
MEMBERS: Final = (
    "target", "schedule", "misfire", "overlap", "max_concurrent", "retry", "timeout", "payload", "name", "group",
    "lane",
)  # fmt: skip


@dataclass
class Driver:
    """`receiver` is the address of the webhooks' receiver; without one, jobs call handlers of the worker."""

    asker: Asker
    random: Random
    receiver: str | None
    prefix: str = field(default_factory=lambda: f"soak-{uuid4().hex[:6]}")
    live: list[Life] = field(default_factory=list)
    _number: int = 0
    #: Text of each key that was revoked, and when.
    _revoked: list[tuple[str, int]] = field(default_factory=list)

    @property
    def ledger(self) -> Ledger:
        return self.asker.ledger

    def act(self) -> None:
        """One request, or a few that belong together."""
        if len(self.live) < LIVE_JOBS:
            self.random.choice([self.create, self.create, self.batch])()
            return
        acts: list[Callable[[Life], None]] = [
            *[self.delete] * 3, *[self.pause] * 2, *[self.resume] * 4, self.payload, self.timeout, self.period,
            self.run_now, self.declare, self.recreate, self.patch_as_read, self.run_twice_under_a_key,
            self.backfill, self.change_a_run, self.redrive, lambda _: self.use_a_key(),
        ]  # fmt: skip
        self.random.choice(acts)(self.random.choice(self.live))

    # Jobs.

    def create(self, job_id: str | None = None) -> None:
        life, body = self._drawn(job_id)
        self._created(life, self.asker.ask("POST", "/v1/jobs", body))

    def batch(self) -> None:
        drawn = [self._drawn(None) for _ in range(self.random.randint(2, 3))]
        bodies, key = [body for _, body in drawn], uuid4().hex
        made = self.asker.ask("POST", "/v1/jobs/batch", {"items": bodies}, Idempotency_Key=key)
        if any(item["status"] != CREATED for item in made.body["items"]):
            # An item may have been too many, or its outcome unknown: the repeat says what became of it.
            again = self.asker.ask("POST", "/v1/jobs/batch", {"items": bodies}, Idempotency_Key=key)
            made = replace(again, asked_at=made.asked_at)
        for (life, _), item in zip(drawn, made.body["items"], strict=True):
            if item["status"] != CREATED:
                self.ledger.surprises.append(f"POST /v1/jobs/batch: {item}")
                continue
            shown = self.asker.ask("GET", f"/v1/jobs/{life.job_id}")
            self._created(life, replace(made, body=shown.body))

    def _drawn(self, job_id: str | None) -> tuple[Life, Row]:
        self._number += 1
        job_id = job_id or f"{self.prefix}.{self._number}"
        behaviour = self.random.choice(GOOD * 3 + BAD) if self.receiver else ""
        is_strict = behaviour in (*GOOD, "") and self.random.random() < 0.6
        is_exclusive = not is_strict and self.random.random() < 0.3
        body: Row = {
            "job_id": job_id,
            "group": job_id,
            "target": self._target(behaviour),
            "timeout": "PT4S",
            "retry": {"base": "PT1S", "cap": "PT2S", "max_attempts": 5, "max_age": "PT1M"},
        }
        policy = PATIENT if is_strict else self.random.choice(POLICIES)
        if policy is not None:
            body["misfire"] = policy
        if is_exclusive:
            body |= self.random.choice(EXCLUSIVE)
        elif not is_strict and self.random.random() < 0.2:
            body["overlap"] = "cancel_other"
        is_once = self.random.random() < 0.2
        period_ms = self.random.choice(PERIODS_MS)
        body["schedule"] = {"in": f"PT{self.random.randint(2, 8)}S"} if is_once else self._every(period_ms)
        life = Life(job_id, now_ms(), behaviour, is_strict, is_exclusive, period_ms=None if is_once else period_ms)
        return life, body

    def _created(self, life: Life, made: Answered) -> None:
        life.asked_at = made.asked_at
        if life.period_ms is None:
            life.at = to_ms(made.body["schedule"]["at"])
        else:
            life.windows.append(Window(life.period_ms, made.asked_at, made.answered_at))
        self.ledger.lives.append(life)
        self.live.append(life)

    def delete(self, life: Life) -> None:
        gone = self.asker.ask("DELETE", f"/v1/jobs/{life.job_id}")
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
        if self.random.random() < 0.5:
            paused = self._changed_as_a_group(life, "pause", "paused")
            if paused is None:
                return
        else:
            paused = self.asker.ask("POST", f"/v1/jobs/{life.job_id}/pause", may_refuse=life.at is not None)
        if paused.is_refused:
            return
        self._end_window(life, paused)
        life.pauses.append((paused.asked_at, paused.answered_at, None))

    def resume(self, life: Life) -> None:
        if not life.pauses or life.pauses[-1][2] is not None:
            return
        resumed = self.asker.ask("POST", f"/v1/jobs/{life.job_id}/resume", may_refuse=life.at is not None)
        self._end_pause(life, resumed.asked_at)
        if life.at is None:
            life.windows.append(Window(life.windows[-1].period_ms, resumed.asked_at, resumed.answered_at))

    def _changed_as_a_group(self, life: Life, action: str, state: str) -> Answered | None:
        """None: the list of jobs, which lags a little, did not have it yet, or it has ended."""
        answered = self.asker.ask("POST", f"/v1/jobs:{action}", {"group": life.job_id})
        items = {item["job_id"]: item for item in answered.body["items"]}
        return answered if items.get(life.job_id, {}).get("state") == state else None

    def payload(self, life: Life) -> None:
        """Moves no slot."""
        self._patch(life, {"payload": {"n": self.random.randint(0, 9)}})

    def timeout(self, life: Life) -> None:
        """Moves no slot."""
        self._patch(life, {"timeout": self.random.choice(["PT4S", "PT5S"]), "name": f"renamed {life.job_id}"})

    def patch_as_read(self, life: Life) -> None:
        """Of two changes of what was read the second is refused."""
        shown = self.asker.ask("GET", f"/v1/jobs/{life.job_id}")
        path, tag = f"/v1/jobs/{life.job_id}", shown.etag or ""
        first = self.asker.ask("PATCH", path, {"name": uuid4().hex}, may_refuse=True, If_Match=tag)
        if first.is_refused:
            return
        second = self.asker.ask("PATCH", path, {"name": uuid4().hex}, may_refuse=True, If_Match=tag)
        if second.status != CHANGED_MEANWHILE and not self._has_ended(life):
            self.ledger.surprises.append(f"{life.job_id}: two changes of one ETag: {second.status} {second.body}")

    def period(self, life: Life) -> None:
        if life.at is not None or (life.pauses and life.pauses[-1][2] is None):
            return
        period_ms = self.random.choice(PERIODS_MS)
        if period_ms == life.windows[-1].period_ms:
            return
        # Members that a patch leaves out stay, and a window may be longer than the new period.
        nothing = {"every": None, "anchor": None, "cron": None, "seconds": None, "timezone": None, "window": None}
        changed = self._patch(life, {"schedule": nothing | self._every(period_ms)})
        self._end_window(life, changed)
        life.windows.append(Window(period_ms, changed.asked_at, changed.answered_at))

    def declare(self, life: Life) -> None:
        """What is declared already, again: changes nothing."""
        shown = self.asker.ask("GET", f"/v1/jobs/{life.job_id}")
        given = {name: shown.body[name] for name in MEMBERS}
        again = self.asker.ask("PUT", f"/v1/jobs/{life.job_id}", given, may_refuse=True)
        if not again.is_refused and again.body["state"] == shown.body["state"]:
            changed = [name for name in ("generation", "revision") if again.body[name] != shown.body[name]]
            if changed:
                self.ledger.surprises.append(f"{life.job_id}: declaring it again changed its {' and '.join(changed)}")

    # Runs.

    def run_now(self, life: Life) -> None:
        self.asker.ask("POST", f"/v1/jobs/{life.job_id}/runs", {}, may_refuse=True)

    def run_twice_under_a_key(self, life: Life) -> None:
        """The second request is a repeat of the first, and so is its answer."""
        path, key = f"/v1/jobs/{life.job_id}/runs", uuid4().hex
        first, second = (self.asker.ask("POST", path, {}, may_refuse=True, Idempotency_Key=key) for _ in range(2))
        if not first.is_refused and first.body["run_id"] != second.body.get("run_id"):
            self.ledger.surprises.append(f"{life.job_id}: one key made two runs: {first.body} and {second.body}")

    def backfill(self, life: Life) -> None:
        """Of the last slots: most have their run, and one slot is one run."""
        since = datetime.fromtimestamp((now_ms() - BACKFILLED_MS) / 1_000, UTC)
        body = {"from": since.isoformat(), "limit": self.random.randint(1, 4)}
        self.asker.ask("POST", f"/v1/jobs/{life.job_id}/backfills", body, may_refuse=True)

    def change_a_run(self, life: Life) -> None:
        """Ends one of its newest runs that is alive, or asks for one again that ended."""
        listed = self.asker.ask("GET", f"/v1/jobs/{life.job_id}/runs", query={"limit": "10"}, may_refuse=True)
        if listed.is_refused or not listed.body["items"]:
            return
        run = self.random.choice(listed.body["items"])
        path = f"/v1/jobs/{life.job_id}/runs/{run['run_id']}"
        self.asker.ask("POST", f"{path}/{'retry' if run['status'] in ENDED else 'cancel'}", {}, may_refuse=True)

    def redrive(self, life: Life) -> None:
        body = {"job_id": life.job_id, "limit": 5, "rate": 5}
        self.asker.ask("POST", "/v1/redrives", body, may_refuse=True)

    # Keys.

    def use_a_key(self) -> None:
        """Make one, read with it, and revoke it."""
        made = self.asker.ask("POST", "/v1/keys", {"scopes": ["read"], "name": self.prefix}, may_refuse=True)
        if made.is_refused:
            # Whoever runs this need not be an administrator.
            return
        text = made.body["key"]
        if self._read_with(text).is_refused:
            self.ledger.surprises.append("a new key was refused")
        gone = self.asker.ask("DELETE", f"/v1/keys/{made.body['key_id']}")
        self._revoked.append((text, gone.answered_at))

    def _read_with(self, key: str) -> Answered:
        query = {"limit": "1"}
        return self.asker.ask("GET", "/v1/jobs", query=query, may_refuse=True, Authorization=f"Bearer {key}")

    # At the end.

    def stop(self) -> None:
        """Deletes what recurs."""
        for life in list(self.live):
            if life.at is None:
                self.delete(life)
        for key, revoked_at in self._revoked:
            if now_ms() > revoked_at + KEYS_KNOWN_MS and not self._read_with(key).is_refused:
                self.ledger.surprises.append(f"a key that was revoked at {revoked_at} is still valid")

    def rows(self) -> dict[str, list[Row]]:
        """Of every job there was."""
        job_ids = sorted({life.job_id for life in self.ledger.lives})
        return {job_id: self.asker.pages(f"/v1/jobs/{job_id}/runs") for job_id in job_ids}

    def _patch(self, life: Life, patch: Row) -> Answered:
        return self.asker.ask("PATCH", f"/v1/jobs/{life.job_id}", patch, may_refuse=life.at is not None)

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
        """Slots at whole periods since 1970: all of them divide a minute."""
        seconds = period_ms // 1_000
        cron: Row = {"cron": f"*/{seconds} * * * * *" if seconds > 1 else "* * * * * *", "seconds": True}
        every: Row = {"every": f"PT{seconds}S", "anchor": "1970-01-01T00:00:00Z"}
        schedule = dict(self.random.choice([every, every, cron, {**cron, "timezone": "Asia/Tokyo"}]))
        if seconds > 2 and self.random.random() < 0.3:
            schedule["window"] = WINDOW
        return schedule
