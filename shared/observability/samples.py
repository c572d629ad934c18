"""A bounded sample of a stream of numbers, evenly spread over it, without dice: half of it goes when it is full."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Sample:
    """At most `most` of the numbers added since the last `take`: all of them, every second, every fourth..."""

    most: int
    _kept: list[float] = field(default_factory=list)
    _every: int = 1
    _seen: int = 0

    def add(self, number: float) -> None:
        if self._seen % self._every == 0:
            if len(self._kept) >= self.most:
                self._kept = self._kept[::2]
                self._every *= 2
            if self._seen % self._every == 0:
                self._kept.append(number)
        self._seen += 1

    def take(self) -> list[float]:
        kept, self._kept, self._every, self._seen = self._kept, [], 1, 0
        return kept
