from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

#: Who works a lane: `lambda` costs nothing while idle, `lambda-warm` keeps pollers, `ecs` holds the drift budget.
Host = Literal["lambda", "lambda-warm", "ecs"]

#: Part of variables and of outputs, where `undelivered` means something else already.
LANE_NAME = re.compile(r"(?!undelivered$)[a-z][a-z0-9]{0,31}", re.ASCII)

#: AWS accepts no other value for the concurrency of an event source mapping.
LEAST_CONCURRENCY = 2
MOST_CONCURRENCY = 1000


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class LaneSettings:
    """Who works one lane; `concurrency` is how many batches of ten run at once on Lambda."""

    host: Host
    concurrency: Annotated[int, Field(ge=LEAST_CONCURRENCY, le=MOST_CONCURRENCY)]

    @property
    def is_on_lambda(self) -> bool:
        return self.host != "ecs"
