"""One way to the API: a request out, its JSON back, repeated where that is safe."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

import httpx

from carillon import __version__
from carillon.client.errors import NoAnswer, Problem, problem_of
from carillon.client.repeating import DEFAULT_PATIENCE, Patience, Repeat
from carillon.client.schedules import encoded

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
_KEYED_METHODS: Final = frozenset({"POST", "PATCH"})
#: With these, not a byte of the request has left.
_UNSENT: Final = (
    httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.ProxyError,
)  # fmt: skip

Query = Mapping[str, str | int | bool | list[str] | None]


@dataclass(frozen=True, slots=True)
class Time:
    """What a test replaces: how to wait, how long it has been (monotonic), and dice in [0, 1)."""

    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    roll: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class Connection:
    http: httpx.Client
    #: Whose things to act on, for who has scope admin.
    owner: str | None = None
    patience: Patience = DEFAULT_PATIENCE
    time: Time = Time()

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Query | None = None,
        repeat: Repeat = Repeat.ALWAYS,
        idempotency_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        is_open: bool = False,
    ) -> Any:
        """The JSON of a good answer; open routes belong to no owner. Raises Problem or NoAnswer."""
        request = self.http.build_request(
            method,
            path,
            params=self._query(query or {}, is_open=is_open),
            content=None if body is None else encoded(body),
            headers={**_headers(method, body, idempotency_key), **(headers or {})},
        )
        made = 0
        while True:
            made += 1
            try:
                return self._once(request)
            except (NoAnswer, Problem) as failure:
                pause = self.patience.pause_after(failure, attempts_made=made, repeat=repeat, roll=self.time.roll())
                if pause is None:
                    raise
            self.time.sleep(pause)

    def items(self, path: str, query: Query | None = None) -> Iterator[Any]:
        """Of all pages, each asked for when the one before is used up."""
        cursor = None
        while True:
            page = self.call("GET", path, query={**(query or {}), "cursor": cursor})
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def _once(self, request: httpx.Request) -> Any:
        try:
            answer = self.http.send(request)
        except httpx.RequestError as error:
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
            sent = not isinstance(error, _UNSENT)
            raise NoAnswer(request.method, str(request.url), reason, may_have_happened=sent) from error
        document = _document_of(answer)
        if answer.is_success and document is not None:
            return document
        unreadable = {"detail": f"{request.url} did not answer with JSON: is this the address of a Carillon?"}
        raise problem_of(answer.status_code, document or unreadable, retry_after_seconds=_retry_after(answer))

    def _query(self, query: Query, *, is_open: bool) -> list[tuple[str, str | int | float | bool | None]]:
        pairs: list[tuple[str, str | None]] = []
        for name, value in {**query, "owner_id": None if is_open else self.owner}.items():
            pairs += [(name, _text_of(each)) for each in (value if isinstance(value, list) else [value])]
        return [(name, text) for name, text in pairs if text is not None]


def path_to(*parts: str) -> str:
    """Raises ValueError for a part that would not be one."""
    for part in parts:
        if part in {"", ".", ".."}:
            raise ValueError(f"{part!r} is no id")
    return "/v1/" + "/".join(quote(part, safe=":") for part in parts)


def http_client(
    url: str,
    key: str | None,
    *,
    timeout: float,
    auth: httpx.Auth | None,
    transport: httpx.BaseTransport | None,
) -> httpx.Client:
    """Raises ValueError for an address or a key that cannot be one."""
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"the address of the API starts with https://, not {url!r}")
    headers = {"User-Agent": f"carillon-python/{__version__}", "Accept": JSON}
    if key is not None:
        if not key.isascii() or not key.isprintable() or " " in key or not key:
            raise ValueError("a key is visible ASCII without blanks, such as crl_<key_id>_<secret>")
        headers["Authorization"] = f"Bearer {key}"
    try:
        return httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=timeout, auth=auth, transport=transport)
    except httpx.InvalidURL as error:
        raise ValueError(f"{url!r} is no address: {error}") from error


def _headers(method: str, body: object, idempotency_key: str | None) -> dict[str, str]:
    headers = {} if body is None else {"Content-Type": MERGE_PATCH if method == "PATCH" else JSON}
    if method in _KEYED_METHODS:
        escaped = re.sub(r'(["\\])', r"\\\1", idempotency_key or str(uuid4()))
        headers["Idempotency-Key"] = f'"{escaped}"'
    return headers


def _text_of(value: str | int | bool | None) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value).lower()


def _document_of(answer: httpx.Response) -> Any:
    """None when it is no JSON object."""
    try:
        document = answer.json()
    except (JSONDecodeError, UnicodeDecodeError):
        return None
    return document if isinstance(document, dict) else None


def _retry_after(answer: httpx.Response) -> float | None:
    text = answer.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() else None
