"""Every port in memory: for unit tests and the simulation, and shipped.

They pass the same contract suites as DynamoDB and SQS, start no threads and know no time but that of the clock they are
given. Between two calls of a port anything may be made to happen.
"""

from shared.adapters.memory.access_store import MemoryAccessStore
from shared.adapters.memory.clock import ManualClock, SeededRandomness
from shared.adapters.memory.dead_letter_queue import MemoryDeadLetterQueue
from shared.adapters.memory.due_queue import MemoryDueQueue
from shared.adapters.memory.entry_store import MemoryEntryStore
from shared.adapters.memory.event_bus import MemoryEventBus
from shared.adapters.memory.fleet_store import MemoryFleetStore
from shared.adapters.memory.job_store import MemoryJobStore
from shared.adapters.memory.run_store import MemoryRunStore
from shared.adapters.memory.tables import MemoryTables

__all__ = [
    "ManualClock",
    "MemoryAccessStore",
    "MemoryDeadLetterQueue",
    "MemoryDueQueue",
    "MemoryEntryStore",
    "MemoryEventBus",
    "MemoryFleetStore",
    "MemoryJobStore",
    "MemoryRunStore",
    "MemoryTables",
    "SeededRandomness",
]
