"""The API without a client: for requests that the client would not send, and answers that it would not show."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import urllib3


@dataclass(frozen=True)
class Answer:
    """`body` is the JSON, or None when there is none; header names are lower case."""

    status: int
    headers: dict[str, str]
    body: Any


@dataclass
class RawClient:
    """Sends what it is told, with one API key. Any status is an answer; only no answer at all is raised."""

    url: str
    key: str | None
    _pool: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(maxsize=16, retries=False))

    def call(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        sent = {"Content-Type": "application/json"} if body is not None else {}
        if self.key is not None:
            sent["Authorization"] = f"Bearer {self.key}"
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        answer = self._pool.request(method, f"{self.url}{path}", body=data, headers={**sent, **(headers or {})})
        text = answer.data
        names = {name.lower(): value for name, value in answer.headers.items()}
        return Answer(answer.status, names, json.loads(text) if text else None)

    def get(self, path: str) -> Answer:
        return self.call("GET", path)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        return self.call("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})

    def delete(self, path: str) -> Answer:
        return self.call("DELETE", path)
