"""The places of an owner's runs, where a deployment gives the owner a maximum: pure.

They are spread over rows of ten, so that no row is hot and none is long. A run takes a place in one of a few rows;
which ones differs from claim to claim, so that a waiting run in time looks everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from shared.domain.keys import RunKey, job_id_of, owner_of

PLACES_A_ROW = 10
#: By one claim: a refused one costs a write, and one that found all of these full is not far from the maximum.
MOST_ROWS_TRIED = 4
#: The name under which a deployment sets the maximum of every owner that has none of its own; no owner is called so.
EVERYONE = "*"


@dataclass(frozen=True, slots=True)
class OwnerMaximums:
    """How many runs of an owner may go on at once."""

    by_owner: Mapping[str, int] = field(default_factory=dict)

    def of(self, owner_id: str) -> int | None:
        """None: any number, and nobody counts."""
        return self.by_owner.get(owner_id, self.by_owner.get(EVERYONE))


class PlaceRow(NamedTuple):
    key: str
    #: How many places it has.
    limit: int


def rows_for(run: RunKey, token: int, *, maximum: int) -> list[PlaceRow]:
    """Where this claim of the run looks for a place, the first choice first."""
    count = -(-maximum // PLACES_A_ROW)
    first = int.from_bytes(sha256(f"{run.job_key}/{run.run_id}/{token}".encode()).digest()[:8], "big")
    tried = [(first + step) % count for step in range(min(count, MOST_ROWS_TRIED))]
    share, rest = divmod(maximum, count)
    return [PlaceRow(f"{owner_of(run.job_key)}/.places.{number}", share + (number < rest)) for number in tried]


def holder_id(run: RunKey) -> str:
    """Of one owner's runs no two have the same: a run_id has no underscore."""
    return f"{run.run_id}_{job_id_of(run.job_key)}"
