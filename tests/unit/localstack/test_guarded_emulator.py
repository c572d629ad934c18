from __future__ import annotations

import asyncio
from typing import Any

import pytest

from localstack.guarded_emulator import guarded, refusal_of

API = "/_aws/execute-api/abc/v1/jobs"
OWN = {"host": "127.0.0.1:4566"}


@pytest.mark.parametrize(
    "headers",
    [
        OWN,
        {"host": "localhost:4566"},
        {"host": "127.0.0.1"},
        OWN | {"origin": "http://127.0.0.1:4566"},
        {"host": "127.0.0.1:4600", "origin": "https://127.0.0.1:4600"},
        OWN | {"sec-fetch-site": "same-origin", "origin": "http://127.0.0.1:4566"},
        # The user typed the address.
        OWN | {"sec-fetch-site": "none", "sec-fetch-mode": "navigate"},
    ],
)
def test_a_program_of_this_machine_and_the_api_s_own_pages_pass(headers: dict[str, str]) -> None:
    assert refusal_of("POST", API, headers) is None


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": "evil.example"},
        {"host": "evil.example:4566", "origin": "http://evil.example:4566"},
        {"host": "127.0.0.1.evil.example:4566"},
        {"host": "127.0.0.1@evil.example"},
        {"host": "abc.execute-api.localhost:4566"},
        {"host": "[::1"},
        OWN | {"origin": "https://evil.example"},
        OWN | {"origin": "null"},
        OWN | {"origin": ""},
        OWN | {"origin": "http://127.0.0.1:3000"},
        OWN | {"origin": "http://localhost:4566"},
        OWN | {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
        OWN | {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
    ],
)
def test_what_a_web_page_can_send_is_refused(headers: dict[str, str]) -> None:
    assert refusal_of("GET", API, headers) is not None


def test_a_link_from_elsewhere_leads_to_the_api_and_to_nothing_else_of_the_emulator() -> None:
    link = OWN | {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}

    assert refusal_of("GET", API, link) is None
    assert refusal_of("POST", API, link) is not None
    assert refusal_of("GET", "/", link) is not None


async def _answers(_scope: Any, _receive: Any, send: Any) -> None:
    headers = [(b"Access-Control-Allow-Origin", b"*"), (b"x-amzn-requestid", b"1")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


def _asked(kind: str, headers: dict[str, str]) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": f"{kind}.connect"}

    scope = {
        "type": kind,
        "method": "POST",
        "path": "/",
        "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
    }

    async def ask() -> None:
        await guarded(_answers)(scope, receive, send)

    asyncio.run(ask())
    return sent


def test_no_answer_is_shared_with_pages_of_other_origins() -> None:
    start, body = _asked("http", {"Host": "127.0.0.1:4566"})

    assert start["headers"] == [(b"x-amzn-requestid", b"1")]
    assert body["body"] == b"ok"


def test_a_refused_request_never_reaches_the_emulator_and_says_why() -> None:
    start, body = _asked("http", {"Host": "127.0.0.1:4566", "Origin": "https://evil.example"})

    assert start["status"] == 403
    assert b"https://evil.example" in body["body"]


def test_a_websocket_of_a_foreign_page_is_closed() -> None:
    assert _asked("websocket", {"Host": "127.0.0.1:4566", "Origin": "https://evil.example"}) == [
        {"type": "websocket.close", "code": 1008}
    ]
