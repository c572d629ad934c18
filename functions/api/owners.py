"""Route that erases an owner: cancels every job, and deletes what the owner wrote into jobs and runs.

Bounded, so it is repeated until it is done. The bare rows of cancelled jobs stay for a day: without their generation a
job of the same id would be taken for an older one. Receipts expire within a day; keys are revoked and stay listed.
A repeat under the same Idempotency-Key touches nothing that was made since the first request.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from aws_lambda_powertools.event_handler import Request

from functions.api import audit
from functions.api.authentication import name_of_key
from functions.api.backend import Backend
from functions.api.editor import JobEditor
from functions.api.gate import Call, call_of, on_behalf_of
from functions.api.refusals import JobNotFound
from functions.api.requests import EraseOwner
from functions.api.responses import Answer, answer
from functions.api.routing import JSON_BODY, Route
from shared.domain.access import Scope
from shared.domain.instants import Instant
from shared.domain.job import Job, is_erased
from shared.domain.limits import MAX_PAGE
from shared.ports import JobFilter

JOBS_OF_A_CALL: Final = 25
RUNS_OF_A_CALL: Final = 2_000
#: Before a cursor: a page on the way to it left something. No cursor of a list has a dot.
_LEFT: Final = "left."


@dataclass(slots=True)
class _Progress:
    """What was made after `asked_at` stays. `is_done` is of the pages before too."""

    asked_at: Instant
    jobs: int = 0
    runs: int = 0
    keys: int = 0
    is_done: bool = True


@dataclass(frozen=True, slots=True)
class OwnerRoutes:
    backend: Backend
    editor: JobEditor

    def routes(self) -> list[Route]:
        return [
            Route(
                "POST",
                "/v1/owners/<owner_id>/erase",
                self.erase,
                Scope.ADMIN,
                body=JSON_BODY,
                model=EraseOwner,
                is_body_optional=True,
            )
        ]

    def erase(self, owner_id: str, body: EraseOwner, request: Request) -> Answer:
        call = on_behalf_of(call_of(request), owner_id)
        cursor = body.cursor and body.cursor.removeprefix(_LEFT)
        progress = _Progress(asked_at=self._asked_at(call), is_done=cursor == body.cursor)
        # The key stands for the whole request, and not for any one job.
        call = replace(call, keyed=None)
        page = self.backend.jobs.list_of_owner(owner_id, only=JobFilter(), limit=JOBS_OF_A_CALL, cursor=cursor)
        # What cannot be read cannot be erased: the owner's data are not gone.
        progress.is_done &= not page.unreadable
        audit.note_unreadable(page.unreadable)
        for job in page.items:
            if job.created_at <= progress.asked_at:
                self._erase_job(call, job, progress)
        if body.cursor is None:
            self._erase_access(call, progress)
        audit.note("owner.erase", call, jobs=progress.jobs, runs=progress.runs)
        left = "" if progress.is_done else _LEFT
        document = {
            "jobs": progress.jobs,
            "runs": progress.runs,
            "keys": progress.keys,
            "is_done": progress.is_done and page.cursor is None,
            "next_cursor": page.cursor and f"{left}{page.cursor}",
        }
        return answer(document)

    def _asked_at(self, call: Call) -> Instant:
        """When this request was sent first. Raises KeyReused."""
        now = self.backend.clock.now()
        if call.keyed is None:
            return now
        mine = call.keyed.receipt_of_choice((), None, now)
        return call.keyed.check(self.backend.access.put_receipt(mine) or mine).at

    def _erase_job(self, call: Call, job: Job, progress: _Progress) -> None:
        # One without an answer: whoever cancelled it died before it could say what is alive.
        if not is_erased(job) or job.cancellation is None:
            try:
                change, _ = self.editor.cancel(call, job.job_id, is_erased=True)
                progress.jobs += change.is_new
            except JobNotFound:
                # Past its end, and only not deleted yet.
                pass
        left = RUNS_OF_A_CALL - progress.runs
        if left <= 0:
            progress.is_done = False
            return
        erased = self.backend.runs.erase(job.job_key, limit=left)
        progress.runs += erased.count
        progress.is_done &= erased.is_done

    def _erase_access(self, call: Call, progress: _Progress) -> None:
        access, owner_id, now = self.backend.access, call.caller.owner_id, self.backend.clock.now()
        for grant in access.grants(owner_id):
            if grant.created_at <= progress.asked_at:
                access.delete_grant(owner_id, grant.grant_id)
        for signing_key in access.signing_keys(owner_id):
            if signing_key.created_at <= progress.asked_at:
                access.delete_signing_key(owner_id, signing_key.key_id)
        cursor = None
        while True:
            page = access.keys_of_owner(owner_id, limit=MAX_PAGE, cursor=cursor)
            for key in page.items:
                # Never the one that asks, or the repeat could not.
                is_meant = key.is_live(now) and key.created_at <= progress.asked_at
                if is_meant and name_of_key(key.key_id) != call.caller.name:
                    progress.keys += access.revoke_key(key.key_id, at=now)
            cursor = page.cursor
            if cursor is None:
                return
