"""What a node did, as numbers that only rise: log lines and metrics are made of their differences."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace


@dataclass(slots=True)
class Counts:
    """Since the node started. Changed under the node's lock."""

    #: Dispatches handed to a queue, each time one is.
    dispatched: int = 0
    #: ... and taken by it.
    accepted: int = 0
    #: ... with an unknown outcome: sent again, so these are the possible duplicates.
    repeated: int = 0
    #: ... and never to be taken: a FAILED row stands for each.
    refused: int = 0
    #: Slots that the misfire policy left out.
    skipped: int = 0
    #: Entries that could not be fired, and are tried again later.
    set_aside: int = 0

    # Of the audit. ---------------------------------------------------------------------------------------------------
    #: Runs looked up.
    audited: int = 0
    #: Not looked up, for lack of room to remember them.
    unaudited: int = 0
    #: Without a row past the deadline; each of them was dispatched again.
    resent: int = 0
    #: Still without a row after the last of these. Must stay 0.
    lost: int = 0
    #: Started later than the audit allows.
    late: int = 0
    #: Timers that the wheel should have given out. Must stay 0.
    overlooked: int = 0

    def copy(self) -> Counts:
        return replace(self)

    def since(self, earlier: Counts) -> dict[str, int]:
        """What has been added since `earlier`, by name; without those that stayed as they were."""
        added = {each.name: getattr(self, each.name) - getattr(earlier, each.name) for each in fields(self)}
        return {name: count for name, count in added.items() if count}
