"""Keeps the table in step with what was fired: deletes, moves, ended jobs, and the watermark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from functions.scheduler.ownership import Ownership
from functions.scheduler.settings import Spread
from functions.scheduler.shard import Shard
from shared.domain.completion import kept_until
from shared.domain.entry import Entry
from shared.domain.errors import StoreError
from shared.domain.events import job_completed
from shared.domain.instants import Instant
from shared.domain.keys import EntryKey
from shared.observability.logs import logger_for
from shared.ports import Completion

_log = logger_for("scheduler")

#: How many entries one turn moves, each by calls of its own, so that the other steps get their turn in time.
MOVES_AT_ONCE = 64
#: The same of jobs that end, and of entries that are deleted, by calls for many of them.
ENDS_AT_ONCE, DELETES_AT_ONCE = 250, 500


@dataclass(slots=True)
class Keeper:
    owned: Ownership
    spread: Spread
    #: By shard: jobs that could not be ended, for a reason that is not the store's. They are tried again, and hold up
    #: neither the watermark nor the jobs behind them.
    _unended: dict[int, list[Entry]] = field(default_factory=dict)

    def tidy_once(self) -> None:
        """Delete the entries that are done with, move those that fire far ahead, end jobs whose last slot was skipped.

        Raises StoreError; what is not done is done next time, by this owner or the next one.
        """
        self.owned.in_turn("tidy", self._tidy)

    def _tidy(self, shard: Shard) -> None:
        with self.owned.lock:
            exhausted = shard.exhausted[: self._share(ENDS_AT_ONCE)]
            # An entry goes after its job has ended: who dies in between leaves it to the next owner.
            is_last = len(exhausted) == len(shard.exhausted)
            doomed = list(islice(shard.to_delete, self._share(DELETES_AT_ONCE))) if is_last else []
            moving = dict(islice(shard.to_move.items(), self._share(MOVES_AT_ONCE)))
        self._end_all(shard.number, exhausted)
        self.owned.ports.entries.delete([EntryKey(shard.number, entry_id) for entry_id in doomed])
        moves = [(EntryKey(shard.number, entry_id), next_at) for entry_id, next_at in moving.items()]
        are_moved = self.spread(self._move, moves)
        failed = {key.entry_id for (key, _), is_moved in zip(moves, are_moved, strict=True) if not is_moved}
        with self.owned.lock:
            shard.tidied(doomed, moving, exhausted)
            # Tried again, after the others.
            shard.to_move.update({entry_id: moving[entry_id] for entry_id in failed})

    def _share(self, count: int) -> int:
        """Of what one turn may do for all shards together."""
        return max(count // max(len(self.owned.shards), 1), 1)

    def _end_all(self, shard: int, exhausted: Sequence[Entry]) -> None:
        """And those that could not be ended before. Raises StoreError."""
        setbacks = self.owned.setbacks
        if setbacks.holds_up("end", shard):
            self._unended[shard] = [*self._unended.get(shard, ()), *self._not_ended(shard, exhausted)]
        else:
            setbacks.went_well("end", shard)
            self._unended[shard] = self._not_ended(shard, [*self._unended.get(shard, ()), *exhausted])

    def _not_ended(self, shard: int, exhausted: Sequence[Entry]) -> list[Entry]:
        """Where one job cannot be ended, each of the others is ended by itself."""
        try:
            self._end_jobs(exhausted)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 (which job it is shows below)
            if len(exhausted) > 1:
                return [failed for entry in exhausted for failed in self._not_ended(shard, [entry])]
            self.owned.setbacks.failed("end", shard, error)
            named = {"job_key": exhausted[0].job_key, "entry_id": exhausted[0].entry_id, "error": repr(error)}
            _log.error("not ended", extra={"action": "job.end", **named})
            return list(exhausted)
        return []

    def let_go(self, shard: int) -> None:
        """It is another node's now."""
        self._unended.pop(shard, None)

    def _end_jobs(self, exhausted: Sequence[Entry]) -> None:
        """Their last slot was one that no worker had, so that no worker ends them."""
        if not exhausted:
            return
        ports = self.owned.ports
        jobs = ports.jobs.get_many({entry.job_key for entry in exhausted})
        now = ports.clock.now()
        ending = {
            job.job_key: job
            for entry in exhausted
            if (job := jobs.get(entry.job_key)) is not None and job.generation == entry.generation
        }
        completed = ports.jobs.complete(
            [Completion(job.job_key, job.generation, kept_until(job, now)) for job in ending.values()]
        )
        ports.announcements.add(
            job_completed(job, at=now)
            for job, is_completed in zip(ending.values(), completed, strict=True)
            if is_completed and not job.state.has_ended
        )

    def _move(self, move: tuple[EntryKey, Instant]) -> bool:
        """Whether it is done. Raises StoreError."""
        key, next_at = move
        try:
            # Gone, or further already: then there is nothing to do here.
            self.owned.ports.entries.move(key, next_at)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 (one entry must not keep the others from moving)
            self.owned.setbacks.met(error)
            named = {"shard": key.shard, "entry_id": key.entry_id, "error": repr(error)}
            _log.error("not moved", extra={"action": "entry.move", **named})
            return False
        return True

    def checkpoint_once(self) -> None:
        """Make each watermark durable that has risen, and then mark the entries it speaks for. Raises StoreError."""
        self.owned.in_turn("checkpoint", self._checkpoint)

    def _checkpoint(self, shard: Shard) -> None:
        with self.owned.lock:
            watermark = shard.safe_watermark()
            lease = None if watermark is None else shard.ask(watermark)
        if lease is None:
            return
        if not self.owned.ports.fleet.checkpoint(lease):
            self.owned.lose(shard.number, None)
            return
        with self.owned.lock:
            settled = shard.checkpointed(lease)
        if settled:
            self.owned.ports.entries.clear_fresh(settled)
            with self.owned.lock:
                shard.fresh.cleared({key.entry_id for key in settled})
