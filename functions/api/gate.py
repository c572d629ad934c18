"""Before anything is routed: who calls, and is there something readable.

Powertools validates before any middleware runs, so a stranger would be told what is wrong with a body; hence a gate.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from functions.api.authentication import Authenticator, Caller
from functions.api.bodies import Document, compact, fingerprint_of, read_body
from functions.api.idempotency import KeyedRequest, read_idempotency_key
from functions.api.refusals import BodyTooLarge, BodyUnreadable, MediaTypeUnsupported
from functions.api.routing import Route, route_of
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.limits import MAX_BODY_BYTES

#: A body longer than this in the event is over the limit in any encoding.
_MAX_ENCODED = 4 * MAX_BODY_BYTES
#: Under which the resolver carries the call to the endpoints.
CALL: Final = "call"
_JSON: Final = "application/json"
_ANONYMOUS: Final = Caller("", "", frozenset())


@dataclass(frozen=True, slots=True)
class Call:
    """An admitted request: what endpoints need of it beyond their own parameters."""

    route: Route
    caller: Caller
    request_id: str
    body: Document
    query: tuple[tuple[str, str], ...]
    if_match: str | None
    keyed: KeyedRequest | None


@dataclass(frozen=True, slots=True)
class Gate:
    routes: Sequence[Route]
    authenticator: Authenticator

    def admit(self, event: APIGatewayProxyEventV2) -> Call:
        """Raises Refused or InvalidRequest, in this order: route, key, scope, query, body, headers."""
        route = route_of(self.routes, event.http_method, event.path)
        caller = _ANONYMOUS
        if route.scope is not None:
            caller = self.authenticator.caller_of(event.headers.get("authorization"))
            caller.require(route.scope)
        query = _query_of(event, route)
        body = _body_of(event, route)
        key = read_idempotency_key(event.headers.get("idempotency-key")) if route.method in {"POST", "PATCH"} else None
        fingerprint = fingerprint_of(route.method, event.path, body)
        return Call(
            route=route,
            caller=caller,
            request_id=request_id_of(event),
            body=body,
            query=query,
            if_match=event.headers.get("if-match"),
            keyed=None if key is None else KeyedRequest(caller.owner_id, key, fingerprint),
        )


def call_of(request: Request) -> Call:
    call = request.context[CALL]
    assert isinstance(call, Call)
    return call


def request_id_of(event: Mapping[str, Any] | APIGatewayProxyEventV2) -> str:
    context = event.get("requestContext") or {}
    return str(context.get("requestId", ""))


def as_plain_json(event: Mapping[str, Any], body: Document) -> dict[str, Any]:
    """The event as Powertools is to see it: it answers merge patches with 415."""
    others = {name: value for name, value in event.get("headers", {}).items() if name.lower() != "content-type"}
    headers = {**others, "content-type": _JSON}
    return {**event, "headers": headers, "body": compact(body), "isBase64Encoded": False}


def _query_of(event: APIGatewayProxyEventV2, route: Route) -> tuple[tuple[str, str], ...]:
    # From the raw text: API Gateway joins repeated names by commas, which values may hold themselves.
    query = tuple(parse_qsl(event.get("rawQueryString") or "", keep_blank_values=True))
    listed = ", ".join(route.query) or "none"
    problems = [
        FieldProblem(f"#/{name[:64]}", f"unknown query parameter; known here: {listed}")
        for name in dict.fromkeys(name for name, _ in query)
        if name not in route.query
    ]
    if problems:
        raise InvalidRequest(problems)
    return query


def _body_of(event: APIGatewayProxyEventV2, route: Route) -> Document:
    text = _text_of(event)
    if not text.strip():
        if route.body:
            raise BodyUnreadable("the body is empty; send a JSON object")
        return {}
    if not route.body:
        if route.method == "POST" and read_body(text):
            raise BodyUnreadable("no body is read here; leave it out")
        return {}
    given = event.headers.get("content-type") or _JSON
    if given.partition(";")[0].strip().lower() not in route.body:
        raise MediaTypeUnsupported(given, route.body)
    return read_body(text)


def _text_of(event: APIGatewayProxyEventV2) -> str:
    raw = event.get("body") or ""
    if len(raw) > _MAX_ENCODED:
        raise BodyTooLarge(len(raw), MAX_BODY_BYTES)
    try:
        content = b64decode(raw, validate=True) if event.get("isBase64Encoded") else raw.encode()
        if len(content) > MAX_BODY_BYTES:
            raise BodyTooLarge(len(content), MAX_BODY_BYTES)
        return content.decode()
    except (Base64Error, UnicodeError) as error:
        raise BodyUnreadable("the body is not UTF-8") from error
