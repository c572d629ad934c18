from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

#: What a fresh table on demand takes at once, and AWS refuses less as a wish.
LEAST_READS = 12_000
LEAST_WRITES = 4_000


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class WarmThroughput:
    """What the tables of jobs, schedules and runs take at once before they have grown by themselves; paid once.

    It is needed by whoever moves a large number of jobs in, or has a first herd: a fresh table throttles above it.
    """

    reads_per_second: Annotated[int, Field(ge=LEAST_READS)] = LEAST_READS
    writes_per_second: Annotated[int, Field(ge=LEAST_WRITES)] = LEAST_WRITES
