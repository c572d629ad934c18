"""Headers that a job may send with its webhook."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from shared.domain.errors import FieldProblem
from shared.domain.limits import MAX_HEADERS, MAX_HEADERS_LENGTH
from shared.domain.templates import escaped

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}", re.ASCII)
_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?|", re.ASCII)
#: Of one connection and not of a request, or set by the sender from the request itself.
_TRANSPORT: Final = frozenset({
    "connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
})  # fmt: skip
#: Their values are secrets, and a stored job carries none.
_SECRET: Final = frozenset({"authorization", "cookie", "proxy-authorization"})
#: By these a proxy says for whom it asks. Receivers inside a network believe it of whoever may call them.
_OF_PROXIES: Final = frozenset({
    "forwarded", "via", "x-forwarded-for", "x-original-forwarded-for", "x-real-ip", "x-client-ip", "true-client-ip",
    "cf-connecting-ip", "x-cluster-client-ip", "x-envoy-external-address",
})  # fmt: skip
#: Carillon's own, by which a receiver verifies and deduplicates.
_RESERVED_PREFIXES: Final = ("carillon-", "webhook-")
_SEPARATORS: Final = re.compile(r"[^a-z0-9]")
_EXAMPLE: Final = {"X-Team": "finance"}


def faults_of_headers(headers: object) -> list[FieldProblem]:
    if not isinstance(headers, Mapping):
        return [FieldProblem("#/headers", "headers are an object of texts", _EXAMPLE)]
    if len(headers) > MAX_HEADERS:
        return [FieldProblem("#/headers", f"at most {MAX_HEADERS} headers, not {len(headers)}", _EXAMPLE)]
    problems: list[FieldProblem] = []
    seen: set[str] = set()
    length = 0
    for name, value in headers.items():
        fault = fault_of_name(name) or _fault_of_value(value)
        if folded(name) in seen:
            fault = f"the header {name} is there twice in another spelling"
        if fault:
            problems.append(FieldProblem(f"#/headers/{escaped(name)}", fault, _EXAMPLE["X-Team"]))
        seen.add(folded(name))
        length += len(name) + len(str(value))
    if length > MAX_HEADERS_LENGTH:
        detail = f"headers have at most {MAX_HEADERS_LENGTH} characters together, not {length}"
        problems.append(FieldProblem("#/headers", detail, _EXAMPLE))
    return problems


def folded(name: str) -> str:
    """As receivers compare names: many map `-`, `_` and other signs to one (CGI, WSGI), and see two names as one."""
    return _SEPARATORS.sub("-", name.lower())


def fault_of_name(name: str) -> str | None:
    """Why no job may send a header of this name with a stored value, or None."""
    plain = folded(name)
    if not _NAME.fullmatch(name):
        return "a header's name has 1 to 128 characters out of letters, digits and !#$%&'*+.^_`|~-"
    if plain in _TRANSPORT:
        return f"{name} belongs to the connection; Carillon sets what is needed"
    if plain in _SECRET:
        return f"{name} carries a secret, and a stored job must not; name it by auth.secret_ref"
    if plain in _OF_PROXIES:
        return f"{name} says for whom a proxy asks; Carillon asks for itself"
    if plain.startswith(_RESERVED_PREFIXES):
        return f"headers that start with {' or '.join(_RESERVED_PREFIXES)} are Carillon's own"
    return None


def _fault_of_value(value: object) -> str | None:
    if not isinstance(value, str):
        return "a header's value is a text"
    if not _VALUE.fullmatch(value):
        return "a header's value is visible ASCII, with blanks and tabs only inside: no line breaks, no NUL"
    return None
