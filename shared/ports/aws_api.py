from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Role:
    """A role to assume for the call; its trust policy must ask for this external id, which is the owner's."""

    role_arn: str
    external_id: str


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
