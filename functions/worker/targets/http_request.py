"""What a webhook sends, and where a redirect leads: pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import SplitResult, urljoin, urlsplit

from functions.worker.targets import Call
from shared.domain.targets.urls import fault_of_url, filled_url
from shared.domain.templates import filled

_WITHOUT_BODY: Final = frozenset({"GET", "HEAD"})
#: Of these, anything but GET and HEAD goes on as GET, as browsers and clients do.
_AS_GET: Final = frozenset({301, 302, 303})
REDIRECTS: Final = _AS_GET | {307, 308}
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """`body` None: none is sent. A secret goes only where the job says, not wherever a receiver sends it on to."""

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
    return WebhookRequest(method, url, json.dumps(call.payload, separators=(",", ":")))


def own_headers(call: Call) -> dict[str, str]:
    """Those of the job."""
    headers: dict[str, str] = filled(call.target.get("headers", {}), call.values)
    return headers


def redirected(request: WebhookRequest, status: int, location: str | None) -> WebhookRequest | str:
    """The request that a redirect asks for, or why it is not made."""
    if not location:
        return "the redirect says no location"
    try:
        url = urljoin(request.url, location).partition("#")[0]
        old, new = urlsplit(request.url), urlsplit(url)
        is_same = _origin_of(old) == _origin_of(new)
    except ValueError:
        return "the redirect leads to no URL"
    if fault := fault_of_url(url):
        return f"the redirect leads to no URL that is called: {fault}"
    if old.scheme == "https" and new.scheme == "http":
        return "the redirect leads from https to http"
    request = replace(request, url=url, is_at_origin=request.is_at_origin and is_same)
    if status in _AS_GET and request.method not in _WITHOUT_BODY:
        return replace(request, method="GET", body=None)
    return request


def _origin_of(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or _DEFAULT_PORTS.get(parts.scheme)
