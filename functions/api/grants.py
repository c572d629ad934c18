"""Routes of grants. Who owns jobs sees what they may call; only an admin adds to it, for whom `?owner_id=` says."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Final

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Body

from functions.api import audit
from functions.api.backend import Backend
from functions.api.documents import grant_document
from functions.api.gate import Call, call_of
from functions.api.idempotency import earlier
from functions.api.refusals import GrantNotFound, MadeBefore, TooManyGrants
from functions.api.responses import Answer, answer
from functions.api.routing import JSON_BODY, Route
from shared.domain.access import Scope
from shared.domain.grants import Grant, new_grant
from shared.domain.limits import MAX_GRANTS

_ID_BYTES: Final = 6


@dataclass(frozen=True, slots=True)
class GrantRoutes:
    backend: Backend

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/v1/grants", self.list, Scope.READ),
            Route("POST", "/v1/grants", self.create, Scope.ADMIN, body=JSON_BODY),
            Route("DELETE", "/v1/grants/<grant_id>", self.delete, Scope.ADMIN),
        ]

    def list(self, request: Request) -> Answer:
        grants = self.backend.access.grants(call_of(request).caller.owner_id)
        return answer({"items": [grant_document(grant) for grant in grants], "next_cursor": None})

    def create(self, body: Annotated[dict[str, Any], Body()], request: Request) -> Answer:
        call = call_of(request)
        grant = self._made_before(call) or self._make(call, body)
        return answer(grant_document(grant), status=HTTPStatus.CREATED)

    def _make(self, call: Call, body: dict[str, Any]) -> Grant:
        now = self.backend.clock.now()
        grant = new_grant(
            body,
            owner_id=call.caller.owner_id,
            grant_id=self.backend.randomness.random_bytes(_ID_BYTES).hex(),
            by=call.caller.name,
            now=now,
            own=self.backend.grant_rules.own,
        )
        receipt = None if call.keyed is None else call.keyed.receipt_of(grant.grant_id, now)
        if not self.backend.access.put_grant(grant, receipt=receipt):
            made = self._made_before(call)
            if made is None:
                raise TooManyGrants(MAX_GRANTS)
            return made
        audit.note("grant.create", call, grant_id=grant.grant_id)
        return grant

    def _made_before(self, call: Call) -> Grant | None:
        """By this request. Raises KeyReused, MadeBefore."""
        receipt = earlier(call.keyed, self.backend.access)
        if receipt is None:
            return None
        for grant in self.backend.access.grants(call.caller.owner_id):
            if grant.grant_id == receipt.access_id:
                return grant
        raise MadeBefore("grant", receipt.access_id or "", is_there=False)

    def delete(self, grant_id: str, request: Request) -> Answer:
        call = call_of(request)
        if not self.backend.access.delete_grant(call.caller.owner_id, grant_id):
            raise GrantNotFound(grant_id)
        audit.note("grant.delete", call, grant_id=grant_id)
        return answer({"grant_id": grant_id, "outcome": "deleted"})
