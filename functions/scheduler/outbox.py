"""What waits to be sent, by lane. In memory, and pure: time is an argument.

A batch of ten costs as much as a message, so a lane waits a little to fill one; a lane whose queue does not answer is
left alone for a while (full jitter, doubling); the catch-up lane has a rate, so that what is late cannot delay what is
due now. Each lane holds so many slots: what is due beyond that stays in the wheels until there is room again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from functions.scheduler.due import Due
from shared.schema import CATCH_UP_LANE

BATCH = 10
#: The most that one call sends, so that no step takes long.
MOST_AT_ONCE = 50 * BATCH
#: In a lane: ten calls' worth. Whoever is behind sends, rather than to look for still more that is due.
MOST_WAITING = 10 * MOST_AT_ONCE
#: The most that one of them takes, with its entry: so a lane's take less than 10 MB.
BYTES_OF_WAITING = 2_000
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 2.0


@dataclass(slots=True)
class _Lane:
    rate: float | None
    waiting: deque[Due] = field(default_factory=deque)
    oldest_at: float = 0.0
    newest_at: float = 0.0
    paused_until: float = float("-inf")
    failures: int = 0
    #: Its queue refused something for good when it was last asked: a row stands for each.
    refuses: bool = False
    #: With a rate: how many may go, and since when that has been so.
    allowance: float = 0.0
    counted_at: float | None = None

    def allowed(self, at: float) -> int:
        if self.rate is None:
            return MOST_AT_ONCE
        elapsed = 0.0 if self.counted_at is None else at - self.counted_at
        self.counted_at = at
        self.allowance = min(self.rate, self.allowance + elapsed * self.rate)
        return int(self.allowance)


@dataclass(slots=True)
class Outbox:
    """`patience` is how long (seconds) a message may wait for its batch to fill."""

    patience: float
    catch_up_per_second: float
    #: In each lane.
    most_waiting: int = MOST_WAITING
    _lanes: dict[str, _Lane] = field(default_factory=dict)

    def put(self, dues: Iterable[Due], *, at: float) -> None:
        for due in dues:
            lane = self._lanes.get(due.lane)
            if lane is None:
                rate = self.catch_up_per_second if due.lane == CATCH_UP_LANE else None
                lane = self._lanes[due.lane] = _Lane(rate)
            if not lane.waiting:
                lane.oldest_at = at
            lane.newest_at = at
            lane.waiting.append(due)

    def take(self, *, at: float, hurry: bool = False, rows: int = MOST_AT_ONCE) -> dict[str, list[Due]]:
        """What is to be sent now, by lane: full batches, and the rest once the first of it has waited enough.

        Nothing of a lane that makes but rows while there is no room for them (`rows`).
        """
        asked = {name: lane for name, lane in self._lanes.items() if rows > 0 or not lane.refuses}
        return {name: taken for name, lane in asked.items() if (taken := self._take(lane, at, hurry=hurry))}

    def _take(self, lane: _Lane, at: float, *, hurry: bool) -> list[Due]:
        count = len(lane.waiting)
        has_waited = at - lane.oldest_at >= self.patience or hurry
        if not count or at < lane.paused_until or (count < BATCH and not has_waited):
            return []
        count = min(count, lane.allowed(at), MOST_AT_ONCE)
        if lane.rate is not None:
            lane.allowance -= count
        else:
            count -= 0 if has_waited else count % BATCH
            # Whatever was there before the last came goes with the first batch.
            lane.oldest_at = lane.newest_at
        return [lane.waiting.popleft() for _ in range(count)]

    def free_in(self, name: str) -> int:
        """How many more slots may wait for this lane."""
        lane = self._lanes.get(name)
        return self.most_waiting - (0 if lane is None else len(lane.waiting))

    def is_paused(self, name: str, at: float) -> bool:
        return at < self._lanes[name].paused_until

    def put_back(self, name: str, dues: list[Due]) -> None:
        """They may not have been sent: they go first next time, without waiting for a batch."""
        if not dues:
            return
        lane = self._lanes[name]
        lane.waiting.extendleft(reversed(dues))
        lane.oldest_at = float("-inf")

    def answered(self, name: str, *, is_well: bool, at: float, dice: float, refuses: bool = False) -> None:
        """The lane's queue took something, or nothing at all; 0 <= dice < 1 spreads the retries of many nodes."""
        lane = self._lanes[name]
        lane.refuses = refuses
        if is_well:
            lane.failures = 0
            return
        lane.failures += 1
        ceiling = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(lane.failures, 10))
        lane.paused_until = at + dice * ceiling

    def drop_shard(self, number: int) -> None:
        """The shard is another node's now, who will send them."""
        for lane in self._lanes.values():
            lane.waiting = deque(due for due in lane.waiting if due.shard != number)

    def __len__(self) -> int:
        return sum(len(lane.waiting) for lane in self._lanes.values())
