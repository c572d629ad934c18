"""The runs that this worker has claimed and not yet finished, shared by its threads.

Everything here is in memory and short, under one lock; no call of a port is made while it is held.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable
from itertools import count
from math import inf
from threading import Condition, Lock

from functions.worker.deadlines import Deadlines
from functions.worker.live_run import LiveRun
from functions.worker.receivers import Receivers
from shared.domain.instants import SECOND, Instant
from shared.domain.job import Job
from shared.domain.run import Finish

#: So many ends are stored together, with whole batches of messages to delete: these hold ten.
ENDS_OF_A_BATCH = 20
#: So many jobs are read by one call (BatchGetItem).
BATCH_OF_JOBS = 100
#: Runs of a moving average.
_LOOKED_BACK = 16


class LiveRuns:
    """A run that waits for its receiver has a place among `receivers`; any other that was handed out is launched."""

    def __init__(self, receivers: Receivers) -> None:
        self._lock = Lock()
        #: Notified when a run is held that is the earliest one now.
        self.held_changed = Condition(self._lock)
        #: Notified when there are ends to store, and when runs were stored.
        self.ended = Condition(self._lock)
        #: A dict for its order: the same steps give the same order of everything, which the simulation relies on.
        self._live: dict[LiveRun, None] = {}
        self._unread: list[LiveRun] = []
        self._held: list[tuple[Instant, int, LiveRun]] = []
        self._deadlines = Deadlines(self._live)
        self._ending: deque[LiveRun] = deque()
        #: Handed out to be started on a thread of its own, and not ended; a dict for the same reason.
        self._launched: dict[LiveRun, None] = {}
        self._receivers = receivers
        #: Read, of a receiver, and not ended.
        self._of_receivers = 0
        #: When the job of a run was asked for last, of those that were asked for again.
        self._asked_at: dict[LiveRun, float] = {}
        #: How long targets take, lately, and receivers; long until it is known.
        self.usual_ms = float(SECOND)
        self.usual_answer_ms = float(SECOND)
        #: Ended, and still here.
        self._decided = 0
        #: Bytes that the jobs of the runs here take.
        self._weight = 0
        #: Notified when fewer than this are launched.
        self._room_below = 0
        self._has_room = Condition(self._lock)
        #: Breaks ties in the heaps, first come first served.
        self._order = count()

    def __len__(self) -> int:
        return len(self._live)

    @property
    def unstarted(self) -> int:
        """Claimed, for a thread as far as is known, and not handed out yet."""
        with self._lock:
            return len(self._live) - self._decided - self._of_receivers - len(self._launched)

    @property
    def unsent(self) -> int:
        """Claimed, for a receiver, and neither handed out nor in line: those in line keep nobody from coming."""
        with self._lock:
            return self._of_receivers - self._receivers.seated - self._receivers.waiting

    @property
    def places_left(self) -> int:
        return self._receivers.free

    @property
    def weight(self) -> int:
        """What the jobs of the runs here take in memory, in bytes; one that many runs share counts for each."""
        return self._weight

    @property
    def launched(self) -> int:
        """Handed out to be started on a thread of its own, and not ended."""
        return len(self._launched)

    def wait_until_launched_below(self, count: int, *, at_most_seconds: float) -> None:
        """For whoever may take more: not at each end, of which there are thousands in a herd."""
        with self._lock:
            if len(self._launched) >= count:
                self._room_below = count
                self._has_room.wait(timeout=at_most_seconds)

    @property
    def ending(self) -> int:
        return len(self._ending)

    def not_begun(self) -> list[LiveRun]:
        """Claimed, and neither started nor ended, handed out or not: by the time the caller acts they may have been."""
        with self._lock:
            return [live for live in self._live if live.may_start]

    def add(self, runs: Iterable[LiveRun]) -> None:
        with self._lock:
            self._live.update((live, None) for live in runs)

    def remove(self, runs: Iterable[LiveRun]) -> None:
        """Forget them, wherever they are."""
        with self._lock:
            for live in runs:
                if live in self._live:
                    del self._live[live]
                    self._decided -= live.finish is not None
                    self._of_receivers -= live.finish is None and live.receiver is not None
                    self._weight -= live.weight
                self._asked_at.pop(live, None)
                self._unlaunch(live)
            self.ended.notify_all()

    def _unlaunch(self, live: LiveRun) -> None:
        self._launched.pop(live, None)
        for seated in self._receivers.leave(live):
            self._push(seated, seated.run.fire_at)
        if len(self._launched) < self._room_below:
            self._room_below = 0
            self._has_room.notify_all()

    def read(self, live: LiveRun, job: Job | None, *, at: float) -> bool:
        """The job as it was at the monotonic second `at`; False, and nothing changes, once the run has started."""
        with self._lock:
            before, was_of_receiver = live.weight, live.receiver is not None
            is_read = live.read(job, at=at)
            if live in self._live:
                self._weight += live.weight - before
                self._of_receivers += (live.receiver is not None) - was_of_receiver
            return is_read

    def put_unread(self, runs: Iterable[LiveRun]) -> None:
        with self._lock:
            self._unread.extend(runs)

    def take_unread(self) -> list[LiveRun]:
        with self._lock:
            unread, self._unread = self._unread, []
            return [live for live in unread if live in self._live]

    def hold(self, live: LiveRun, *, until: Instant) -> None:
        with self._lock:
            self._unlaunch(live)
            self._push(live, until)

    def _push(self, live: LiveRun, until: Instant) -> None:
        heapq.heappush(self._held, (until, next(self._order), live))
        if self._held[0][2] is live:
            self.held_changed.notify_all()

    def take_due(self, now: Instant, monotonic: float) -> list[LiveRun]:
        """Those held until now or earlier, to be started; whose receiver has no place is in line for one instead."""
        due = []
        with self._lock:
            while self._held and self._held[0][0] <= now:
                live = heapq.heappop(self._held)[2]
                if live not in self._live or live.finish is not None:
                    continue
                if live.receiver is None:
                    self._launched[live] = None
                if live.receiver is None or self._receivers.take(live, live.receiver, monotonic):
                    due.append(live)
        return due

    def impatient(self, *, since: float, most: int) -> list[LiveRun]:
        """As of `Receivers`."""
        with self._lock:
            return self._receivers.impatient(since=since, most=most)

    def take_stale_launched(self, live: LiveRun, *, since: float, now: float) -> list[LiveRun]:
        """`live`, and what waits for a thread like it: those whose job was neither read nor asked for since then. They
        are to be read together: the others of a queue need no call of their own.
        """
        with self._lock:
            waiting = (*self._launched, *self._receivers)
            others = [other for other in waiting if other is not live and self._is_stale(other, since)]
            return self._asked([live, *others[: BATCH_OF_JOBS - 1]], now)

    def take_stale_held(self, now: Instant, monotonic: float, *, ahead_ms: int, fresh_seconds: float) -> list[LiveRun]:
        """Those that are due within `ahead_ms`, and whose job was last read or asked for longer before that than it
        stays fresh.
        """
        with self._lock:
            if not self._held or self._held[0][0] > now + ahead_ms:
                return []
            stale = [
                live
                for until, _, live in sorted(self._held)
                if until <= now + ahead_ms
                and live in self._live
                and self._is_stale(live, monotonic + max(until - now, 0) / SECOND - fresh_seconds)
            ]
            return self._asked(stale[:BATCH_OF_JOBS], monotonic)

    def _is_stale(self, live: LiveRun, since: float) -> bool:
        return live.may_start and not live.was_read_since(since) and self._asked_at.get(live, -inf) < since

    def _asked(self, lives: list[LiveRun], now: float) -> list[LiveRun]:
        self._asked_at.update((live, now) for live in lives if live in self._live)
        return lives

    def start(self, live: LiveRun, *, at: Instant, monotonic: float, timeout_ms: int) -> bool:
        """False when the run is not ours any more."""
        with self._lock:
            if live not in self._live or not live.start(at=at, timeout_ms=timeout_ms):
                return False
            self._deadlines.add(live, monotonic + timeout_ms / SECOND)
            return True

    def take_expired(self, monotonic: float) -> list[LiveRun]:
        """Those that have not ended at their deadline."""
        with self._lock:
            return self._deadlines.take_expired(monotonic)

    def end(self, live: LiveRun, finish: Finish) -> bool:
        """Decide the run's end; False when it is decided already, or not ours to decide any more."""
        with self._lock:
            if live not in self._live or not live.end(finish):
                return False
            if live.started_at is not None:
                self._learn(live, max(finish.ended_at - live.started_at, 1))
            self._to_store(live)
            return True

    def _learn(self, live: LiveRun, took_ms: int) -> None:
        if live.receiver is None:
            self.usual_ms += (took_ms - self.usual_ms) / _LOOKED_BACK
        else:
            self.usual_answer_ms += (took_ms - self.usual_answer_ms) / _LOOKED_BACK

    def end_unstarted(self, live: LiveRun, finish: Finish) -> bool:
        """The same, unless its target is being called: False then too."""
        with self._lock:
            if live not in self._live or not live.end_unstarted(finish):
                return False
            self._to_store(live)
            return True

    def _to_store(self, live: LiveRun) -> None:
        self._decided += 1
        self._of_receivers -= live.receiver is not None
        self._unlaunch(live)
        self._ending.append(live)
        # Whoever stores ends waits for the first one, or for a batch of them.
        if len(self._ending) == 1 or len(self._ending) >= ENDS_OF_A_BATCH:
            self.ended.notify_all()

    def take_ending(self, limit: int) -> list[tuple[LiveRun, Finish]]:
        """Ends to store, the oldest first."""
        with self._lock:
            taken = [self._ending.popleft() for _ in range(min(limit, len(self._ending)))]
            return [(live, live.finish) for live in taken if live.finish is not None]

    def replace_end(self, live: LiveRun, finish: Finish) -> None:
        """Of one whose end is decided, and taken to be stored."""
        with self._lock:
            live.replace_end(finish)

    def put_back_ending(self, runs: Iterable[LiveRun]) -> None:
        """Behind the others, so that one end that cannot be stored does not stop them."""
        with self._lock:
            self._ending.extend(live for live in runs if live in self._live)

    def to_renew(self, monotonic: float) -> list[LiveRun]:
        with self._lock:
            return [live for live in self._live if live.renew_until <= monotonic]

    def longest_left_ms(self, monotonic: float) -> float:
        """What is left of the time-outs of those that have started; 0 when none has."""
        with self._lock:
            return self._deadlines.longest_left(monotonic) * SECOND

    def cancel_all(self) -> None:
        with self._lock:
            for live in self._live:
                live.cancelled.set()

    def seconds_until_due(self, now: Instant, monotonic: float) -> float | None:
        """Until the first held run or deadline; None when there is neither. The caller holds the lock or lives with a
        moment's error.
        """
        moments = []
        if self._held:
            moments.append((self._held[0][0] - now) / SECOND)
        if self._deadlines.first is not None:
            moments.append(self._deadlines.first - monotonic)
        return max(min(moments), 0.0) if moments else None
