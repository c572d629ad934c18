"""What Carillon needs from the outside world. The docstring of a port is its contract; one suite in
`tests/contract` runs it on every adapter.

What holds for every port: a lost race is answered as a value. `StoreThrottled` and `StoreContended` mean that nothing
was written, and are raised only after the adapter's own retries with jitter are used up; `OutcomeUnknown` means that
the write may have happened. Batches may be of any size: the adapter cuts them, sends again what was not processed, and
never drops an item. Keys may repeat in a batch.
"""

from shared.ports.access_store import AccessStore
from shared.ports.clock import Clock, Randomness
from shared.ports.dead_letter_queue import DeadLetter, DeadLetterQueue
from shared.ports.due_queue import Delivery, DueQueue, ReceivedMessages, SendReport
from shared.ports.entry_store import EntryStore, StoredEntry
from shared.ports.fleet_store import FleetStore
from shared.ports.job_store import (
    Completion,
    Hold,
    JobFilter,
    JobStore,
    JobWrite,
    ReceiptUsed,
    RevisionConflict,
    WriteOutcome,
    Written,
)
from shared.ports.run_store import (
    ANY_RUN,
    Erased,
    FailureFilter,
    HeartbeatAnswer,
    PlanOutcome,
    RowThere,
    RunFilter,
    RunStore,
)

__all__ = [
    "ANY_RUN",
    "AccessStore",
    "Clock",
    "Completion",
    "DeadLetter",
    "DeadLetterQueue",
    "Delivery",
    "DueQueue",
    "EntryStore",
    "Erased",
    "FailureFilter",
    "FleetStore",
    "HeartbeatAnswer",
    "Hold",
    "JobFilter",
    "JobStore",
    "JobWrite",
    "PlanOutcome",
    "Randomness",
    "ReceiptUsed",
    "ReceivedMessages",
    "RevisionConflict",
    "RowThere",
    "RunFilter",
    "RunStore",
    "SendReport",
    "StoredEntry",
    "WriteOutcome",
    "Written",
]
