from __future__ import annotations

from collections.abc import Sequence

from shared.ports.dead_letter_queue import DeadLetter


class MemoryDeadLetterQueue:
    def __init__(self) -> None:
        self.letters: list[DeadLetter] = []

    def send(self, letters: Sequence[DeadLetter]) -> None:
        self.letters += letters
