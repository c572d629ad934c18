"""Callers that API Gateway has checked: it puts what it verified into the event, where no client can write.

Without it there (the wrong kind of authorizer, or none) nobody is let in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

from functions.api.callers import Caller, Event
from functions.api.refusals import NotIdentified
from shared.domain.access import Scope
from shared.domain.instants import SECOND
from shared.domain.limits import OWNER_ID
from shared.ports import Clock

#: A scope may be written bare or as one of a resource server: `read`, `carillon/read`, `carillon:read`.
_SCOPE = re.compile(r"(?:carillon[/:.])?(read|write|admin)", re.ASCII)
#: API Gateway hands over a list as `[a b]`.
_PARTS_OF_ARN = 6
_SEPARATORS = re.compile(r"[\s,\[\]]+")


@dataclass(frozen=True, slots=True)
class JwtAuthenticator:
    """A JWT of any OIDC issuer. `owner_claim` names the claim that says whose things it may touch.

    Signature, issuer, audience and times are API Gateway's to check. That a token ends is asked here too: one that
    leaked would be of use for ever.
    """

    owner_claim: str
    scopes_claim: str
    clock: Clock

    def caller_of(self, event: Event) -> Caller:
        claims = _part(event, "jwt").get("claims") or {}
        if not _seconds(claims.get("exp")) * SECOND > self.clock.now():
            raise NotIdentified("the token has no claim exp, or has expired")
        owner_id, subject = _text(claims.get(self.owner_claim)), _text(claims.get("sub"))
        if not OWNER_ID.fullmatch(owner_id):
            raise NotIdentified(f"the token has no claim {self.owner_claim} that can be an owner_id")
        words = _SEPARATORS.split(str(claims.get(self.scopes_claim) or ""))
        scopes = {Scope(found.group(1)) for word in words if (found := _SCOPE.fullmatch(word))}
        return Caller(owner_id, f"jwt:{subject or owner_id}"[:200], frozenset(scopes))


@dataclass(frozen=True, slots=True)
class IamAuthenticator:
    """A signed request. What a principal may call is said by IAM policies; only `admins` have scope admin besides."""

    #: `account` or `principal`: the role or user.
    owner_claim: str
    admins: frozenset[str]

    def caller_of(self, event: Event) -> Caller:
        identity = _part(event, "iam")
        arn, account = _text(identity.get("userArn")), _text(identity.get("accountId"))
        principal = _principal_of(arn, own_account=_text(event["requestContext"].get("accountId")))
        owner_id = account if self.owner_claim == "account" else principal
        if not OWNER_ID.fullmatch(owner_id):
            raise NotIdentified(f"the signature names no {self.owner_claim} that can be an owner_id")
        scopes = {Scope.READ, Scope.WRITE} | ({Scope.ADMIN} if principal in self.admins else set())
        return Caller(owner_id, f"iam:{principal or account}", frozenset(scopes))


def _seconds(claim: object) -> float:
    """Of a claim that is a time, which API Gateway hands over as text; nan, which compares to nothing, of any other."""
    try:
        seconds = float(str(claim))
    except ValueError:
        return nan
    return seconds if isfinite(seconds) else nan


def _part(event: Event, kind: str) -> dict[str, Any]:
    authorizer = (event.get("requestContext") or {}).get("authorizer") or {}
    found = authorizer.get(kind)
    if not isinstance(found, dict):
        raise NotIdentified(f"API Gateway did not say who calls; its authorizer must be of kind {kind}")
    return found


def _text(claim: object) -> str:
    """Empty for what names nobody: null, a list, an object."""
    return str(claim) if isinstance(claim, str | int) and not isinstance(claim, bool) else ""


def _principal_of(arn: str, *, own_account: str) -> str:
    """`role:<name>` or `user:<name>`, without path and session; other kinds by their own word. One of another account
    than the API's own has its account before that: names say who somebody is within an account only.
    """
    parts = arn.split(":", _PARTS_OF_ARN - 1)
    if len(parts) != _PARTS_OF_ARN:
        return ""
    *_, account, resource = parts
    kind, _, rest = resource.partition("/")
    name = rest.partition("/")[0] if kind == "assumed-role" else rest.rpartition("/")[2]
    local = f"{'role' if kind == 'assumed-role' else kind}:{name}" if name else kind
    return local if account == own_account else f"{account}:{local}"
