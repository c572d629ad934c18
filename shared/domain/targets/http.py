"""A webhook: one request to a public address."""

from __future__ import annotations

from typing import Any, Final

from shared.domain.durations import format_duration, parse_duration
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.grants import HTTP, SECRET, Use
from shared.domain.instants import SECOND
from shared.domain.limits import MAX_PAYLOAD_BYTES, MAX_REDIRECTS
from shared.domain.targets.auth import read_auth
from shared.domain.targets.headers import faults_of_headers
from shared.domain.targets.reading import Members, read_templates, shown
from shared.domain.targets.successes import DEFAULT_SUCCESS, parse_success
from shared.domain.targets.urls import fault_of_url, host_of
from shared.domain.templates import faults_of

HTTP_METHODS: Final = ("POST", "GET", "PUT", "PATCH", "DELETE", "HEAD")
EXAMPLE_URL: Final = "https://example.com/hook"
DEFAULT_CONNECT_TIMEOUT: Final = "PT5S"
MAX_CONNECT_TIMEOUT_MS: Final = 30 * SECOND


def read(document: Members, problems: list[FieldProblem]) -> dict[str, Any]:
    method = document.get("method", "POST")
    if method not in HTTP_METHODS:
        detail = f"{shown(method)} is not a method Carillon sends; known: {', '.join(HTTP_METHODS)}"
        problems.append(FieldProblem("#/method", detail, "POST"))
    url = document.get("url")
    templates = read_templates(document, problems)
    if fault := fault_of_url(url, is_templated=templates):
        problems.append(FieldProblem("#/url", fault, EXAMPLE_URL))
    headers = document.get("headers", {})
    faults = faults_of_headers(headers)
    problems += faults
    found = {
        "type": "http",
        "url": url,
        "method": method,
        "headers": {} if faults else dict(headers),
        "body": _read_body(document.get("body"), problems),
        "auth": read_auth(document.get("auth"), problems),
        "success": _read_success(document.get("success", DEFAULT_SUCCESS), problems),
        "connect_timeout": _read_connect_timeout(document.get("connect_timeout", DEFAULT_CONNECT_TIMEOUT), problems),
        "max_redirects": _read_redirects(document.get("max_redirects", 0), problems),
        "templates": templates,
    }
    if templates:
        problems += faults_of({name: found[name] for name in ("url", "headers", "body")})
    return found


def uses(target: Members, _region: str) -> tuple[Use, ...]:
    host = Use(HTTP, host_of(target["url"]), "#/url")
    auth = target.get("auth")
    return (host,) if auth is None else (host, Use(SECRET, auth["secret_ref"], "#/auth/secret_ref", host=host.resource))


def _read_body(body: object, problems: list[FieldProblem]) -> object:
    """A text that is sent instead of the payload, or None."""
    if body is not None and not isinstance(body, str):
        detail = "body is a text, sent as it is; leave it out to send the payload as JSON"
        problems.append(FieldProblem("#/body", detail, "run {{run_id}}"))
    elif body is not None and len(body.encode(errors="replace")) > MAX_PAYLOAD_BYTES:
        detail = f"a body has at most {MAX_PAYLOAD_BYTES} bytes"
        problems.append(FieldProblem("#/body", detail, "run {{run_id}}"))
    return body


def _read_success(success: object, problems: list[FieldProblem]) -> object:
    if parse_success(success) is None:
        detail = f"{shown(success)} does not say which statuses are a success, such as 2xx or 200-299,404"
        problems.append(FieldProblem("#/success", detail, "200-299,404"))
    return success


def _read_connect_timeout(text: object, problems: list[FieldProblem]) -> object:
    try:
        timeout_ms = parse_duration(text, "#/connect_timeout")
    except InvalidRequest as error:
        problems += error.problems
        return text
    if not 0 < timeout_ms <= MAX_CONNECT_TIMEOUT_MS:
        detail = f"{text} is not above PT0S and at most {format_duration(MAX_CONNECT_TIMEOUT_MS)}"
        problems.append(FieldProblem("#/connect_timeout", detail, DEFAULT_CONNECT_TIMEOUT))
    return text


def _read_redirects(count: object, problems: list[FieldProblem]) -> object:
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MAX_REDIRECTS:
        detail = f"max_redirects is 0 (none is followed) to {MAX_REDIRECTS}"
        problems.append(FieldProblem("#/max_redirects", detail, 0))
    return count
