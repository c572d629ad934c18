"""Waiting for a condition of the running system, with a time-out."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TypeVar
from uuid import uuid4

T = TypeVar("T")
#: Keeps the ids of two runs of the tests on one stack apart.
RUN = uuid4().hex[:6]
LOOK_SECONDS = 0.2
_numbers = count(1)


def unique(name: str) -> str:
    """A job id that nobody used before."""
    return f"{name}-{RUN}-{next(_numbers)}"


def wait_for(look: Callable[[], T | None], *, seconds: float, what: str) -> T:
    """What `look` finds, as soon as it finds something; fails after the time."""
    give_up_at = time.monotonic() + seconds
    while time.monotonic() < give_up_at:
        found = look()
        if found:
            return found
        time.sleep(LOOK_SECONDS)
    raise AssertionError(f"not within {seconds} s: {what}")


def in_seconds(seconds: float) -> str:
    """An instant from now, as the API reads it."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
