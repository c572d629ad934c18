"""Jobs of a group or a tag, paused, resumed or cancelled together."""

from __future__ import annotations

from typing import Final

from functions.api.openapi.operation import Operation, Operations
from functions.api.openapi.shapes import (
    CANCEL_OUTCOME,
    COUNT,
    CURSOR,
    JOB_ID_SCHEMA,
    RUN_IDS,
    STATUS,
    TEXT,
    Schema,
    record,
    ref,
)

_SELECTED: Final = {"group": "billing"}
_SELECT: Final = (
    "At most 100 jobs at a time: repeat it with `cursor` until `next_cursor` is null. A job created a moment ago may "
    "be missed. Repeated with its Idempotency-Key it is about the same jobs."
)

OPERATIONS: Final[Operations] = {
    ("POST", "/v1/jobs:pause"): Operation(
        "pauseJobs",
        "bulk",
        "Pause the jobs of a group or tag",
        "BulkResult",
        example=_SELECTED,
        description=_SELECT,
        problems=(422,),
    ),
    ("POST", "/v1/jobs:resume"): Operation(
        "resumeJobs",
        "bulk",
        "Resume the jobs of a group or tag",
        "BulkResult",
        example=_SELECTED,
        description=_SELECT,
        problems=(422,),
    ),
    ("POST", "/v1/jobs:cancel"): Operation(
        "cancelJobs",
        "bulk",
        "Cancel the jobs of a group or tag",
        "BulkResult",
        example={"tags": {"team": "finance"}, "limit": 50},
        description=_SELECT,
        problems=(422,),
    ),
}

SCHEMAS: Final[dict[str, Schema]] = {
    "BulkResult": record(
        {
            "changed": COUNT,
            "items": {
                "type": "array",
                "items": record(
                    {
                        "job_id": JOB_ID_SCHEMA,
                        "status": STATUS,
                        "problem": ref("Problem"),
                        "state": TEXT,
                        "outcome": CANCEL_OUTCOME,
                        "run_ids": RUN_IDS,
                        "run_count": COUNT,
                    },
                    optional=("problem", "state", "outcome", "run_ids", "run_count"),
                ),
            },
            "next_cursor": CURSOR,
        }
    ),
}
