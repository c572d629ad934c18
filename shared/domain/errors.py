"""Everything Carillon raises on purpose.

CarillonError
  x InvalidRequest          the caller's input is wrong; names the field, the problem and a fix
  x MessageUnreadable       a queue message of an unknown version or shape
  x StoredUnreadable        a row that this version cannot read, or a rule in it that it does not know
  x Fenced                  a newer token exists: whoever catches this stops, it does not retry
  x StoreError              a table or queue did not do what was asked
    + WriteRefused          certainly not written
      - StoreThrottled      ... because of its rate: may be retried after a pause
      - StoreContended      ... because another transaction held the item: may be retried at once, with jitter
      - ItemRefused         ... because of what it holds: the same again is refused again
    + OutcomeUnknown        perhaps written: read again before deciding

A lost race is not here: ports answer it as a value.
"""

from __future__ import annotations

from dataclasses import dataclass


class CarillonError(Exception):
    """Base of everything Carillon raises on purpose."""


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One thing wrong with a request. `pointer` is an RFC 6901 fragment such as `#/schedule/cron`.

    `example` is a JSON value that would be accepted there.
    """

    pointer: str
    detail: str
    example: object = None

    def under(self, parent: str) -> FieldProblem:
        """The same problem seen from an enclosing document, e.g. `under("schedule")`."""
        return FieldProblem(f"#/{parent}{self.pointer.removeprefix('#')}", self.detail, self.example)


class InvalidRequest(CarillonError):
    """Input that cannot be accepted; `problems` names every field at fault and how to put it right."""

    def __init__(self, problems: list[FieldProblem] | FieldProblem) -> None:
        self.problems = [problems] if isinstance(problems, FieldProblem) else list(problems)
        super().__init__("; ".join(f"{p.pointer}: {p.detail}" for p in self.problems))


class PayloadTooLarge(InvalidRequest):
    """Input over a size limit (HTTP 413)."""


class MessageUnreadable(CarillonError):
    """A message whose version or shape this process does not know. It becomes a dead letter: at once, or after some
    minutes where a newer process may know it.
    """

    def __init__(self, reason: str, *, version: object = None, is_newer: bool = False) -> None:
        self.reason = reason
        self.version = version
        self.is_newer = is_newer
        super().__init__(f"{reason} (version {version!r})")


class StoredUnreadable(CarillonError):
    """A later version wrote what is stored, or it is broken. It concerns this one thing only."""

    def __init__(self, what: str, why: str) -> None:
        self.what = what
        self.why = why
        super().__init__(f"{what} is stored as this version cannot read it: {why}")


class Fenced(CarillonError):
    """A newer token exists for this run or shard: stop and write nothing."""

    def __init__(self, what: str, *, token: int) -> None:
        self.what = what
        self.token = token
        super().__init__(f"{what}: token {token} is no longer the newest")


class StoreError(CarillonError):
    """A table or queue did not do what was asked."""

    def __init__(self, operation: str, reason: str) -> None:
        self.operation = operation
        self.reason = reason
        super().__init__(f"{operation}: {reason}")


class WriteRefused(StoreError):
    """The store refused the call: certainly nothing was written."""


class StoreThrottled(WriteRefused):
    """Refused because of its rate; the same call may succeed after a pause."""


class StoreContended(WriteRefused):
    """Refused because another transaction held the item (`TransactionConflict`); retry with jitter."""


class ItemRefused(WriteRefused):
    """Refused because of what was to be stored, such as its size: the same again is refused again."""


class OutcomeUnknown(StoreError):
    """No answer, or a 5xx: perhaps written. Read again before deciding anything."""
