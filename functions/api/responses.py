"""Every answer of the API: JSON, or a problem by RFC 9457. `KINDS` is the one table from errors to HTTP."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from aws_lambda_powertools.event_handler.api_gateway import Response

from functions.api import refusals
from shared.domain.errors import (
    FieldProblem,
    InvalidRequest,
    OutcomeUnknown,
    PayloadTooLarge,
    StoreContended,
    StoredUnreadable,
    StoreError,
    StoreThrottled,
)
from shared.domain.limits import MAX_PROBLEMS

#: Where the README explains each kind of error; `type` of a problem is an anchor in it. It is an identifier, which must
#: stay the same for ever: the page of the repository shows the README, whatever its branches are called.
PROBLEMS_URL: Final = "https://github.com/carillon-scheduler/carillon#errors-"
RETRY_AFTER_SECONDS: Final = 2
#: Characters of a pointer, and of what is said of it: either may repeat what the caller sent.
_LONGEST_POINTER: Final = 300
_LONGEST_DETAIL: Final = 600

_JSON: Final = "application/json"
#: Of every answer. A browser must neither keep it nor guess at what it is: a text that a caller stored, and that looks
#: like a page, would else be run as one.
_ALWAYS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

Answer = Response[str]


@dataclass(frozen=True, slots=True)
class Kind:
    status: HTTPStatus
    slug: str
    title: str
    #: Instead of the exception's own words, which may tell too much.
    detail: str | None = None
    is_temporary: bool = False


_AGAIN = "nothing was written; repeat the request after a pause"
_PERHAPS = (
    "it may have happened or not; repeat the request with the same Idempotency-Key, or read what is there, before "
    "sending another"
)

#: The first row whose class fits decides, so narrower classes stand above wider ones.
KINDS: Final[tuple[tuple[type[Exception], Kind], ...]] = (
    (PayloadTooLarge, Kind(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-large", "The request is too large")),
    (InvalidRequest, Kind(HTTPStatus.BAD_REQUEST, "invalid-request", "The request is not valid")),
    (refusals.BodyUnreadable, Kind(HTTPStatus.BAD_REQUEST, "unreadable-body", "The body is not a JSON object")),
    (refusals.BodyTooLarge, Kind(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-large", "The request is too large")),
    (refusals.MediaTypeUnsupported, Kind(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "media-type", "Unknown kind of body")),
    (refusals.Unauthenticated, Kind(HTTPStatus.UNAUTHORIZED, "unauthenticated", "No valid key")),
    (refusals.NotIdentified, Kind(HTTPStatus.UNAUTHORIZED, "not-identified", "The caller is no owner")),
    (refusals.TooManyRequests, Kind(HTTPStatus.TOO_MANY_REQUESTS, "too-many-requests", "Too many requests")),
    (refusals.ScopeMissing, Kind(HTTPStatus.FORBIDDEN, "scope-missing", "The key may not do this")),
    (refusals.RouteUnknown, Kind(HTTPStatus.NOT_FOUND, "unknown-route", "There is no such route")),
    (refusals.MethodUnknown, Kind(HTTPStatus.METHOD_NOT_ALLOWED, "unknown-method", "The route has no such method")),
    (refusals.NotAttempted, Kind(HTTPStatus.SERVICE_UNAVAILABLE, "not-attempted", "Not attempted", None, True)),
    (refusals.JobNotFound, Kind(HTTPStatus.NOT_FOUND, "job-not-found", "There is no such job")),
    (refusals.RunNotFound, Kind(HTTPStatus.NOT_FOUND, "run-not-found", "There is no such run")),
    (refusals.RunNotRetryable, Kind(HTTPStatus.CONFLICT, "run-not-retryable", "The run cannot be retried")),
    (refusals.JobExists, Kind(HTTPStatus.CONFLICT, "job-exists", "The job exists")),
    (refusals.JobEnded, Kind(HTTPStatus.CONFLICT, "job-ended", "The job has ended")),
    (refusals.ChangeContended, Kind(HTTPStatus.CONFLICT, "contended", "The job is being changed")),
    (refusals.TooManyJobs, Kind(HTTPStatus.CONFLICT, "too-many-jobs", "The owner has no room for more jobs")),
    (refusals.KeyNotFound, Kind(HTTPStatus.NOT_FOUND, "key-not-found", "There is no such key")),
    (refusals.GrantNotFound, Kind(HTTPStatus.NOT_FOUND, "grant-not-found", "There is no such grant")),
    (refusals.TooManyKeys, Kind(HTTPStatus.CONFLICT, "too-many", "There is no room for another one")),
    (refusals.TooManySigningKeys, Kind(HTTPStatus.CONFLICT, "too-many", "There is no room for another one")),
    (refusals.TooManyGrants, Kind(HTTPStatus.CONFLICT, "too-many", "There is no room for another one")),
    (refusals.MadeBefore, Kind(HTTPStatus.CONFLICT, "made-before", "It was made before")),
    (refusals.PreconditionFailed, Kind(HTTPStatus.PRECONDITION_FAILED, "precondition", "The job has changed")),
    (refusals.KeyReused, Kind(HTTPStatus.UNPROCESSABLE_ENTITY, "key-reused", "The Idempotency-Key was used before")),
    (StoreThrottled, Kind(HTTPStatus.SERVICE_UNAVAILABLE, "busy", "Too busy at this moment", _AGAIN, True)),
    (StoreContended, Kind(HTTPStatus.SERVICE_UNAVAILABLE, "busy", "Too busy at this moment", _AGAIN, True)),
    (
        OutcomeUnknown,
        Kind(HTTPStatus.SERVICE_UNAVAILABLE, "outcome-unknown", "The outcome is not known", _PERHAPS, True),
    ),
    (
        StoredUnreadable,
        Kind(HTTPStatus.INTERNAL_SERVER_ERROR, "stored-unreadable", "What is stored cannot be read"),
    ),
    (
        Exception,
        Kind(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", "Carillon failed", "the log has more under this instance"),
    ),
)


def kind_of(error: Exception) -> Kind:
    return next(kind for fits, kind in KINDS if isinstance(error, fits))


def is_fault(error: Exception) -> bool:
    """Carillon's own fault, which an operator must see, and not the caller's."""
    return kind_of(error).status >= HTTPStatus.INTERNAL_SERVER_ERROR or isinstance(error, StoreError)


def answer(document: object, *, status: HTTPStatus = HTTPStatus.OK, headers: dict[str, str] | None = None) -> Answer:
    return _response(status, _JSON, encoded(document), headers or {})


def page_answer(items: Sequence[str], cursor: str | None, unreadable: Sequence[str] = ()) -> Answer:
    """Of a page whose items are encoded already."""
    left_out = f',"unreadable":{encoded(list(unreadable))}' if unreadable else ""
    body = f'{{"items":[{",".join(items)}],"next_cursor":{encoded(cursor)}{left_out}}}'
    return _response(HTTPStatus.OK, _JSON, body, {})


def encoded(document: object) -> str:
    """As it is answered: ASCII, so that whatever a caller sent can be shown back."""
    return json.dumps(document, separators=(",", ":"))


def problem_document(error: Exception, request_id: str, *, most_problems: int = MAX_PROBLEMS) -> dict[str, Any]:
    """What explains `error`: of a request with many problems the first ones, and how many there are."""
    kind = kind_of(error)
    document: dict[str, Any] = {
        "type": PROBLEMS_URL + kind.slug,
        "title": kind.title,
        "status": int(kind.status),
        "detail": kind.detail or _detail_of(error),
        "instance": request_id,
    }
    if isinstance(error, InvalidRequest):
        document["errors"] = [_field_document(each) for each in error.problems[:most_problems]]
    return document


def problem(error: Exception, request_id: str) -> Answer:
    """The answer that explains `error`."""
    kind = kind_of(error)
    document = problem_document(error, request_id)
    headers = dict(error.headers) if isinstance(error, refusals.Refused) else {}
    if kind.is_temporary:
        headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return _response(kind.status, "application/problem+json", encoded(document), headers)


def _detail_of(error: Exception) -> str:
    if not isinstance(error, InvalidRequest):
        return _cut(str(error), _LONGEST_DETAIL)
    first, *others = error.problems
    field = first.pointer.removeprefix("#").removeprefix("/").replace("/", ".")
    # Some begin with the name of their field themselves.
    is_named = not field or first.detail.startswith((f"{field} ", f"{field.rpartition('.')[2]} is "))
    said = first.detail if is_named else f"{_cut(field, _LONGEST_POINTER)}: {first.detail}"
    more = f" (and {len(others)} more)" if others else ""
    return _cut(said, _LONGEST_DETAIL) + more


def _field_document(found: FieldProblem) -> dict[str, Any]:
    pointer, detail = _cut(found.pointer, _LONGEST_POINTER), _cut(found.detail, _LONGEST_DETAIL)
    document: dict[str, Any] = {"pointer": pointer, "detail": detail}
    if found.example is not None:
        document["example"] = found.example
    return document


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length] + "..."


def _response(status: HTTPStatus, content_type: str, body: str, headers: dict[str, str]) -> Answer:
    return Response(
        status_code=int(status),
        content_type=content_type,
        body=body,
        headers={**_ALWAYS, **headers},
    )
