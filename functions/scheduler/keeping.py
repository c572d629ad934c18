"""Keeps the table in step with what was fired: deletes, moves, ended jobs, and the watermark."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from functions.scheduler.ownership import Ownership
from functions.scheduler.settings import Spread
from shared.domain.events import job_completed
from shared.domain.instants import Instant
from shared.domain.keys import EntryKey
from shared.ports import Completion

#: How many entries one turn moves, each by calls of its own, so that the other steps get their turn in time.
MOVES_AT_ONCE = 64


@dataclass(slots=True)
class Keeper:
    owned: Ownership
    spread: Spread

    def tidy_once(self) -> None:
        """Delete the entries that are done with, move those that fire far ahead, end jobs whose last slot was skipped.

        Raises StoreError; what is not done is done next time, by this owner or the next one.
        """
        shards = list(self.owned.shards.values())
        for shard in shards:
            with self.owned.lock:
                doomed = list(shard.to_delete)
                moving = dict(islice(shard.to_move.items(), max(MOVES_AT_ONCE // len(shards), 1)))
                exhausted = list(shard.exhausted)
            for entry in exhausted:
                job = self.owned.ports.jobs.get(entry.job_key)
                if job is not None and job.generation == entry.generation:
                    expires_at = Instant(self.owned.ports.clock.now() + job.keep_after_completion_ms)
                    [is_completed] = self.owned.ports.jobs.complete(
                        [Completion(entry.job_key, entry.generation, expires_at)]
                    )
                    if is_completed and not job.state.has_ended:
                        self.owned.ports.announcements.add([job_completed(job, at=self.owned.ports.clock.now())])
            self.owned.ports.entries.delete([EntryKey(shard.number, entry_id) for entry_id in doomed])
            moves = [(EntryKey(shard.number, entry_id), next_at) for entry_id, next_at in moving.items()]
            list(self.spread(self._move, moves))
            with self.owned.lock:
                shard.tidied(doomed, moving, exhausted)

    def _move(self, move: tuple[EntryKey, Instant]) -> None:
        key, next_at = move
        # Gone, or further already: then there is nothing to do here.
        self.owned.ports.entries.move(key, next_at)

    def checkpoint_once(self) -> None:
        """Make each watermark durable that has risen, and then mark the entries it speaks for. Raises StoreError."""
        for number, shard in list(self.owned.shards.items()):
            with self.owned.lock:
                watermark = shard.safe_watermark()
                lease = None if watermark is None else shard.ask(watermark)
            if lease is None:
                continue
            if not self.owned.ports.fleet.checkpoint(lease):
                self.owned.lose(number, None)
                continue
            with self.owned.lock:
                settled = shard.checkpointed(lease)
            if settled:
                self.owned.ports.entries.clear_fresh(settled)
                with self.owned.lock:
                    shard.cleared_fresh(settled)
