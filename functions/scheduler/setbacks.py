"""Which step failed with which shard, so that it leaves that one alone for a while and goes on with the others."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from shared.ports import Clock, Randomness

#: The pause doubles from the first to the longest; a part of it by chance.
FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 30.0


@dataclass(slots=True)
class Setbacks:
    clock: Clock
    dice: Randomness
    #: Since the node started, for metrics; and the last of them.
    count: int = 0
    last: Exception | None = None
    #: How often in a row, and until when (monotonic) the shard is left alone; by step and shard.
    _known: dict[tuple[str, int], tuple[int, float]] = field(default_factory=dict)

    def __len__(self) -> int:
        """Steps that fail with a shard now."""
        return len(self._known)

    def holds_up(self, step: str, shard: int) -> bool:
        _, until = self._known.get((step, shard), (0, float("-inf")))
        return self.clock.monotonic() < until

    def failed(self, step: str, shard: int, error: Exception) -> None:
        failures, _ = self._known.get((step, shard), (0, 0.0))
        bound = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(failures, 10))
        self._known[step, shard] = failures + 1, self.clock.monotonic() + bound * (1 + self.dice.fraction()) / 2
        self.met(error)

    def met(self, error: Exception) -> None:
        """Of one entry, which the step went on without."""
        self.count, self.last = self.count + 1, error

    def forget(self, shard: int) -> None:
        """It is another node's now."""
        self._known = {known: state for known, state in self._known.items() if known[1] != shard}

    def keep(self, step: str, shards: Collection[int]) -> None:
        """The step has only these to work on."""
        self._known = {known: state for known, state in self._known.items() if known[0] != step or known[1] in shards}

    def went_well(self, step: str, shard: int) -> None:
        self._known.pop((step, shard), None)
