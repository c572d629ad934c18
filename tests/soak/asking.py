"""Asks the API over plain HTTP, with no client of Carillon's.

A request whose outcome is unknown is sent again under its Idempotency-Key until it is known, as a good client would do.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

import httpx

from tests.soak.ledger import Ledger, Row
from tests.soak.receiver import now_ms

#: Of requests that are not answered, and of all tries together.
ANSWER_SECONDS: Final = 20.0
GIVE_UP_SECONDS: Final = 90.0
PAUSE_SECONDS: Final = 0.5
REFUSED: Final = 400
TRANSIENT: Final = frozenset((409, 429))
FAULTS: Final = 500
#: The varying parts of a path: all of them have a digit.
_ID: Final = re.compile(r"(?<=/)(?!v1)[^/]*\d[^/]*")


class Unanswered(Exception):
    """The API did not say what became of a request within GIVE_UP_SECONDS."""


@dataclass(frozen=True)
class Answered:
    status: int
    body: Any
    asked_at: int
    answered_at: int
    etag: str | None = None

    @property
    def is_refused(self) -> bool:
        return self.status >= REFUSED


@dataclass(frozen=True)
class Asker:
    api: httpx.Client
    ledger: Ledger

    def ask(
        self,
        method: str,
        path: str,
        body: Row | None = None,
        *,
        query: dict[str, str] | None = None,
        may_refuse: bool = False,
        **headers: str,
    ) -> Answered:
        """`headers` have `_` for `-`. What is refused though it may not be is noted, and raises Unanswered."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if method in ("POST", "PATCH"):
            sent.setdefault("Idempotency-Key", uuid4().hex)
        asked_at = now_ms()
        give_up_at = time.monotonic() + GIVE_UP_SECONDS
        said = ""
        while time.monotonic() < give_up_at:
            try:
                answer = self.api.request(method, path, json=body, params=query, headers=sent, timeout=ANSWER_SECONDS)
            except httpx.TransportError as error:
                said = repr(error)
            else:
                said = f"{answer.status_code} {answer.text[:300]}"
                is_final = answer.status_code < FAULTS and (answer.status_code not in TRANSIENT or may_refuse)
                if is_final and answer.status_code >= REFUSED and not may_refuse:
                    self.ledger.surprises.append(f"{method} {path}: {said}")
                    raise Unanswered(said)
                if is_final:
                    self.ledger.answers[f"{method} {_ID.sub('{id}', path)}", answer.status_code] += 1
                    return Answered(answer.status_code, answer.json(), asked_at, now_ms(), answer.headers.get("ETag"))
            time.sleep(PAUSE_SECONDS)
        self.ledger.surprises.append(f"{method} {path} was not answered: {said}")
        raise Unanswered(said)

    def pages(self, path: str) -> list[Row]:
        items: list[Row] = []
        cursor: str | None = None
        while True:
            query = {"limit": "200"} | ({"cursor": cursor} if cursor else {})
            page = self.ask("GET", path, query=query, may_refuse=True)
            if page.is_refused:
                return items
            items += page.body["items"]
            cursor = page.body["next_cursor"]
            if cursor is None:
                return items
