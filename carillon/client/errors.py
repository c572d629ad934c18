"""What the client raises.

CarillonError
  x NoAnswer                 nothing came back; `may_have_happened` says whether the request can have had an effect
  x NotEnded                 `wait_for_run` gave up; the run goes on
  x Problem                  the API said no (RFC 9457): status, kind, title, detail, instance, errors
    + InvalidRequest         `errors` names every field that is wrong, with a fix
      x UnreadableBody · TooLarge · UnknownMediaType
    + Unauthenticated        no key, or one that is wrong, expired or revoked
    + Forbidden              the key has not the scope
    + NotFound               or another owner's
      x JobNotFound · RunNotFound · KeyNotFound · GrantNotFound · UnknownRoute
    + Conflict               what is there does not allow it
      x JobExists · JobEnded · RunNotRetryable · Contended · NoRoom · MadeBefore
    + PreconditionFailed     the job is not at the revision of `if_match`, or is there already
    + KeyReused              the Idempotency-Key stood for another request
    + TooManyRequests
    + Unavailable            for a moment: nothing happened
      x OutcomeUnknown       it may have happened
    + InternalError          Carillon failed; its log has more under `instance`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class FieldError:
    """`pointer` is a JSON pointer into the request, such as `#/schedule/cron`; `example` is a value that would do."""

    pointer: str
    detail: str
    example: Any = None


class CarillonError(Exception):
    """All that the client raises besides wrong arguments.

    It can be copied and pickled, as task queues and process pools do with what a task raised.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # Python would call the class with the message alone.
        return _blank, (type(self), self.args), self.__dict__


def _blank(kind: type[CarillonError], args: tuple[object, ...]) -> CarillonError:
    """An error whose members are still to be set."""
    error = kind.__new__(kind)
    error.args = args
    return error


class NoAnswer(CarillonError):
    def __init__(self, method: str, url: str, reason: str, *, may_have_happened: bool) -> None:
        self.method = method
        self.url = url
        self.may_have_happened = may_have_happened
        effect = "it may have happened" if may_have_happened else "it was not sent"
        super().__init__(f"{method} {url}: no answer ({reason}); {effect}")


class NotEnded(CarillonError):
    """`status` is that of the run when it was last seen; None: no run was there yet."""

    def __init__(self, job_id: str, run_id: str | None, status: str | None, *, waited_seconds: float) -> None:
        self.job_id = job_id
        self.run_id = run_id
        self.status = status
        what = f"run {run_id!r} of job {job_id!r}" if run_id else f"job {job_id!r}"
        seen = "has no run yet" if status is None else f"is {status}"
        super().__init__(f"{what} {seen} after {waited_seconds:g} s")


class Problem(CarillonError):
    """`kind` is the last part of the problem's type, and empty when what said no was not Carillon, but before it."""

    def __init__(self, status: int, document: Mapping[str, Any], *, retry_after_seconds: float | None = None) -> None:
        self.status = status
        self.type = str(document.get("type", ""))
        self.kind = kind_of(document)
        self.title = str(document.get("title") or _phrase(status))
        self.detail = str(document.get("detail") or document.get("message") or "")
        #: The id of the request, under which Carillon's log has more.
        self.instance = str(document.get("instance", ""))
        self.errors = tuple(
            FieldError(str(each.get("pointer", "#")), str(each.get("detail", "")), each.get("example"))
            for each in _listed(document.get("errors"))
        )
        self.retry_after_seconds = retry_after_seconds
        super().__init__(f"{status} {self.kind or self.title}: {self.detail}".rstrip(": "))


class InvalidRequest(Problem):
    pass


class UnreadableBody(InvalidRequest):
    pass


class TooLarge(InvalidRequest):
    pass


class UnknownMediaType(InvalidRequest):
    pass


class Unauthenticated(Problem):
    pass


class Forbidden(Problem):
    pass


class NotFound(Problem):
    pass


class JobNotFound(NotFound):
    pass


class RunNotFound(NotFound):
    pass


class KeyNotFound(NotFound):
    pass


class GrantNotFound(NotFound):
    pass


class UnknownRoute(NotFound):
    pass


class Conflict(Problem):
    pass


class JobExists(Conflict):
    pass


class JobEnded(Conflict):
    pass


class RunNotRetryable(Conflict):
    pass


class Contended(Conflict):
    """Others are changing the job at this moment: read it again, then decide."""


class NoRoom(Conflict):
    """A limit of the owner is reached."""


class MadeBefore(Conflict):
    """The request made something before that cannot be shown again; `detail` names it."""


class PreconditionFailed(Problem):
    pass


class KeyReused(Problem):
    pass


class TooManyRequests(Problem):
    pass


class Unavailable(Problem):
    pass


class OutcomeUnknown(Unavailable):
    pass


class InternalError(Problem):
    pass


KINDS: Final[Mapping[str, type[Problem]]] = {
    "invalid-request": InvalidRequest,
    "unreadable-body": UnreadableBody,
    "too-large": TooLarge,
    "media-type": UnknownMediaType,
    "unauthenticated": Unauthenticated,
    "not-identified": Unauthenticated,
    "scope-missing": Forbidden,
    "unknown-route": UnknownRoute,
    "unknown-method": UnknownRoute,
    "job-not-found": JobNotFound,
    "run-not-found": RunNotFound,
    "key-not-found": KeyNotFound,
    "grant-not-found": GrantNotFound,
    "job-exists": JobExists,
    "job-ended": JobEnded,
    "run-not-retryable": RunNotRetryable,
    "contended": Contended,
    "too-many-jobs": NoRoom,
    "too-many": NoRoom,
    "made-before": MadeBefore,
    "precondition": PreconditionFailed,
    "key-reused": KeyReused,
    "too-many-requests": TooManyRequests,
    "not-attempted": Unavailable,
    "busy": Unavailable,
    "outcome-unknown": OutcomeUnknown,
    "stored-unreadable": InternalError,
    "internal": InternalError,
}
#: For kinds that are newer than this client, and for what API Gateway answers by itself.
STATUSES: Final[Mapping[int, type[Problem]]] = {
    HTTPStatus.BAD_REQUEST: InvalidRequest,
    HTTPStatus.UNAUTHORIZED: Unauthenticated,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.PRECONDITION_FAILED: PreconditionFailed,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: TooLarge,
    HTTPStatus.TOO_MANY_REQUESTS: TooManyRequests,
    HTTPStatus.INTERNAL_SERVER_ERROR: InternalError,
    # From before Carillon, which may have done its part: a gateway says these too when it lost patience.
    HTTPStatus.BAD_GATEWAY: OutcomeUnknown,
    HTTPStatus.SERVICE_UNAVAILABLE: OutcomeUnknown,
    HTTPStatus.GATEWAY_TIMEOUT: OutcomeUnknown,
}


def problem_of(status: int, document: Mapping[str, Any], *, retry_after_seconds: float | None = None) -> Problem:
    kind = KINDS.get(kind_of(document)) or STATUSES.get(status, Problem)
    return kind(status, document, retry_after_seconds=retry_after_seconds)


def kind_of(document: Mapping[str, Any]) -> str:
    """The name behind the last `#errors-` of a problem's type."""
    return str(document.get("type", "")).rpartition("#errors-")[2]


def _listed(errors: object) -> list[Mapping[str, Any]]:
    """What said no may have been something else than Carillon, with errors of another shape."""
    return [each for each in errors if isinstance(each, Mapping)] if isinstance(errors, list) else []


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "no success"
