from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

#: What API Gateway lets through for a whole account, unless AWS raised it.
MOST_REQUESTS_PER_SECOND = 10_000
#: More than the shards of the largest fleet take well.
MOST_JOBS = 100_000_000


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class OwnerLimits:
    """What one owner may have, and how much it may ask, with all its keys. None: as `shared/domain/limits.py` says."""

    requests_per_second: Annotated[int, Field(ge=1, le=MOST_REQUESTS_PER_SECOND)] | None = None
    jobs: Annotated[int, Field(ge=1, le=MOST_JOBS)] | None = None

    @property
    def variables(self) -> dict[str, str]:
        """What the API is told of it."""
        told = {"CARILLON_REQUESTS_PER_SECOND": self.requests_per_second, "CARILLON_JOBS_PER_OWNER": self.jobs}
        return {name: str(value) for name, value in told.items() if value is not None}
