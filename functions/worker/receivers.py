"""The receivers that a lane's runs wait for: how many at once, and who waits for a place among them.

A run that waits for its receiver holds no thread. It holds a socket and some memory, so there are many places, but no
more than that. A receiver, which is a host as one owner calls it, may take a place while it has less than a third of
what is free: a quarter of all, and of several that hang beside each other, each a quarter of what the others left.

Who finds no place waits in line, in hand: others of the lane overtake it. It is the caller's to take out of the line
who waited long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from functions.worker.live_run import LiveRun, Receiver

#: What is free, for each that a receiver has.
_FREE_PER_TAKEN = 3


def may_take(*, taken: int, free: int) -> bool:
    """Whether a receiver that has `taken` places may have one more."""
    return _FREE_PER_TAKEN * taken < free


@dataclass(slots=True)
class Receivers:
    """Under its owner's lock."""

    places: int
    _seated: dict[LiveRun, Receiver] = field(default_factory=dict)
    _taken: Counter[Receiver] = field(default_factory=Counter)
    #: Dicts for their order: in a line it is first come first served, and the receivers take turns.
    _lines: dict[Receiver, dict[LiveRun, None]] = field(default_factory=dict)
    #: Who is in which line, and since when (monotonic); the longest first.
    _since: dict[LiveRun, tuple[Receiver, float]] = field(default_factory=dict)

    @property
    def free(self) -> int:
        return self.places - len(self._seated)

    @property
    def seated(self) -> int:
        return len(self._seated)

    @property
    def waiting(self) -> int:
        return len(self._since)

    def __iter__(self) -> Iterator[LiveRun]:
        """Those with a place."""
        return iter(self._seated)

    def take(self, live: LiveRun, receiver: Receiver, now: float) -> bool:
        """Whether it has a place; if not, it is in line for one."""
        if live in self._seated:
            return True
        if receiver not in self._lines and may_take(taken=self._taken[receiver], free=self.free):
            self._seat(live, receiver)
            return True
        self._lines.setdefault(receiver, {})[live] = None
        self._since.setdefault(live, (receiver, now))
        return False

    def leave(self, live: LiveRun) -> list[LiveRun]:
        """It needs no place any more; answers who has one instead, or for more room: they may be launched."""
        if live in self._since:
            self._leave_line(live)
        receiver = self._seated.pop(live, None)
        if receiver is None:
            return []
        self._taken[receiver] -= 1
        if not self._taken[receiver]:
            del self._taken[receiver]
        return self._seat_next()

    def impatient(self, *, since: float, most: int) -> list[LiveRun]:
        """Those in line that came before `since`, and of more than `most` the first ones. They are to leave."""
        surplus = len(self._since) - most
        found = []
        for number, (live, (_, at)) in enumerate(self._since.items()):
            if at > since and number >= surplus:
                break
            found.append(live)
        return found

    def _seat(self, live: LiveRun, receiver: Receiver) -> None:
        self._seated[live] = receiver
        self._taken[receiver] += 1

    def _seat_next(self) -> list[LiveRun]:
        seated = []
        for receiver in list(self._lines):
            if self.free <= 0:
                break
            if not may_take(taken=self._taken[receiver], free=self.free):
                continue
            live = next(iter(self._lines[receiver]))
            self._leave_line(live)
            self._seat(live, receiver)
            seated.append(live)
            if receiver in self._lines:
                # The others first, next time.
                self._lines[receiver] = self._lines.pop(receiver)
        return seated

    def _leave_line(self, live: LiveRun) -> None:
        receiver, _ = self._since.pop(live)
        del self._lines[receiver][live]
        if not self._lines[receiver]:
            del self._lines[receiver]
