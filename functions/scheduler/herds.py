"""How much earlier than by the lead a slot is dispatched, when many are due with it and the workers can hold them.

Workers claim so many runs a second. Of slots due in one second the first is dispatched by the lead before, each further
one a little earlier than the one before it, so that a herd is claimed by and by and starts together. Counted is what
this node placed, which is its share of the herd; the workers' pace is divided likewise, over all shards.

What is counted only rises until its second has passed: a slot that is cancelled, or placed again, leaves others a
little too early, which costs nothing but their being held.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from shared.domain.instants import SECOND, Instant

#: Of a node that is about to take its first shard.
_LEAST_SHARE = 1 / 256


@dataclass(frozen=True, slots=True)
class HerdRules:
    #: The lead never grows by more than this; the default is not at all.
    most_ms: int = 0
    #: Between two looks at what fires soon.
    look_ahead_ms: int = 5 * SECOND
    #: Lanes whose workers hold a run for free. A function is paid for while it waits, and holds others up.
    lanes: Collection[str] = frozenset()
    #: Runs that the workers claim, all together: what one of them does with one core.
    claims_per_second: float = 1_000.0


@dataclass(slots=True)
class Herds:
    """`share` is the part of all shards that counts here."""

    rules: HerdRules = HerdRules()
    share: float = 1.0
    _waiting: dict[int, int] = field(default_factory=dict)
    _passed: int = 0

    def earlier_ms(self, due: Instant, lane: str, now: Instant) -> int:
        """Of one more slot that is due then."""
        if not self.rules.most_ms or lane not in self.rules.lanes:
            return 0
        self._forget(now // SECOND)
        second = due // SECOND
        before = self._waiting.get(second, 0)
        self._waiting[second] = before + 1
        pace = self.rules.claims_per_second * max(self.share, _LEAST_SHARE)
        return min(int(before * SECOND / pace), self.rules.most_ms)

    def _forget(self, second: int) -> None:
        """What has passed; looked for once a second."""
        if second <= self._passed:
            return
        self._passed = second
        for each in [each for each in self._waiting if each < second]:
            del self._waiting[each]
