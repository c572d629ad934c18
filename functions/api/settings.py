"""What a deployment decides about its API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from shared.config import handler_names, lanes
from shared.domain.instants import DAY
from shared.domain.limits import MAX_JOBS_OF_OWNER, MAX_PAYLOAD_BYTES, REQUESTS_PER_SECOND
from shared.schema import LANES

#: Who checks callers: this function (keys), or API Gateway (jwt, iam).
Authentication = Literal["keys", "jwt", "iam"]
OWNER_CLAIMS: Final[Mapping[str, str]] = {"keys": "", "jwt": "sub", "iam": "account"}
IAM_OWNER_CLAIMS: Final = ("account", "principal")


class SettingRefused(Exception):
    """A variable has a value that means nothing."""

    def __init__(self, variable: str, value: str, known: str) -> None:
        self.variable = variable
        super().__init__(f"{variable} is {value!r}; it is {known}")


@dataclass(frozen=True, slots=True)
class ApiSettings:
    authentication: Authentication = "keys"
    #: The claim of a token, or `account` or `principal` of a signature, that says whose things a caller may touch.
    owner_claim: str = ""
    scopes_claim: str = "scope"
    #: `role:<name>` and `user:<name>` that have scope admin, where signatures tell who calls; of another account than
    #: the API's own, `<account>:role:<name>`.
    admins: frozenset[str] = frozenset()
    requests_per_second: int = REQUESTS_PER_SECOND
    jobs_per_owner: int = MAX_JOBS_OF_OWNER
    #: How long the row of a run stays that the API itself ends: cancelled while it waited, or skipped in a pause.
    run_retention_ms: int = 30 * DAY
    #: Of one job's payload as JSON.
    payload_bytes: int = MAX_PAYLOAD_BYTES
    #: Of this deployment.
    lanes: tuple[str, ...] = LANES
    #: Which its workers have; None: nobody could tell.
    handlers: frozenset[str] | None = None


def read_settings(environment: Mapping[str, str]) -> ApiSettings:
    """Raises SettingRefused."""
    mode = environment.get("CARILLON_AUTH") or "keys"
    if mode not in get_args(Authentication):
        raise SettingRefused("CARILLON_AUTH", mode, " or ".join(get_args(Authentication)))
    owner_claim = environment.get("CARILLON_OWNER_CLAIM") or OWNER_CLAIMS[mode]
    if mode == "iam" and owner_claim not in IAM_OWNER_CLAIMS:
        raise SettingRefused("CARILLON_OWNER_CLAIM", owner_claim, " or ".join(IAM_OWNER_CLAIMS))
    return ApiSettings(
        authentication=mode,  # type: ignore[arg-type]  # one of them, as checked above
        owner_claim=owner_claim,
        scopes_claim=environment.get("CARILLON_SCOPES_CLAIM") or "scope",
        admins=frozenset(filter(None, (environment.get("CARILLON_ADMINS") or "").split(","))),
        requests_per_second=_positive(environment, "CARILLON_REQUESTS_PER_SECOND", REQUESTS_PER_SECOND),
        jobs_per_owner=_positive(environment, "CARILLON_JOBS_PER_OWNER", MAX_JOBS_OF_OWNER),
        run_retention_ms=_positive(environment, "CARILLON_RUN_RETENTION_DAYS", 30) * DAY,
        payload_bytes=min(_positive(environment, "CARILLON_PAYLOAD_BYTES", MAX_PAYLOAD_BYTES), MAX_PAYLOAD_BYTES),
        lanes=lanes(environment),
        handlers=handler_names(environment),
    )


def _positive(environment: Mapping[str, str], variable: str, default: int) -> int:
    text = environment.get(variable) or str(default)
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise SettingRefused(variable, text, "a whole number from 1")
    return int(text)
