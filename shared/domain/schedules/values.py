"""What a schedule is: `At`, `Cron` or `Every`, each with the same options. Plain values, validated by `document`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal, TypeAlias

from shared.domain.instants import Instant

Dst: TypeAlias = Literal["run", "skip"]
Excluded: TypeAlias = tuple[tuple[date, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Bounds are inclusive. `end_at` is the effective end: the earlier of the one given and the last of `max_runs`."""

    start_at: Instant | None = None
    end_at: Instant | None = None
    given_end_at: Instant | None = None
    max_runs: int | None = None
    window_ms: int = 0
    #: (date, reason), ascending; dates of the job's zone, UTC for `Every`.
    exclude: Excluded = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class At(Options):
    """Once. `local` and `timezone` are as the user gave them, for display."""

    instant: Instant
    local: str | None = None
    timezone: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron(Options):
    """`expression` is normalised: single blanks, upper-case names, aliases spelled out."""

    expression: str
    timezone: str = "UTC"
    dst: Dst = "run"
    has_seconds: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Every(Options):
    """Slot k is anchor + k * interval_ms exactly, k = 0, 1, 2, ...; k starts at 1 when nobody asked for the anchor."""

    interval_ms: int
    anchor: Instant
    includes_anchor: bool = True


Schedule: TypeAlias = At | Cron | Every
