from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A dispatch that nothing comes of any more. `body` is the message as it was delivered."""

    body: str
    #: A stable word: the type of the run's last error, or why the message was given up.
    cause: str
    #: For people; of the run, never of its payload.
    detail: str = ""


class DeadLetterQueue(Protocol):
    """Where a lane's failed dispatches are kept for people and alarms to see.

    The row of the run is the record, and what a redrive goes by: a letter that is missing, or there twice, misleads
    nobody.
    """

    def send(self, letters: Sequence[DeadLetter]) -> None:
        """Put copies. Raises StoreError when some could not be."""
        ...
