"""Before anything is routed: who calls, and is there something readable.

Powertools validates before any middleware runs, so a stranger would be told what is wrong with a body; hence a gate.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import parse_qsl

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from functions.api.bodies import Document, compact, fingerprint_of, read_body
from functions.api.callers import ANONYMOUS, Authenticator, Caller
from functions.api.idempotency import KeyedRequest, read_idempotency_key
from functions.api.rates import Rates
from functions.api.refusals import BodyTooLarge, BodyUnreadable, MediaTypeUnsupported
from functions.api.routing import Route, route_of
from functions.api.tracing import admit_caller
from shared.domain.errors import FieldProblem, InvalidRequest

#: Under which the resolver carries the call to the endpoints.
CALL: Final = "call"
#: On every route that needs a scope: whose things to act on, for who has scope admin.
OWNER_QUERY: Final = "owner_id"
_JSON: Final = "application/json"
#: A character of a body takes at most this many in an event: base64, or escaped.
_LONGEST_ENCODING: Final = 4


@dataclass(frozen=True, slots=True)
class Call:
    """An admitted request: what endpoints need of it beyond their own parameters."""

    route: Route
    caller: Caller
    request_id: str
    body: Document
    query: tuple[tuple[str, str], ...]
    if_match: str | None
    if_none_match: str | None
    keyed: KeyedRequest | None


@dataclass(frozen=True, slots=True)
class Gate:
    routes: Sequence[Route]
    authenticator: Authenticator
    rates: Rates

    def admit(self, event: APIGatewayProxyEventV2) -> Call:
        """Raises Refused or InvalidRequest, in this order: route, caller, rate, scope, query, owner, body, headers."""
        route = route_of(self.routes, event.http_method, event.path)
        caller = ANONYMOUS
        if route.scope is not None:
            caller = self.authenticator.caller_of(event)
            self.rates.admit(caller.owner_id, request_id_of(event))
            admit_caller()
            caller.require(route.scope)
        query = _query_of(event, route)
        owner_id = dict(query).get(OWNER_QUERY)
        if owner_id is not None:
            caller = caller.on_behalf_of(owner_id)
        body = _body_of(event, route)
        key = read_idempotency_key(event.headers.get("idempotency-key")) if route.method in {"POST", "PATCH"} else None
        fingerprint = fingerprint_of(caller.name, route.method, event.path, body)
        return Call(
            route=route,
            caller=caller,
            request_id=request_id_of(event),
            body=body,
            query=query,
            if_match=event.headers.get("if-match"),
            if_none_match=event.headers.get("if-none-match"),
            keyed=None if key is None else KeyedRequest(caller.owner_id, key, fingerprint),
        )


def on_behalf_of(call: Call, owner_id: str) -> Call:
    """The call of an admin, acting on an owner's things. Raises ScopeMissing, InvalidRequest."""
    return replace(call, caller=call.caller.on_behalf_of(owner_id))


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
    known = route.query if route.scope is None else (*route.query, OWNER_QUERY)
    listed = ", ".join(known) or "none"
    problems = [
        FieldProblem(f"#/{name[:64]}", f"unknown query parameter; known here: {listed}")
        for name in dict.fromkeys(name for name, _ in query)
        if name not in known
    ]
    if problems:
        raise InvalidRequest(problems)
    return query


def _body_of(event: APIGatewayProxyEventV2, route: Route) -> Document:
    text = _text_of(event, route.max_body_bytes)
    if not text.strip():
        if route.body and not route.is_body_optional:
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


def _text_of(event: APIGatewayProxyEventV2, limit: int) -> str:
    raw = event.get("body") or ""
    if len(raw) > _LONGEST_ENCODING * limit:
        raise BodyTooLarge(len(raw), limit)
    try:
        content = b64decode(raw, validate=True) if event.get("isBase64Encoded") else raw.encode()
        if len(content) > limit:
            raise BodyTooLarge(len(content), limit)
        return content.decode()
    except (Base64Error, UnicodeError) as error:
        raise BodyUnreadable("the body is not UTF-8") from error
