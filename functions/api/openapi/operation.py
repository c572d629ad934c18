from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

#: The path of what is done to one job.
OF_JOB: Final = {"job_id": "nightly-report"}


@dataclass(frozen=True, slots=True)
class Operation:
    """`answer` names the schema of the answer of status `status`; `also` are other statuses with the same schema."""

    name: str
    tag: str
    summary: str
    answer: str
    status: int = 200
    also: tuple[int, ...] = ()
    description: str = ""
    #: The schema of the body, where it is not the one of the route's model.
    body: str | None = None
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    example: Any = None
    #: Problems beyond those that every route has.
    problems: tuple[int, ...] = ()


#: By method and path of their routes.
Operations: TypeAlias = Mapping[tuple[str, str], Operation]
