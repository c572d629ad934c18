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
        owner_id, subject = str(claims.get(self.owner_claim, "")), str(claims.get("sub", ""))
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
        arn, account = str(identity.get("userArn", "")), str(identity.get("accountId", ""))
        principal = _principal_of(arn)
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


def _principal_of(arn: str) -> str:
    """`role:<name>` or `user:<name>`, without path and session; other kinds by their own word."""
    *_, resource = arn.split(":", 5)
    kind, _, rest = resource.partition("/")
    if kind == "assumed-role":
        return f"role:{rest.partition('/')[0]}"
    name = rest.rpartition("/")[2]
    return f"{kind}:{name}" if name else kind
