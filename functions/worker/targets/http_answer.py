"""What the answer of a webhook means."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError, ReadTimeoutError

from functions.worker.targets import Outcome, failed, succeeded
from shared.domain.instants import SECOND, Instant
from shared.domain.limits import MAX_OUTPUT_BYTES
from shared.domain.targets.successes import DEFAULT_SUCCESS, is_success

_SECONDS = re.compile(r"\d{1,9}", re.ASCII)


def outcome_of(response: BaseHTTPResponse, host: str, *, success: str = DEFAULT_SUCCESS, now: Instant) -> Outcome:
    """Reads the body, as far as a run stores it. Raises ReadTimeoutError."""
    body = start_of_body(response)
    status = response.status
    if is_success(success, status):
        return succeeded(body)
    failure = failed(
        f"http_{status // 100}xx",
        f"{host} answered {status}",
        output=body,
        retry_after_ms=retry_after_ms(response.headers.get("Retry-After"), now),
        is_permanent=status == HTTPStatus.GONE,
    )
    return replace(failure, http_status=status)


def start_of_body(response: BaseHTTPResponse) -> str | None:
    """The status has been given by then: a body that breaks off changes nothing. Raises ReadTimeoutError.

    The connection is closed: what else its receiver may send is nobody's answer.
    """
    try:
        body = response.read(MAX_OUTPUT_BYTES + 1)
    except ReadTimeoutError:
        raise
    except HTTPError:
        body = b""
    finally:
        response.close()
    return body.decode(errors="replace") or None


def retry_after_ms(text: str | None, now: Instant) -> int | None:
    """Of a `Retry-After`, which says seconds or a date; None when it says neither."""
    if text is None:
        return None
    if _SECONDS.fullmatch(text.strip()):
        return int(text) * SECOND
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    at = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return max(0, int(at.timestamp() * SECOND) - now)
