"""The levels put together; the package's docstring explains them."""

from __future__ import annotations

from typing import Final

from functions.scheduler.wheel.level import FULL, NEVER, Level

#: Timers that one `expire` moves to a finer level: about 1 ms of work. More than it hands out by default, so that
#: moving does not fall behind; too few to be felt as a stall.
MOVES: Final = 2_000

#: Widths of the coarse buckets, in bits of ticks: 5.12 s, 2.9 h and 124 days at 10 ms a tick. The first is wide enough
#: that the heads of all its dicts stay in the processor's cache (each is a miss for a cancel), and narrow enough that
#: its timers are still there when, seconds after it was opened, they are handed out.
COARSE_BITS: Final = (9, 20, 30)

# Depth of a level: single milliseconds, ticks, and from here on the coarse ones. The last takes all that is further.
_INSTANTS: Final = 0
_TICKS: Final = 1
_COARSE: Final = 2


class TimingWheel:
    """Timers by key; time is an argument, integer milliseconds, and may go in either direction."""

    __slots__ = (
        "_coarse_ms",
        "_cursor",
        "_depths",
        "_due",
        "_levels",
        "_lookahead_ms",
        "_nearest",
        "_tick_ms",
        "_widths_ms",
    )

    def __init__(self, *, tick_ms: int = 10, start_ms: int, coarse_bits: tuple[int, ...] = COARSE_BITS) -> None:
        """`start_ms` is about when `expire` will first be called.

        Raises ValueError unless `tick_ms` is at least 1 and `coarse_bits` rise from at least 1.
        """
        if tick_ms < 1:
            raise ValueError(f"tick_ms must be at least 1, not {tick_ms}")
        if not coarse_bits or any(wider <= bits for bits, wider in zip((0, *coarse_bits), coarse_bits, strict=False)):
            raise ValueError(f"coarse_bits must rise from at least 1, as in (9, 20, 30), not {coarse_bits}")
        self._tick_ms: Final = tick_ms
        self._widths_ms: Final = (1, tick_ms, *(tick_ms << bits for bits in coarse_bits))
        # The depth of a timer by the length of the number in which its tick and the cursor differ.
        self._depths: Final = tuple(
            min(_TICKS + sum(bits < length for bits in coarse_bits), _TICKS + len(coarse_bits))
            for length in range(NEVER.bit_length() + 1)
        )
        # The tick of the latest `expire`. It decides how coarse a bucket a new timer gets, never when it comes out.
        self._cursor = start_ms // tick_ms
        # Coarse buckets are opened this long before they begin, so that by then their timers are in ticks.
        self._lookahead_ms: Final = tick_ms << coarse_bits[0]
        self.clear()

    def clear(self) -> None:
        """Forget every timer."""
        self._levels = tuple(map(Level, self._widths_ms))
        # As `_depth_for` would find them, for the common case of each operation.
        self._nearest = tuple((self._levels[depth].buckets, self._levels[depth].width_ms) for depth in self._depths)
        self._due: dict[str, int] = {}
        # No coarse bucket begins earlier, though the one that began here may be gone.
        self._coarse_ms = NEVER

    def schedule(self, key: str, due_ms: int) -> None:
        """Set the timer `key` to `due_ms`, in place of what it was set to; one in the past comes out next."""
        old_ms = self._due.get(key)
        if old_ms is not None:
            self._remove(key, old_ms)
        self._due[key] = due_ms
        length = (due_ms // self._tick_ms ^ self._cursor).bit_length()
        buckets, width_ms = self._nearest[length]
        bucket = buckets.get(due_ms // width_ms)
        if bucket is not None and len(bucket) < FULL:
            bucket[key] = due_ms
            return
        depth = self._depths[length]
        level = self._levels[depth]
        level.add(key, due_ms)
        if depth >= _COARSE and (start_ms := due_ms - due_ms % level.width_ms) < self._coarse_ms:
            self._coarse_ms = start_ms

    def cancel(self, key: str) -> bool:
        """Whether there was such a timer; there is none now."""
        due_ms = self._due.pop(key, None)
        if due_ms is None:
            return False
        self._remove(key, due_ms)
        return True

    def due(self, key: str) -> int | None:
        """The exact instant the timer is set to, or None if there is no such timer."""
        return self._due.get(key)

    def expire(self, now_ms: int, *, limit: int = 1000) -> list[tuple[str, int]]:
        """Remove and return up to `limit` timers (key, due_ms) with due_ms <= `now_ms`, in order of tick.

        A short answer, even an empty one, does not say that nothing more is due: the work is bounded by `limit` and
        `MOVES` whatever waits, so a crowded bucket is opened over several calls. `next_due(now_ms) != now_ms` says it.
        Raises ValueError unless `limit` is at least 1.
        """
        if limit < 1:
            raise ValueError(f"limit must be at least 1, not {limit}")
        self._cursor = now_ms // self._tick_ms
        instants, ticks = self._levels[_INSTANTS], self._levels[_TICKS]
        # The common case written out: there are but two or three timers a tick to share the cost of the calls.
        in_ticks = now_ms < self._coarse_ms and not instants.buckets
        expired = ticks.take_due(now_ms, limit) if in_ticks else []
        moves = MOVES
        if not in_ticks or ticks.is_crowded_at(now_ms):
            moves = self._collect(expired, now_ms, limit)
        due = self._due
        for key, _ in expired:
            del due[key]
        if self._coarse_ms <= now_ms + self._lookahead_ms:
            self._look_ahead(now_ms, moves)
        return expired

    def next_due(self, now_ms: int) -> int | None:
        """When to call `expire` again: `now_ms` for at once, None when there is no timer.

        Never too late, perhaps too early: the call may find buckets to open and nothing due.
        """
        if not self._due:
            return None
        fine_ms = min(self._levels[_INSTANTS].first_ms(), self._levels[_TICKS].first_due_ms())
        return max(now_ms, min(fine_ms, self._first_coarse()[1] - self._lookahead_ms))

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, key: object) -> bool:
        return key in self._due

    def _remove(self, key: str, due_ms: int) -> None:
        # The cursor has moved since, and buckets were opened: where the timer is now is a guess, mostly a right one.
        buckets, width_ms = self._nearest[(due_ms // self._tick_ms ^ self._cursor).bit_length()]
        bucket = buckets.get(due_ms // width_ms)
        # The last timer of a bucket takes the bucket with it.
        if bucket is not None and len(bucket) > 1 and bucket.pop(key, None) is not None:
            return
        found = any(level.discard(key, due_ms) for level in self._levels)
        assert found, f"timer {key} is in no level"

    def _collect(self, expired: list[tuple[str, int]], now_ms: int, limit: int) -> int:
        """Add what is due to `expired`, in order of tick; return how many of `MOVES` are left."""
        instants, ticks = self._levels[_INSTANTS], self._levels[_TICKS]
        moves = MOVES
        while len(expired) < limit:
            # Nothing passes an unopened coarse bucket: it may hold the earliest timer.
            until_ms = now_ms if now_ms < self._coarse_ms else self._coarse_ms - 1
            if instants.buckets and (instant_ms := instants.first_ms()) <= until_ms:
                tick_ms = instant_ms - instant_ms % self._tick_ms
                expired += ticks.take_due(tick_ms - 1, limit - len(expired))
                expired += instants.take_due(min(until_ms, tick_ms + self._tick_ms - 1), limit - len(expired))
                continue
            expired += ticks.take_due(until_ms, limit - len(expired))
            if not moves or len(expired) == limit:
                break
            if ticks.is_crowded_at(until_ms):
                moves -= self._open(_TICKS, moves)
            elif self._coarse_ms <= now_ms:
                moves -= self._open_coarse(now_ms, moves)
            else:
                break
        return moves

    def _look_ahead(self, now_ms: int, moves: int) -> None:
        # Not past the first waiting tick: behind a jump of the clock ticks would pile up faster than they are emptied.
        until_ms = min(now_ms, self._levels[_TICKS].first_ms()) + self._lookahead_ms
        while moves and self._coarse_ms <= until_ms:
            moves -= self._open_coarse(until_ms, moves)

    def _open_coarse(self, until_ms: int, count: int) -> int:
        """Open the first coarse bucket if it begins by `until_ms`; return how many timers moved, `count` at most."""
        depth, self._coarse_ms = self._first_coarse()
        return self._open(depth, count) if self._coarse_ms <= until_ms else 0

    def _first_coarse(self) -> tuple[int, int]:
        """Depth and beginning of the first coarse bucket; the coarsest if several begin together."""
        first = len(self._levels) - 1, self._levels[-1].first_ms()
        for depth in range(first[0] - 1, _COARSE - 1, -1):
            start_ms = self._levels[depth].first_ms()
            if start_ms < first[1]:
                first = depth, start_ms
        return first

    def _open(self, depth: int, count: int) -> int:
        """Move up to `count` timers of a level's first bucket to the level below; return how many."""
        timers = self._levels[depth].take_first(count)
        self._levels[depth - 1].add_all(timers)
        return len(timers)
