from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from infra.settings.limits import MOST_REQUESTS_PER_SECOND

#: What the API takes at most, wherever it is deployed.
MOST_PAYLOAD_BYTES = 128 * 1024


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class ApiSettings:
    """What the API may use of the account, whoever calls it, and what one job may bring.

    `requests_per_second` and `burst` are API Gateway's, for all callers together: above them it answers 429 without
    asking the function, so that a stranger uses up neither the account's rate nor its concurrency. A request takes some
    30 ms, so 500 a second need about 15 functions at once. `reserved_concurrency` None: it shares what the account has
    left; a number also bounds it. `payload_bytes` is of one job's payload as JSON.
    """

    requests_per_second: Annotated[int, Field(ge=1, le=MOST_REQUESTS_PER_SECOND)] = 500
    burst: Annotated[int, Field(ge=1, le=MOST_REQUESTS_PER_SECOND)] = 1000
    reserved_concurrency: Annotated[int, Field(ge=1)] | None = None
    payload_bytes: Annotated[int, Field(ge=1, le=MOST_PAYLOAD_BYTES)] = MOST_PAYLOAD_BYTES

    @property
    def variables(self) -> dict[str, str]:
        """What the function is told of it."""
        return {"CARILLON_PAYLOAD_BYTES": str(self.payload_bytes)} if self.payload_bytes < MOST_PAYLOAD_BYTES else {}
