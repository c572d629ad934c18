"""Routes of the keys that sign an owner's webhooks. A secret is shown when it is made, and to a repeat
of that very request.
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
from shared.domain.signing import SIGNING_KEY_ID_BYTES, SIGNING_SECRET_BYTES, SigningKey, mint_signing_key


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
        key = self._made_before(call) or self._make(call)
        return answer({**signing_key_document(key), "secret": key.secret}, status=HTTPStatus.CREATED)

    def _make(self, call: Call) -> SigningKey:
        now = self.backend.clock.now()
        key = mint_signing_key(
            owner_id=call.caller.owner_id,
            created_by=call.caller.name,
            now=now,
            randomness=self.backend.randomness.random_bytes(SIGNING_KEY_ID_BYTES + SIGNING_SECRET_BYTES),
        )
        receipt = None if call.keyed is None else call.keyed.receipt_of(key.key_id, now)
        if not self.backend.access.put_signing_key(key, receipt=receipt):
            made = self._made_before(call)
            if made is None:
                raise TooManySigningKeys(MAX_SIGNING_KEYS)
            return made
        audit.note("signing_key.create", call, key=key.key_id)
        return key

    def _made_before(self, call: Call) -> SigningKey | None:
        """By this request. Raises KeyReused, MadeBefore."""
        receipt = earlier(call.keyed, self.backend.access)
        if receipt is None:
            return None
        for key in self.backend.access.signing_keys(call.caller.owner_id):
            if key.key_id == receipt.access_id:
                return key
        raise MadeBefore("signing key", receipt.access_id or "", is_there=False)

    def delete(self, key_id: str, request: Request) -> Answer:
        call = call_of(request)
        if not self.backend.access.delete_signing_key(call.caller.owner_id, key_id):
            raise KeyNotFound(key_id)
        audit.note("signing_key.delete", call, key=key_id)
        return answer({"key_id": key_id, "outcome": "deleted"})
