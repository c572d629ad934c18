"""Who calls, whatever told it: a key, a token's claims, or an IAM principal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from functions.api.refusals import ScopeMissing
from shared.domain.access import Scope
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.instants import Instant
from shared.domain.limits import OWNER_ID

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Caller:
    """`owner_id` is whose things it acts on; `name` is how records say who did it. `expires_at` is of an API key."""

    owner_id: str
    name: str
    scopes: frozenset[Scope]
    expires_at: Instant | None = None

    def require(self, scope: Scope) -> None:
        """Raises ScopeMissing. A caller has exactly the scopes it was given: write does not imply read."""
        if scope not in self.scopes:
            raise ScopeMissing(scope, self.scopes)

    def on_behalf_of(self, owner_id: str) -> Caller:
        """The same caller, acting on another owner's things. Raises ScopeMissing, InvalidRequest."""
        if owner_id == self.owner_id:
            return self
        self.require(Scope.ADMIN)
        check_owner_id(owner_id)
        return replace(self, owner_id=owner_id)


#: Of the routes that are open to all.
ANONYMOUS: Final = Caller("", "", frozenset())


class Authenticator(Protocol):
    def caller_of(self, event: Event) -> Caller:
        """The caller behind an event of the HTTP API. Raises Unauthenticated."""
        ...


def check_owner_id(owner_id: str) -> None:
    """Raises InvalidRequest."""
    if not OWNER_ID.fullmatch(owner_id):
        detail = "an owner_id has 1 to 64 characters out of A-Z a-z 0-9 _ . : @ | + = -"
        raise InvalidRequest(FieldProblem("#/owner_id", detail, "acme"))
