"""Which lane a job's runs go to: chosen by the user, or by how long they may take."""

from __future__ import annotations

from collections.abc import Collection

from shared.domain.durations import format_duration
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.limits import MAX_LAMBDA_TIMEOUT_MS
from shared.schema import CATCH_UP_LANE, DEFAULT_LANE, LONG_LANE


def lane_for(lane: str | None, *, timeout_ms: int) -> str:
    """Raises InvalidRequest."""
    is_long = timeout_ms > MAX_LAMBDA_TIMEOUT_MS
    if lane is None:
        return LONG_LANE if is_long else DEFAULT_LANE
    if is_long and lane != LONG_LANE:
        detail = (
            f"a timeout over {format_duration(MAX_LAMBDA_TIMEOUT_MS)} needs lane {LONG_LANE}, for other lanes may be "
            "worked by Lambda, which ends earlier; leave lane out to have it chosen"
        )
        raise InvalidRequest(FieldProblem("#/lane", detail, LONG_LANE))
    return lane


def check_lane(lane: str, lanes: Collection[str]) -> None:
    """Whether a job may choose it among those of the deployment. Raises InvalidRequest."""
    # What is late goes to the catch-up lane by itself.
    choosable = [each for each in lanes if each != CATCH_UP_LANE]
    if lane not in choosable:
        detail = f"there is no lane {lane!r} to choose; there are {', '.join(choosable)}"
        raise InvalidRequest(FieldProblem("#/lane", detail, DEFAULT_LANE))
