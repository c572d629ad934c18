"""One level of the wheel: sparse buckets of one width, keyed by absolute number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

#: Where an empty level begins. Later than any instant, so that comparisons need no special case.
NEVER: Final = 1 << 80

#: A bucket of at most so many timers is looked through at every call while it is partly due; a larger one is opened.
CALM: Final = 64

# Timers in one dict of a bucket; the next timer starts another dict. A dict that outgrows its table moves into a new
# one at once: 20 ms for a million timers, half a millisecond for these, which exactly fill a table of 2**16.
FULL: Final = 43_690

# Neighbours tried before the whole level is searched for its first bucket. In a dense level the next bucket is near; in
# a sparse one the search is short. One way for both would be slow in either.
_PROBES: Final = 16


class Level:
    """Timers in buckets of `width_ms`; the bucket of an instant is `due_ms // width_ms`, wherever the clock stands.

    An empty bucket does not exist. Buckets hold only strings and integers, so CPython's garbage collector (before 3.14)
    never looks inside them.
    """

    __slots__ = ("_filled", "_first", "buckets", "width_ms")

    def __init__(self, width_ms: int) -> None:
        self.width_ms: Final = width_ms
        self.buckets: dict[int, dict[str, int]] = {}
        # The other dicts of crowded buckets; none of them is empty, nor is a list.
        self._filled: dict[int, list[dict[str, int]]] = {}
        # No bucket has a smaller number, but a bucket of this number need not exist any more.
        self._first = NEVER

    def __len__(self) -> int:
        """How many buckets there are."""
        return len(self.buckets)

    def add(self, key: str, due_ms: int) -> None:
        """Put in a timer that is not here yet."""
        number = due_ms // self.width_ms
        bucket = self.buckets.get(number)
        if bucket is not None and len(bucket) < FULL:
            bucket[key] = due_ms
            return
        if bucket is not None:
            self._filled.setdefault(number, []).append(bucket)
        elif number < self._first or not self.buckets:
            self._first = number
        self.buckets[number] = {key: due_ms}

    def add_all(self, timers: Iterable[tuple[str, int]]) -> None:
        """`add` for each, with its common cases written out: the calls would cost as much as the rest."""
        width_ms, buckets = self.width_ms, self.buckets
        for key, due_ms in timers:
            number = due_ms // width_ms
            bucket = buckets.get(number)
            if bucket is not None and len(bucket) < FULL:
                bucket[key] = due_ms
            elif bucket is None and number > self._first:
                buckets[number] = {key: due_ms}
            else:
                self.add(key, due_ms)

    def discard(self, key: str, due_ms: int) -> bool:
        """Whether the timer was here; it is not any more."""
        number = due_ms // self.width_ms
        bucket = self.buckets.get(number)
        if bucket is None:
            return False
        if bucket.pop(key, None) is None:
            return number in self._filled and self._discard_filled(key, number)
        if not bucket:
            self._drop(number)
        return True

    def first_ms(self) -> int:
        """The instant at which the earliest bucket begins; `NEVER` when there is none."""
        if not self.buckets:
            return NEVER
        if self._first not in self.buckets:
            self._first = self._following(self._first)
        return self._first * self.width_ms

    def first_due_ms(self) -> int:
        """The earliest instant due in the earliest bucket if that is calm, else where the bucket begins."""
        start_ms = self.first_ms()
        if start_ms == NEVER or self.is_crowded_at(start_ms):
            return start_ms
        return min(self.buckets[self._first].values())

    def is_crowded_at(self, now_ms: int) -> bool:
        """Whether the earliest bucket, as last found, has begun and is too large to be looked through at every call."""
        bucket = self.buckets.get(self._first)
        if bucket is None or (len(bucket) <= CALM and self._first not in self._filled):
            return False
        return self._first * self.width_ms <= now_ms

    def take_due(self, now_ms: int, count: int) -> list[tuple[str, int]]:
        """Up to `count` timers (key, due_ms) with due_ms <= `now_ms`, in order of bucket, in no order inside one.

        Stops at a crowded bucket that is only partly due.
        """
        taken: list[tuple[str, int]] = []
        width_ms, buckets, filled = self.width_ms, self.buckets, self._filled
        # Buckets before this one are due as a whole; it may be in part.
        number, partly = self._first, (now_ms + 1) // width_ms
        while number < partly and buckets:
            bucket = buckets.get(number)
            if bucket is None:
                number = self._following(number)
                continue
            if len(bucket) > count:
                taken += [bucket.popitem() for _ in range(count)]
                break
            count -= len(bucket)
            taken += bucket.items()
            del buckets[number]
            if number in filled:
                self._refill(number)
            else:
                number += 1
        self._first = number
        if number == partly and count:
            bucket = buckets.get(number)
            if bucket is not None and len(bucket) <= CALM and number not in filled and min(bucket.values()) <= now_ms:
                self._take_some(bucket, now_ms, count, taken)
        return taken

    def take_first(self, count: int) -> Collection[tuple[str, int]]:
        """Up to `count` timers (key, due_ms) of the earliest bucket, in no order. `first_ms` must have found it."""
        bucket = self.buckets[self._first]
        if len(bucket) <= count:
            self._drop(self._first)
            return bucket.items()
        # From the end: a dict emptied from the front is searched past all its holes at every call.
        return [bucket.popitem() for _ in range(count)]

    def _take_some(self, bucket: dict[str, int], now_ms: int, count: int, taken: list[tuple[str, int]]) -> None:
        due = [timer for timer in bucket.items() if timer[1] <= now_ms][:count]
        for key, _ in due:
            del bucket[key]
        taken += due
        if not bucket:
            self._drop(self._first)

    def _following(self, number: int) -> int:
        for neighbour in range(number + 1, number + 1 + _PROBES):
            if neighbour in self.buckets:
                return neighbour
        return min(self.buckets)

    def _drop(self, number: int) -> None:
        """Remove the bucket's dict; the latest filled one, if any, takes its place."""
        del self.buckets[number]
        if number in self._filled:
            self._refill(number)

    def _refill(self, number: int) -> None:
        self.buckets[number] = self._filled[number].pop()
        if not self._filled[number]:
            del self._filled[number]

    def _discard_filled(self, key: str, number: int) -> bool:
        filled = self._filled[number]
        for position, bucket in enumerate(filled):
            if bucket.pop(key, None) is None:
                continue
            if not bucket:
                del filled[position]
            if not filled:
                del self._filled[number]
            return True
        return False
