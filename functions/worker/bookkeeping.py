"""Storing how runs ended, and what follows from it: jobs completed, messages kept or done with, letters sent.

The order bears crashes: the row first, for it is the record; then the job, whose completion the message would bring a
worker back to; then the copy for the dead letters; the message last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from functions.worker.endings import is_given_up
from functions.worker.job_reader import read_jobs
from functions.worker.keeping import kept_seconds
from functions.worker.live_run import LiveRun
from functions.worker.messages import Messages
from functions.worker.places import kept_between_attempts
from functions.worker.settings import WorkerSettings
from shared.domain.entry import single_entry
from shared.domain.errors import ItemRefused, StoreError
from shared.domain.events import job_completed, run_ended
from shared.domain.instants import SECOND, Instant
from shared.domain.job import Job
from shared.domain.overlap import Holder, keeps_place_between_attempts, places_of
from shared.domain.run import Finish, Run, RunStatus
from shared.observability.announcing import Announcements
from shared.observability.logs import logger_for
from shared.ports import Clock, DeadLetter, DeadLetterQueue, Delivery, Hold, JobStore, RunStore
from shared.ports.completing import Ended, complete

_logger = logger_for("worker")

End = tuple[LiveRun, Finish]
#: What is stored of an end; None: fenced. An error: this one was not stored.
Stored = RunStatus | StoreError | None


@dataclass(frozen=True, slots=True)
class Bookkeeper:
    run_store: RunStore
    job_store: JobStore
    messages: Messages
    dead_letters: DeadLetterQueue | None
    clock: Clock
    settings: WorkerSettings
    lane: str
    announcements: Announcements

    def store(self, ends: Sequence[End]) -> list[Stored]:
        """Raises StoreError when nothing was stored of what can be, and may be called again with the same then, as with
        what was not stored alone.
        """
        now = self.clock.now()
        ends = [(live, replace(finish, is_listed=live.is_listed)) for live, finish in ends]
        kept = {live: self._kept_seconds(live, finish, now) for live, finish in ends}
        brief = [end for end in ends if not _is_long(end, kept)]
        answers = self.run_store.finish([finish for _, finish in brief])
        stored: dict[LiveRun, Stored] = dict(zip([live for live, _ in brief], answers, strict=True))
        stored |= self._postpone([end for end in ends if end[0] not in stored])
        failures = [status for status in stored.values() if isinstance(status, StoreError)]
        if len(failures) == len(ends) and not any(isinstance(each, ItemRefused) for each in failures):
            raise failures[0]
        settled = {live: status for live, status in stored.items() if not isinstance(status, StoreError)}
        self._follow([end for end in ends if end[0] in settled], settled, kept)
        return [stored[live] for live, _ in ends]

    def _kept_seconds(self, live: LiveRun, finish: Finish, now: Instant) -> int | None:
        if finish.lease_until is None:
            return None
        return kept_seconds(live.delivery, until=finish.lease_until, now=now, lead_ms=self.settings.lead_ms)

    def _postpone(self, ends: Sequence[End]) -> dict[LiveRun, Stored]:
        """Each wait becomes a single-fire entry, in one transaction with the row."""
        stored: dict[LiveRun, Stored] = {}
        for live, finish in ends:
            entry = single_entry(live.run.waiting(finish), shard=live.dispatch.shard, lane=self.lane)
            try:
                stored[live] = self.run_store.postpone(finish, entry)
            except ItemRefused as error:
                stored[live] = error
            except StoreError as error:
                # The table may be out: the others would wait for it one after the other.
                return {left: error for left, _ in ends} | stored
        return stored

    def _follow(
        self, ends: Sequence[End], stored: Mapping[LiveRun, RunStatus | None], kept: Mapping[LiveRun, int | None]
    ) -> None:
        """Before the messages are deleted: they are what brings a worker back here after a crash."""
        self._leave_places(ends, stored)
        self.complete(
            [
                (live.job, replace(live.run, reason=finish.reason), status, finish.ended_at)
                for live, finish in ends
                if (status := stored[live]) is not None
            ]
        )
        done: list[LiveRun] = []
        for live, _ in ends:
            seconds = kept[live]
            if stored[live] is RunStatus.WAITING and seconds is not None:
                # Hidden too late or not at all, it comes back early, and is hidden again by the claim rule.
                self.messages.hide(live.delivery, seconds=seconds)
            elif stored[live] is not None:
                done.append(live)
        self._bury([(live, finish) for live, finish in ends if is_given_up(stored[live])])
        self.messages.acknowledge([live.delivery for live in done])
        self.announcements.add(
            run_ended(live.run, finish, status)
            for live, finish in ends
            if (status := stored[live]) is not None and not status.is_alive
        )

    def _leave_places(self, ends: Sequence[End], stored: Mapping[LiveRun, RunStatus | None]) -> None:
        """Of those that have one; a fenced run has lost its job's to its newer claim."""
        kept: list[Hold] = []
        left = [live.owner_hold for live, _ in ends if live.owner_hold is not None]
        for live, finish in ends:
            if live.hold is None or live.job is None or stored[live] is None:
                continue
            if stored[live] is RunStatus.WAITING and keeps_place_between_attempts(live.job):
                kept.append(kept_between_attempts(live.hold, finish))
            else:
                left.append(live.hold)
        if kept:
            self.job_store.extend(kept)
        self._release(left)

    def _release(self, holds: Sequence[Hold]) -> None:
        if holds:
            self.job_store.release(holds)

    def complete(self, ended: Sequence[tuple[Job | None, Run, RunStatus, Instant]]) -> None:
        """Turn the jobs completed that these ends leave nothing to fire. Raises StoreError."""
        ends = [Ended(job, run, status, at) for job, run, status, at in ended if job is not None]
        done = complete(
            self.job_store,
            self.run_store,
            ends,
            read=lambda keys: read_jobs(self.job_store, keys).found,
            now=self.clock.now(),
        )
        self.announcements.add(job_completed(each.job, at=each.ended_at) for each in done)

    def drop(self, duplicates: Sequence[tuple[Delivery, Run]]) -> None:
        """Whoever finished the run may have died before it left its place and completed the job. Raises StoreError."""
        jobs = read_jobs(self.job_store, {run.job_key for _, run in duplicates if run.ended_at is not None})
        readable = [each for each in duplicates if each[1].job_key not in jobs.unreadable]
        self._release(
            [
                Hold(run.job_key, Holder(run.run_id, run.token, run.lease_until))
                for _, run in readable
                if (job := jobs.found.get(run.job_key)) is not None and places_of(job) is not None
            ]
        )
        self.complete(
            [
                (jobs.found.get(run.job_key), run, run.status, run.ended_at)
                for _, run in readable
                if run.ended_at is not None
            ]
        )
        self.messages.acknowledge([delivery for delivery, _ in readable])
        for delivery, run in duplicates:
            if run.job_key in jobs.unreadable:
                # What is left to do needs a worker that can read the job.
                self.messages.hide(delivery, seconds=self.settings.unreadable_hidden_ms // SECOND)

    def bury_unreadable(self, delivery: Delivery, why: str) -> None:
        """The slot that it was for has no run by now, and is dispatched again by the audit of its node."""
        _logger.error(
            "a message that nobody can read is a dead letter",
            extra={"action": "message.unreadable", "message_id": delivery.message_id, "lane": self.lane, "why": why},
        )
        if self.dead_letters is None:
            return
        try:
            self.dead_letters.send([DeadLetter(delivery.body, "unreadable", why)])
        except StoreError as error:
            _logger.warning(
                "no copy among the dead letters yet: its message comes again",
                extra={"action": "message.unreadable", "message_id": delivery.message_id, "error": str(error)},
            )
            return
        self.messages.acknowledge([delivery])

    def _bury(self, given_up: Sequence[End]) -> None:
        if self.dead_letters is None or not given_up:
            return
        letters = [
            DeadLetter(live.delivery.body, finish.error.type if finish.error else finish.status, _detail(live, finish))
            for live, finish in given_up
        ]
        try:
            self.dead_letters.send(letters)
        except StoreError as error:
            # The rows tell of these runs all the same.
            _logger.warning(
                "no copies among the dead letters",
                extra={"action": "run.dead_letter", "count": len(letters), "error": str(error)},
            )


def _detail(live: LiveRun, finish: Finish) -> str:
    return f"{finish.status} at attempt {live.run.attempt}; the run has more: {live.run.job_key} {live.run.run_id}"


def _is_long(end: End, kept: Mapping[LiveRun, int | None]) -> bool:
    live, finish = end
    return finish.status is RunStatus.WAITING and kept[live] is None
