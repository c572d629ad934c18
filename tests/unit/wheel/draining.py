"""How a caller empties a wheel, with the promises every answer must keep checked on the way."""

from __future__ import annotations

from functions.scheduler.wheel import TimingWheel


def drain(wheel: TimingWheel, now_ms: int, *, limit: int = 1000) -> list[tuple[str, int]]:
    """All timers due by `now_ms`, over as many calls as it takes."""
    drained: list[tuple[str, int]] = []
    calls = 0
    bound = 10 + 20 * len(wheel)
    while wheel.next_due(now_ms) == now_ms:
        expired = wheel.expire(now_ms, limit=limit)
        assert len(expired) <= limit
        assert all(due_ms <= now_ms for _, due_ms in expired)
        drained += expired
        calls += 1
        assert calls <= bound, "the wheel makes no progress"
    return drained


def keys(timers: list[tuple[str, int]]) -> list[str]:
    return [key for key, _ in timers]
