"""What a webhook sends, and where a redirect leads: pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urljoin, urlsplit

from functions.worker.targets import Call
from functions.worker.targets.http_client import origin_of
from shared.domain.targets.headers import fault_of_name, folded
from shared.domain.targets.urls import NOT_IN_URL, fault_of_url, filled_url
from shared.domain.templates import filled

_WITHOUT_BODY: Final = frozenset({"GET", "HEAD"})
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_SEE_OTHER: Final = 303
_NEEDS_NO_LENGTH: Final = _WITHOUT_BODY | {"DELETE"}
#: RFC 9110, 15.4.2 and 15.4.3 let a POST go on as GET here, as browsers do; any other method stays what it is.
_POST_AS_GET: Final = frozenset({301, 302})
_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_AUTHORITY: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:)?//[^/?#\\]*")
_CONTENT_TYPE: Final = "Content-Type"


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """`body` None: none is sent. A secret goes only where the job says, not wherever a receiver sends it on to, and
    neither do the job's own headers, which may be secrets too.
    """

    method: str
    url: str
    body: str | None
    content_type: str = "application/json"
    is_at_origin: bool = True


def first_request(call: Call) -> WebhookRequest:
    method = call.target.get("method", "POST")
    url = filled_url(call.target["url"], call.values)
    if method in _WITHOUT_BODY:
        return WebhookRequest(method, url, None)
    text = call.target.get("body")
    if text is not None:
        return WebhookRequest(method, url, filled(text, call.values), "text/plain; charset=utf-8")
    if call.payload is None:
        # Nothing was given: many receivers refuse the JSON text `null`.
        return WebhookRequest(method, url, None)
    return WebhookRequest(method, url, json.dumps(call.payload, separators=(",", ":")))


def headers_of_job(call: Call, request: WebhookRequest) -> dict[str, str]:
    """Its own, as far as they go with this request; of the body's type the job may say another."""
    headers: dict[str, str] = {} if request.body is None else {_CONTENT_TYPE: request.content_type}
    own: dict[str, str] = filled(call.target.get("headers", {}), call.values)
    for name, value in own.items():
        if fault_of_name(name):
            # Stored before such names were refused.
            continue
        if name.lower() == _CONTENT_TYPE.lower():
            if request.body is not None or request.is_at_origin:
                headers.pop(_CONTENT_TYPE, None)
                headers[name] = value
        elif request.is_at_origin:
            headers[name] = value
    return headers


def headers_of_connection(request: WebhookRequest) -> dict[str, str]:
    headers = {"Host": origin_of(request.url).authority, "Connection": "close"}
    if request.body is not None or request.method not in _NEEDS_NO_LENGTH:
        headers["Content-Length"] = str(len((request.body or "").encode()))
    return headers


def merged(*layers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Of one name in several spellings the last stands; the host is first, as some receivers want it."""
    found: dict[str, tuple[str, str]] = {"host": ("Host", "")}
    for layer in layers:
        for name, value in layer.items():
            found[folded(name)] = (name, value)
    return list(found.values())


def redirected(request: WebhookRequest, status: int, location: bytes | None) -> WebhookRequest | str:
    """The request that a redirect asks for, or why it is not made."""
    if not location:
        return "the redirect says no location"
    try:
        url = _resolved(request.url, location)
        if fault := fault_of_url(url):
            return f"the redirect leads to no URL that is called: {fault}"
        old, new = origin_of(request.url), origin_of(url)
    except ValueError:
        return "the redirect leads to no URL"
    if old.scheme == "https" and new.scheme == "http":
        return "the redirect leads from https to http"
    request = replace(request, url=url, is_at_origin=request.is_at_origin and old == new)
    is_get = status == _SEE_OTHER if request.method != "POST" else status in _POST_AS_GET or status == _SEE_OTHER
    if is_get and request.method not in _WITHOUT_BODY:
        return replace(request, method="GET", body=None)
    return request


def _resolved(base: str, location: bytes) -> str:
    """As browsers read it (WHATWG URL): what no URL may hold is encoded, and a backslash is a slash. The host stays as
    it is, and is judged so; the rest of an absolute one too.
    """
    text = re.sub(r"[\t\r\n]", "", location.decode("latin-1")).strip(" ").partition("#")[0]
    path, mark, query = text.partition("?")
    if urlsplit(path).scheme in {"", "http", "https"}:
        path = path.replace("\\", "/")
    authority = found.group() if (found := _AUTHORITY.match(path)) else ""
    text = authority + _encoded(path[len(authority) :]) + mark + _encoded(query)
    return text if _ABSOLUTE.match(text) else urljoin(base, text)


def _encoded(text: str) -> str:
    return NOT_IN_URL.sub(lambda found: f"%{ord(found.group()):02X}", text)
