"""What the answer of a webhook means."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from functions.worker.targets import Outcome, failed, succeeded
from functions.worker.targets.http_exchange import Answer
from shared.domain.instants import SECOND, Instant
from shared.domain.targets.successes import DEFAULT_SUCCESS, is_success

_SECONDS = re.compile(r"[0-9]+")
#: More than this nobody means: policies end long before.
_MOST_DIGITS = 12
_FURTHEST_MS = 10**_MOST_DIGITS * SECOND


def outcome_of(answer: Answer, host: str, *, success: str = DEFAULT_SUCCESS, now: Instant) -> Outcome:
    if is_success(success, answer.status):
        return replace(succeeded(answer.text), http_status=answer.status)
    failure = failed(
        f"http_{answer.status // 100}xx",
        f"{host} answered {answer.status}",
        output=answer.text,
        retry_after_ms=retry_after_ms(answer.header(b"retry-after"), now),
        is_permanent=answer.status == HTTPStatus.GONE,
    )
    return replace(failure, http_status=answer.status)


def retry_after_ms(value: bytes | None, now: Instant) -> int | None:
    """Of a `Retry-After`, which says seconds or a date; None when it says neither. Raises nothing, whatever it says."""
    text = "" if value is None else value.decode("latin-1").strip()
    if _SECONDS.fullmatch(text):
        return _FURTHEST_MS if len(text) > _MOST_DIGITS else int(text) * SECOND
    try:
        date = parsedate_to_datetime(text)
        at = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
        return max(0, int(at.timestamp() * SECOND) - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
