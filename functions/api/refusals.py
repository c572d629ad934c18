"""What the API refuses, other than bad input (`InvalidRequest`) and broken stores (`StoreError`).

Refused
  x RouteUnknown · MethodUnknown            nothing here answers that
  x Unauthenticated · NotIdentified         who calls
  x ScopeMissing · TooManyRequests          what the caller may do, and how often
  x NotAttempted                            a part of a request that came too late in it
  x BodyUnreadable · BodyTooLarge · MediaTypeUnsupported
  x JobNotFound · RunNotFound · KeyNotFound · GrantNotFound
                                            does not exist, or belongs to another owner: nobody can tell
  x RunNotRetryable                         the run is not in a state for it
  x JobExists · JobEnded · ChangeContended · TooManyJobs  the job is not in a state for it
  x TooManyKeys · TooManySigningKeys · TooManyGrants
  x PreconditionFailed · KeyReused · MadeBefore  the request contradicts an earlier one
"""

from __future__ import annotations

from collections.abc import Iterable

from shared.domain.access import Scope
from shared.domain.errors import CarillonError


class Refused(CarillonError):
    """`detail` is for people; `headers` go with the answer."""

    def __init__(self, detail: str, *, headers: dict[str, str] | None = None) -> None:
        self.detail = detail
        self.headers = headers or {}
        super().__init__(detail)


class RouteUnknown(Refused):
    def __init__(self, path: str) -> None:
        super().__init__(f"nothing is at {path!r}; every route starts with /v1/ and has no slash at its end")


class MethodUnknown(Refused):
    def __init__(self, method: str, allowed: Iterable[str]) -> None:
        listed = ", ".join(sorted(allowed))
        super().__init__(f"{method} is not possible here; use {listed}", headers={"Allow": listed})


class Unauthenticated(Refused):
    """Missing, wrong, revoked and expired keys are answered alike, so that nothing is learned by trying."""

    def __init__(self, *, was_given: bool) -> None:
        challenge = 'Bearer realm="carillon"' + (', error="invalid_token"' if was_given else "")
        detail = "this key is not valid" if was_given else "send a key: Authorization: Bearer crl_<key_id>_<secret>"
        super().__init__(detail, headers={"WWW-Authenticate": challenge})


class NotIdentified(Refused):
    """API Gateway let the request in, and yet does not say whose it is."""


class TooManyRequests(Refused):
    def __init__(self, per_second: int, *, retry_after_seconds: int) -> None:
        headers = {"Retry-After": str(retry_after_seconds)}
        super().__init__(f"more than {per_second} requests a second; wait, then repeat", headers=headers)


class ScopeMissing(Refused):
    def __init__(self, needed: Scope, given: Iterable[Scope]) -> None:
        challenge = f'Bearer realm="carillon", error="insufficient_scope", scope="{needed}"'
        listed = ", ".join(sorted(given)) or "none"
        super().__init__(
            f"this needs scope {needed}; the scopes given: {listed}",
            headers={"WWW-Authenticate": challenge},
        )


class BodyUnreadable(Refused):
    """No JSON object."""


class BodyTooLarge(Refused):
    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"the body has {size} bytes; at most {limit} are taken")


class MediaTypeUnsupported(Refused):
    def __init__(self, given: str, accepted: Iterable[str]) -> None:
        listed = ", ".join(accepted)
        super().__init__(f"a body of type {given!r} is not read here; send Content-Type: {listed}")


class NotAttempted(Refused):
    def __init__(self) -> None:
        super().__init__("there was no time left for this one; repeat the request with the same Idempotency-Key")


class JobNotFound(Refused):
    def __init__(self, job_id: str) -> None:
        super().__init__(f"there is no job {job_id!r}")


class RunNotFound(Refused):
    def __init__(self, job_id: str, run_id: str) -> None:
        super().__init__(f"job {job_id!r} has no run {run_id!r}")


class RunNotRetryable(Refused):
    def __init__(self, job_id: str, run_id: str, status: str) -> None:
        super().__init__(
            f"run {run_id!r} of job {job_id!r} is {status}; what can be retried has failed, was cancelled or skipped, "
            "or waits. To run the job once more, POST to its runs"
        )


class JobExists(Refused):
    def __init__(self, job_id: str, state: str) -> None:
        super().__init__(f"a job {job_id!r} exists and is {state}; change it with PATCH, or DELETE it first")


class JobEnded(Refused):
    def __init__(self, job_id: str, state: str) -> None:
        super().__init__(f"job {job_id!r} is {state} and changes no more; DELETE it, then create it again")


class ChangeContended(Refused):
    def __init__(self, job_id: str) -> None:
        super().__init__(f"job {job_id!r} is being changed by others at this moment; read it again, then repeat")


class PreconditionFailed(Refused):
    """`revision` is what the job is at; None: there is no such job."""

    def __init__(self, job_id: str, revision: int | None) -> None:
        is_at = "is not there" if revision is None else f'is at revision "{revision}"'
        super().__init__(
            f"job {job_id!r} {is_at}, which If-Match or If-None-Match does not admit; read it again, then repeat"
        )


class TooManyJobs(Refused):
    def __init__(self, owner_id: str, most: int) -> None:
        super().__init__(
            f"owner {owner_id!r} has {most} jobs, ended ones that are still kept included, and no room for more"
        )


class KeyNotFound(Refused):
    def __init__(self, key_id: str) -> None:
        super().__init__(f"there is no key {key_id!r}")


class GrantNotFound(Refused):
    def __init__(self, grant_id: str) -> None:
        super().__init__(f"there is no grant {grant_id!r}")


class TooManyKeys(Refused):
    def __init__(self, most: int) -> None:
        super().__init__(f"an owner has at most {most} live keys; revoke one first")


class TooManySigningKeys(Refused):
    def __init__(self, most: int) -> None:
        super().__init__(f"an owner has at most {most} signing keys; delete the older one first")


class TooManyGrants(Refused):
    def __init__(self, most: int) -> None:
        super().__init__(f"an owner has at most {most} grants; delete one first")


class MadeBefore(Refused):
    """What the same request made before cannot be shown again."""

    def __init__(self, what: str, access_id: str, *, is_there: bool) -> None:
        there = "a secret is shown once: remove it" if is_there else "it was deleted since"
        super().__init__(
            f"{what} {access_id!r} was made by an earlier request under this Idempotency-Key, and {there}; for another "
            "one use a new Idempotency-Key"
        )


class KeyReused(Refused):
    def __init__(self, idempotency_key: str) -> None:
        super().__init__(
            f"Idempotency-Key {idempotency_key!r} was used for another request in the last 24 hours; use a new one"
        )
