"""Routes of schedules: what one would do, before a job has it."""

from __future__ import annotations

from dataclasses import dataclass

from functions.api.backend import Backend
from functions.api.changes import read_schedule
from functions.api.documents import preview_document
from functions.api.requests import PreviewSchedule
from functions.api.responses import Answer, answer
from functions.api.routing import JSON_BODY, Route
from shared.domain.access import Scope
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.instants import DAY, LAST_INSTANT, Instant, to_rfc3339
from shared.domain.schedules import preview
from shared.domain.schedules.fields import read_instant


@dataclass(frozen=True, slots=True)
class ScheduleRoutes:
    backend: Backend

    def routes(self) -> list[Route]:
        path = "/v1/schedules/preview"
        return [Route("POST", path, self.preview, Scope.READ, body=JSON_BODY, model=PreviewSchedule)]

    def preview(self, body: PreviewSchedule) -> Answer:
        now = self.backend.clock.now()
        schedule = read_schedule(body.schedule, now)
        after = now if body.after is None else read_instant(body.after, "#/after")
        until = None if body.until is None else read_instant(body.until, "#/until")
        if until is not None and until <= after:
            detail = "is not later than after (now, where that is left out), so that no slot could be between the two"
            raise InvalidRequest(FieldProblem("#/until", detail, to_rfc3339(Instant(min(after + DAY, LAST_INSTANT)))))
        coming = preview(schedule, after, body.count)
        return answer({"items": [preview_document(each) for each in coming if until is None or each.slot < until]})
