"""Routes of API keys. The text of a key is in the answer that made it and nowhere else. A repeat under the same
Idempotency-Key makes no second key; it names the first, which is to be revoked when its text is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from aws_lambda_powertools.event_handler import Request

from functions.api import audit
from functions.api.authentication import name_of_key
from functions.api.backend import Backend
from functions.api.documents import key_document
from functions.api.gate import Call, call_of
from functions.api.idempotency import earlier
from functions.api.refusals import KeyNotFound, MadeBefore, TooManyKeys
from functions.api.requests import CreateKey, Cursor, Limit
from functions.api.responses import Answer, answer
from functions.api.routing import JSON_BODY, Route
from shared.domain.access import KEY_ID_BYTES, SECRET_BYTES, ApiKey, Scope, mint_key
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.instants import HOUR, Instant, to_rfc3339
from shared.domain.limits import DEFAULT_PAGE, MAX_KEYS_OF_OWNER, MAX_PAGE
from shared.domain.schedules.fields import read_instant


@dataclass(frozen=True, slots=True)
class KeyRoutes:
    backend: Backend

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/v1/keys", self.list, Scope.READ, query=("cursor", "limit")),
            Route("POST", "/v1/keys", self.create, Scope.WRITE, body=JSON_BODY, model=CreateKey),
            Route("DELETE", "/v1/keys/<key_id>", self.revoke, Scope.WRITE),
        ]

    def list(self, request: Request, cursor: Cursor = None, limit: Limit = DEFAULT_PAGE) -> Answer:
        owner_id = call_of(request).caller.owner_id
        page = self.backend.access.keys_of_owner(owner_id, limit=limit, cursor=cursor)
        return answer({"items": [key_document(key) for key in page.items], "next_cursor": page.cursor})

    def create(self, body: CreateKey, request: Request) -> Answer:
        call = call_of(request)
        self._check_is_new(call)
        scopes = frozenset(map(Scope, body.scopes))
        for scope in sorted(scopes):
            # Nobody hands on what they have not.
            call.caller.require(scope)
        now = self.backend.clock.now()
        expires_at = None if body.expires_at is None else _future(body.expires_at, now)
        _check_no_longer(expires_at, call.caller.expires_at)
        self._check_room(call.caller.owner_id, now)
        key, text = mint_key(
            owner_id=call.caller.owner_id,
            scopes=scopes,
            created_by=call.caller.name,
            now=now,
            randomness=self.backend.randomness.random_bytes(KEY_ID_BYTES + SECRET_BYTES),
            name=body.name,
            expires_at=expires_at,
        )
        receipt = None if call.keyed is None else call.keyed.receipt_of(key.key_id, now)
        if not self.backend.access.put_key(key, receipt=receipt):
            self._check_is_new(call)
            raise RuntimeError(f"of 2^48 ids of keys the dice gave one that is taken: {key.key_id}")
        audit.note("key.create", call, key=name_of_key(key.key_id))
        return answer({**key_document(key), "key": text}, status=HTTPStatus.CREATED)

    def _check_is_new(self, call: Call) -> None:
        """Raises KeyReused, MadeBefore."""
        made = earlier(call.keyed, self.backend.access)
        if made is not None:
            raise MadeBefore("key", made.access_id or "", is_there=True)

    def revoke(self, key_id: str, request: Request) -> Answer:
        call = call_of(request)
        key = self._key(call, key_id)
        for scope in sorted(key.scopes):
            # Nobody takes from others what they could not give.
            call.caller.require(scope)
        self.backend.access.revoke_key(key_id, at=self.backend.clock.now())
        if key.revoked_at is None:
            audit.note("key.revoke", call, key=name_of_key(key_id))
        return answer(key_document(self._key(call, key_id)))

    def _key(self, call: Call, key_id: str) -> ApiKey:
        key = self.backend.access.key(key_id) if key_id.isascii() and key_id.isalnum() else None
        if key is None or key.owner_id != call.caller.owner_id:
            raise KeyNotFound(key_id)
        return key

    def _check_room(self, owner_id: str, now: Instant) -> None:
        live, cursor = 0, None
        while True:
            page = self.backend.access.keys_of_owner(owner_id, limit=MAX_PAGE, cursor=cursor)
            live += sum(key.is_live(now) for key in page.items)
            cursor = page.cursor
            if live >= MAX_KEYS_OF_OWNER:
                raise TooManyKeys(MAX_KEYS_OF_OWNER)
            if cursor is None:
                return


def _check_no_longer(asked: Instant | None, own: Instant | None) -> None:
    """A key that ends makes none that lives longer. Raises InvalidRequest."""
    if own is not None and (asked is None or asked > own):
        detail = f"the key of this request ends at {to_rfc3339(own)}, and so must what it makes, then or earlier"
        raise InvalidRequest(FieldProblem("#/expires_at", detail, to_rfc3339(own)))


def _future(text: str, now: Instant) -> Instant:
    instant = read_instant(text, "#/expires_at")
    if instant <= now:
        raise InvalidRequest(FieldProblem("#/expires_at", "is past", to_rfc3339(Instant(now + HOUR))))
    return instant
