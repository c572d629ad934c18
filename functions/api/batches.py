"""Route of batches: many creates in one request, each a transaction of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from aws_lambda_powertools.event_handler import Request

from functions.api import audit
from functions.api.backend import Backend
from functions.api.bodies import Document
from functions.api.editor import JobEditor
from functions.api.gate import Call, call_of
from functions.api.items import failed_item
from functions.api.refusals import KeyReused, NotAttempted
from functions.api.requests import CreateBatch, CreateJob
from functions.api.responses import Answer, answer
from functions.api.routing import JSON_BODY, Route
from functions.api.validating import validated
from shared.domain.access import Scope
from shared.domain.errors import CarillonError
from shared.domain.limits import MAX_BATCH_BODY_BYTES, MAX_PROBLEMS, MAX_PROBLEMS_OF_BATCH

#: What is not begun by then is left for a repeat: the answer must be out before API Gateway gives up.
BEGUN_WITHIN_SECONDS: Final = 20.0
_LONGEST_SHOWN: Final = 100


@dataclass(frozen=True, slots=True)
class BatchRoutes:
    backend: Backend
    editor: JobEditor

    def routes(self) -> list[Route]:
        path = "/v1/jobs/batch"
        return [
            Route(
                "POST",
                path,
                self.create,
                Scope.WRITE,
                body=JSON_BODY,
                model=CreateBatch,
                max_body_bytes=MAX_BATCH_BODY_BYTES,
            )
        ]

    def create(self, body: CreateBatch, request: Request) -> Answer:
        """The answer has an item for each of the request, in its order."""
        call = call_of(request)
        until = self.backend.clock.monotonic() + BEGUN_WITHIN_SECONDS
        items: list[Document] = []
        left = MAX_PROBLEMS_OF_BATCH
        for number, item in enumerate(body.items):
            items.append(self._create(call, number, item, until, most_problems=min(left, MAX_PROBLEMS)))
            left -= len(items[-1].get("problem", {}).get("errors", ()))
        return answer({"items": items})

    def _create(self, call: Call, number: int, item: dict[str, Any], until: float, *, most_problems: int) -> Document:
        if call.keyed is not None:
            call = replace(call, keyed=call.keyed.of_item(number))
        try:
            if self.backend.clock.monotonic() >= until:
                raise NotAttempted
            creation = self.editor.create(call, validated(CreateJob, item))
        except KeyReused:
            # The key stands for the whole request, and this is another one.
            raise
        except CarillonError as error:
            failed = failed_item(error, call.request_id, most_problems=most_problems)
            return {"job_id": _shown(item.get("job_id")), **failed}
        if not creation.is_repeat:
            audit.record("job.create", call, creation.job)
        return {"job_id": creation.job.job_id, "status": 201, "revision": creation.job.revision}


def _shown(job_id: object) -> str | None:
    """What the item calls itself, if that can be one's name: it is the caller's, and may be of any size."""
    return job_id if isinstance(job_id, str) and len(job_id) <= _LONGEST_SHOWN else None
