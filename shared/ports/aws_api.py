from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

#: What AWS takes in no external id, and no owner's id has in it.
_BAR, _IN_ITS_PLACE = "|", "/"
_SHORTEST_EXTERNAL_ID = 2
_SESSION_NAME = "carillon"
_LONGEST_SESSION_NAME = 64


@dataclass(frozen=True, slots=True)
class Role:
    """A role to assume for the call, on behalf of an owner."""

    role_arn: str
    owner_id: str

    @property
    def external_id(self) -> str:
        """What the role's trust policy must ask for: the owner's id, as far as AWS takes it (2 to 1,224 characters out
        of letters, digits and `_+=,.@:/-`). No two owners have the same.
        """
        told = self.owner_id.replace(_BAR, _IN_ITS_PLACE)
        return told if len(told) >= _SHORTEST_EXTERNAL_ID else f",{told}"

    @property
    def session_name(self) -> str:
        """What CloudTrail shows of the call: for whom it was made, as far as AWS takes it."""
        return f"{_SESSION_NAME}-{re.sub(r'[^A-Za-z0-9_+=,.@-]', '-', self.owner_id)}"[:_LONGEST_SESSION_NAME]


@dataclass(frozen=True, slots=True)
class AwsCall:
    """One call; its parameters are never logged."""

    #: boto3's names, such as `sqs` and `SendMessage`.
    client: str
    operation: str
    parameters: Mapping[str, Any] = field(repr=False)
    region: str
    timeout_ms: int
    #: None: as the worker itself.
    role: Role | None = None
    #: The header of the trace that the called service is to continue.
    trace: str | None = None


class AwsApi(Protocol):
    """Any API of AWS, for targets: each call is made once, and its caller decides about another."""

    def call(self, call: AwsCall) -> Mapping[str, Any]:
        """The answer, as boto3 gives it.

        Raises:
            StoreThrottled: refused because of its rate.
            WriteRefused: certainly not done: refused, never sent, or the role could not be assumed.
            OutcomeUnknown: sent, and not answered in time or with a 5xx: perhaps done.
        """
        ...
