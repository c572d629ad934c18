"""Which answers lead to which operations: what one made, the other takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

#: By operation: the parameter that its answer's member of the same name fills, of these operations.
_MADE: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "createJob": (
        "job_id",
        (
            "getJob", "patchJob", "putJob", "cancelJob", "pauseJob", "resumeJob", "explainJob", "runJob", "backfillJob",
            "listRuns",
        ),
    ),
    "createKey": ("key_id", ("revokeKey",)),
    "createSigningKey": ("key_id", ("deleteSigningKey",)),
    "createGrant": ("grant_id", ("deleteGrant",)),
}  # fmt: skip


def links_of(name: str) -> dict[str, Any]:
    if name == "runJob":
        parameters = {"job_id": "$request.path.job_id", "run_id": "$response.body#/run_id"}
        return {"getRun": {"operationId": "getRun", "parameters": parameters}}
    if name not in _MADE:
        return {}
    parameter, operations = _MADE[name]
    parameters = {parameter: f"$response.body#/{parameter}"}
    return {each: {"operationId": each, "parameters": parameters} for each in operations}
