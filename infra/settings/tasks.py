from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

GIB = 1024
#: What Fargate offers: for each number of CPU units, the smallest and largest memory and the step between, in MiB.
_MEMORY = MappingProxyType(
    {
        256: (512, 2 * GIB, GIB),
        512: (GIB, 4 * GIB, GIB),
        1024: (2 * GIB, 8 * GIB, GIB),
        2048: (4 * GIB, 16 * GIB, GIB),
        4096: (8 * GIB, 30 * GIB, GIB),
    }
)


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class TaskSettings:
    """A service on Fargate: `tasks` of them, and up to `most` when they are busy."""

    tasks: Annotated[int, Field(ge=0, le=500)] = 2
    most: Annotated[int, Field(ge=1, le=1000)] = 6
    cpu_units: int = 256
    memory_mb: int = 512

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.cpu_units not in _MEMORY:
            raise ValueError(f"cpu_units {self.cpu_units} is no size of Fargate: choose {', '.join(map(str, _MEMORY))}")
        least, largest, step = _MEMORY[self.cpu_units]
        is_offered = least <= self.memory_mb <= largest and (self.memory_mb == least or self.memory_mb % step == 0)
        if not is_offered:
            raise ValueError(
                f"memory_mb {self.memory_mb} does not go with cpu_units {self.cpu_units}: "
                f"choose {least} to {largest} in steps of {step}"
            )
        if self.most < self.tasks:
            raise ValueError(f"most ({self.most}) must be at least tasks ({self.tasks}): raise it")
        return self
