"""What a run calls: the target of a job, normalised and checked before anything is stored.

Which targets an owner may use is a question of grants, not of shape; it is asked elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.limits import MAX_HEADERS, MAX_HEADERS_LENGTH, MAX_URL_LENGTH

HTTP_METHODS: Final = ("POST", "GET", "PUT", "PATCH", "DELETE", "HEAD")

EXAMPLE_URL = "https://example.com/hook"
EXAMPLE_TARGET: Final = {"type": "http", "url": EXAMPLE_URL}
_EXAMPLE_HEADERS: Final = {"X-Team": "finance"}

_HANDLER_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,128}", re.ASCII)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}", re.ASCII)
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?|", re.ASCII)
_NOT_IN_URL = re.compile(r"[^\x21-\x7e]|[\"<>\\^`{|}]")

#: Of one connection and not of a request, or set by the sender from the request itself.
_TRANSPORT_HEADERS: Final = frozenset({
    "connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
})  # fmt: skip
#: Their values are secrets, and a stored job carries none.
_SECRET_HEADERS: Final = frozenset({"authorization", "cookie", "proxy-authorization"})
#: Carillon's own, by which a receiver verifies and deduplicates.
_RESERVED_PREFIXES: Final = ("carillon-", "webhook-")

Members = Mapping[str, Any]


def parse_target(document: object) -> dict[str, Any]:
    """The target with every default filled in; `type` and then exactly the members of that type.

    Raises:
        InvalidRequest: pointers are relative to the target; all problems are named at once.
    """
    if not isinstance(document, Mapping):
        raise InvalidRequest(FieldProblem("#", "a target is an object", EXAMPLE_TARGET))
    kind = document.get("type")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        what = "is missing" if kind is None else f"{_shown(kind)} is unknown"
        detail = f"the type of a target {what}; known types: {', '.join(_READERS)}"
        raise InvalidRequest(FieldProblem("#/type", detail, EXAMPLE_TARGET))
    problems: list[FieldProblem] = []
    target = read(document, problems)
    problems += [
        FieldProblem(f"#/{_escaped(name)}", f"unknown member of a target of type {kind}; known: {', '.join(target)}")
        for name in document
        if name not in target
    ]
    if problems:
        raise InvalidRequest(problems)
    return target


def _read_http(document: Members, problems: list[FieldProblem]) -> dict[str, Any]:
    method = document.get("method", "POST")
    if method not in HTTP_METHODS:
        detail = f"{_shown(method)} is not a method Carillon sends; known: {', '.join(HTTP_METHODS)}"
        problems.append(FieldProblem("#/method", detail, "POST"))
    url = document.get("url")
    if fault := _fault_of_url(url):
        problems.append(FieldProblem("#/url", fault, EXAMPLE_URL))
    headers = document.get("headers", {})
    problems += _faults_of_headers(headers)
    return {"type": "http", "url": url, "method": method, "headers": dict(headers) if not problems else {}}


def _read_handler(document: Members, problems: list[FieldProblem]) -> dict[str, Any]:
    name = document.get("name")
    if not isinstance(name, str) or not _HANDLER_NAME.fullmatch(name):
        detail = "the name of a handler has 1 to 128 characters out of A-Z a-z 0-9 _ . : -"
        problems.append(FieldProblem("#/name", detail, "echo"))
    return {"type": "handler", "name": name}


_READERS: Final[dict[str, Callable[[Members, list[FieldProblem]], dict[str, Any]]]] = {
    "http": _read_http,
    "handler": _read_handler,
}


def _fault_of_url(url: object) -> str | None:
    """Why this is no URL to call, or None."""
    if not isinstance(url, str):
        return "a target of type http needs a url, which is a text"
    if len(url) > MAX_URL_LENGTH:
        return f"a URL has at most {MAX_URL_LENGTH} characters, this one has {len(url)}"
    if found := _NOT_IN_URL.search(url):
        return f"the character {found.group()!r} at position {found.start()} must be percent-encoded (a host: punycode)"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return f"not a URL: {error}"
    if parts.scheme not in {"http", "https"}:
        return f"a URL starts with https:// or http://, not with {_shown(url[:20])}"
    faults: dict[str, bool] = {
        "the URL names no host": not parts.hostname,
        "port 0 cannot be called": port == 0,
        "a URL with a user name or password would store a secret": "@" in parts.netloc,
        "a fragment (#...) is never sent; leave it out": "#" in url,
    }
    return next((fault for fault, applies in faults.items() if applies), None)


def _faults_of_headers(headers: object) -> list[FieldProblem]:
    if not isinstance(headers, Mapping):
        return [FieldProblem("#/headers", "headers are an object of texts", _EXAMPLE_HEADERS)]
    if len(headers) > MAX_HEADERS:
        return [FieldProblem("#/headers", f"at most {MAX_HEADERS} headers, not {len(headers)}", _EXAMPLE_HEADERS)]
    problems: list[FieldProblem] = []
    seen: set[str] = set()
    length = 0
    for name, value in headers.items():
        fault = _fault_of_name(name) or _fault_of_value(value)
        if name.lower() in seen:
            fault = f"the header {name} is there twice in another spelling"
        if fault:
            problems.append(FieldProblem(f"#/headers/{_escaped(name)}", fault, _EXAMPLE_HEADERS["X-Team"]))
        seen.add(name.lower())
        length += len(name) + len(str(value))
    if length > MAX_HEADERS_LENGTH:
        detail = f"headers have at most {MAX_HEADERS_LENGTH} characters together, not {length}"
        problems.append(FieldProblem("#/headers", detail, _EXAMPLE_HEADERS))
    return problems


def _fault_of_name(name: str) -> str | None:
    lower = name.lower()
    if not _HEADER_NAME.fullmatch(name):
        return "a header's name has 1 to 128 characters out of letters, digits and !#$%&'*+.^_`|~-"
    if lower in _TRANSPORT_HEADERS:
        return f"{name} belongs to the connection; Carillon sets what is needed"
    if lower in _SECRET_HEADERS:
        return f"{name} carries a secret, and a stored job must not"
    if lower.startswith(_RESERVED_PREFIXES):
        return f"headers that start with {' or '.join(_RESERVED_PREFIXES)} are Carillon's own"
    return None


def _fault_of_value(value: object) -> str | None:
    if not isinstance(value, str):
        return "a header's value is a text"
    if not _HEADER_VALUE.fullmatch(value):
        return "a header's value is visible ASCII, with blanks and tabs only inside: no line breaks, no NUL"
    return None


def _escaped(name: object) -> str:
    """RFC 6901."""
    return str(name).replace("~", "~0").replace("/", "~1")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:40] + "..."  # noqa: PLR2004 (enough to recognise it)
