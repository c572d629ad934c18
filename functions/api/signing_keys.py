"""Routes of the keys that sign an owner's webhooks. A secret is in the answer that made it and nowhere else: a repeat
under the same Idempotency-Key names the key, which is to be deleted when its secret is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from aws_lambda_powertools.event_handler import Request

from functions.api import audit
from functions.api.backend import Backend
from functions.api.documents import signing_key_document
from functions.api.gate import Call, call_of
from functions.api.idempotency import earlier
from functions.api.refusals import KeyNotFound, MadeBefore, TooManySigningKeys
from functions.api.responses import Answer, answer
from functions.api.routing import Route
from shared.domain.access import Scope
from shared.domain.limits import MAX_SIGNING_KEYS
from shared.domain.signing import SIGNING_KEY_ID_BYTES, SIGNING_SECRET_BYTES, mint_signing_key


@dataclass(frozen=True, slots=True)
class SigningKeyRoutes:
    backend: Backend

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/v1/signing-keys", self.list, Scope.READ),
            Route("POST", "/v1/signing-keys", self.create, Scope.WRITE),
            Route("DELETE", "/v1/signing-keys/<key_id>", self.delete, Scope.WRITE),
        ]

    def list(self, request: Request) -> Answer:
        keys = self.backend.access.signing_keys(call_of(request).caller.owner_id)
        return answer({"items": [signing_key_document(key) for key in keys], "next_cursor": None})

    def create(self, request: Request) -> Answer:
        call = call_of(request)
        self._check_is_new(call)
        now = self.backend.clock.now()
        key = mint_signing_key(
            owner_id=call.caller.owner_id,
            created_by=call.caller.name,
            now=now,
            randomness=self.backend.randomness.random_bytes(SIGNING_KEY_ID_BYTES + SIGNING_SECRET_BYTES),
        )
        receipt = None if call.keyed is None else call.keyed.receipt_of(key.key_id, now)
        if not self.backend.access.put_signing_key(key, receipt=receipt):
            self._check_is_new(call)
            raise TooManySigningKeys(MAX_SIGNING_KEYS)
        audit.note("signing_key.create", call, key=key.key_id)
        return answer({**signing_key_document(key), "secret": key.secret}, status=HTTPStatus.CREATED)

    def _check_is_new(self, call: Call) -> None:
        """Raises KeyReused, MadeBefore."""
        made = earlier(call.keyed, self.backend.access)
        if made is not None:
            keys = self.backend.access.signing_keys(call.caller.owner_id)
            is_there = any(key.key_id == made.access_id for key in keys)
            raise MadeBefore("signing key", made.access_id or "", is_there=is_there)

    def delete(self, key_id: str, request: Request) -> Answer:
        call = call_of(request)
        if not self.backend.access.delete_signing_key(call.caller.owner_id, key_id):
            raise KeyNotFound(key_id)
        audit.note("signing_key.delete", call, key=key_id)
        return answer({"key_id": key_id, "outcome": "deleted"})
