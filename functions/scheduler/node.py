"""A scheduler node: every loop is one public step here, so that a test drives a node by hand.

Threads call the steps (`runner.py`). What they do lies in the node's parts, one a concept, which share an `Ownership`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from functions.scheduler.audit import Auditor
from functions.scheduler.auditing import AuditStep
from functions.scheduler.counts import Counts
from functions.scheduler.dispatching import Dispatcher
from functions.scheduler.keeping import Keeper
from functions.scheduler.outbox import Outbox
from functions.scheduler.ownership import Ownership
from functions.scheduler.reading import Reader
from functions.scheduler.recording import Recorder
from functions.scheduler.settings import Ports, Settings, Spread, in_order
from functions.scheduler.shard import Shard
from shared.domain.errors import StoreError
from shared.observability.logs import logger_for

_log = logger_for("scheduler")


class Node:
    """Fires the shards it owns.

    Steps run in several threads at once. The runner calls each loop's steps one after the other, so that no step runs
    beside itself, but for the drain: it begins while a loop may still wait for an answer, and sends, tidies and
    checkpoints beside it. That is safe, for what a step takes it takes under the lock, and nobody else finds it there;
    a delete, a move or the end of a job that is asked for twice changes nothing the second time; and a watermark is
    only ever raised to what was settled when it was asked for.

    Raises ValueError when the constants of `settings.timing` contradict each other.
    """

    def __init__(
        self, ports: Ports, settings: Settings, spread: Spread = in_order, spread_moves: Spread = in_order
    ) -> None:
        self.settings = settings
        self.counts = Counts()
        self.owned = Ownership(ports, settings)
        outbox = Outbox(settings.timing.lead_ms / 3_000, settings.catch_up_per_second, settings.most_waiting)
        auditor = Auditor(settings.audit, self.counts)
        self.dispatcher = Dispatcher(self.owned, outbox, Recorder(self.owned), auditor, self.counts, spread)
        self._reader, self._keeper = Reader(self.owned), Keeper(self.owned, spread_moves)
        self._audit = AuditStep(self.owned, outbox, auditor, self.counts)
        self.owned.on_lost += [self.dispatcher.let_go, auditor.drop_shard, self._keeper.let_go]

    @property
    def ports(self) -> Ports:
        return self.owned.ports

    @property
    def shards(self) -> dict[int, Shard]:
        """Those it owns, by number."""
        return self.owned.shards

    @property
    def may_dispatch(self) -> bool:
        """Trusted, its clock is right, and the brake is off."""
        return self.owned.may_dispatch

    def start(self) -> None:
        """Check that the fleet has as many shards as this node thinks. Raises ShardCountPinned, StoreError."""
        self.owned.pin_shard_count()

    def beat_once(self) -> None:
        """Show a sign of life; read the brake and the store's clock. Raises StoreError: then trust is not extended."""
        self.owned.beat_once()

    def plan_once(self) -> None:
        """Read the fleet, drop what was lost, take what is due to this node. Raises StoreError."""
        self.owned.plan_once()

    def load_once(self) -> bool:
        """Load shards that need it, for a slice of time; whether there is more. Raises StoreError: the rest comes next
        time.
        """
        return self.owned.clock_agrees and self._reader.load_once()

    def sweep_once(self) -> bool:
        """Read what the API wrote since the last sweep, for a slice of time; whether there is more. Raises StoreError:
        a shard's next sweep looks back further.
        """
        return self.owned.clock_agrees and self._reader.sweep_once()

    def look_ahead_once(self) -> bool:
        """Meet herds early, for a slice of time; whether there is more. Raises StoreError: the same is read again."""
        return self.owned.clock_agrees and self._reader.look_ahead_once()

    def tick_once(self) -> None:
        """Move what is due from the wheels to the outbox; nothing when this node may not dispatch."""
        self.dispatcher.tick_once()

    def dispatch_once(self, *, hurry: bool = False) -> int:
        """Send what waits, by tens, and settle what was accepted; answers how many were. Raises what a queue or the
        table raised, once all others had their turn.

        `hurry` sends batches that are not full yet.
        """
        return self.dispatcher.dispatch_once(hurry=hurry)

    def tidy_once(self) -> None:
        """Delete the entries that are done with, move those that fire far ahead, end jobs whose last slot was skipped.

        Raises StoreError; what is not done is done next time, by this owner or the next one.
        """
        self._keeper.tidy_once()

    def checkpoint_once(self) -> None:
        """Make each watermark durable that has risen, and then mark the entries it speaks for. Raises StoreError."""
        self._keeper.checkpoint_once()

    def audit_once(self) -> None:
        """Look up runs that must exist by now, and dispatch again what has none. Raises StoreError: they are looked up
        next time.
        """
        self._audit.audit_once()

    def drain(self, *, until: float) -> None:
        """Leave: send what is out, checkpoint, give all shards up; nothing is begun after `until` (monotonic).

        What fails or is left undone costs duplicates or seconds, never a slot: what was not sent is unsettled for the
        next owner, and what was not given up is taken once the beat has been silent.
        """
        done = [
            *(self._leave(step, until) for step in (self.dispatcher.flush, self.tidy_once, self.checkpoint_once)),
            *(self._leave(partial(self.owned.give_up, shard), until) for shard in list(self.shards.values())),
            self._leave(partial(self.ports.fleet.remove_node, self.settings.node_id), until),
        ]
        unsent = self.dispatcher.unsent
        _log.info("drained", extra={"action": "node.drain", "is_complete": all(done), "unsent": unsent})

    def _leave(self, step: Callable[[], object], until: float) -> bool:
        if self.ports.clock.monotonic() >= until:
            return False
        try:
            step()
        except StoreError as error:
            _log.warning("store", extra={"action": "node.drain", "error": str(error)})
            return False
        except Exception:  # noqa: BLE001 (what else there is to leave is left all the same)
            _log.exception("failed", extra={"action": "node.drain"})
            return False
        return True
