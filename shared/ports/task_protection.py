from __future__ import annotations

from typing import Protocol


class TaskProtection(Protocol):
    """Keeps the task that this process runs in from being stopped by scaling in or by a deployment, and tells whether
    there was one.
    """

    def protect(self, *, minutes: int) -> None:
        """From now for so many minutes, 1 to 2,880, whatever was said before. Raises StoreError when it is not so."""
        ...

    def release(self) -> None:
        """Not any more. Raises StoreError when that may not be so."""
        ...

    def is_superseded(self) -> bool:
        """Whether the service starts tasks of another definition by now. Raises StoreError when that is not known."""
        ...
