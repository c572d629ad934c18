"""PartiQL: batches of up to 25 writes of which each succeeds or fails alone, at the price of a single write.

insert   puts a row where none has its key      refused: DuplicateItem
update   changes a row that is there as said    refused: ConditionalCheckFailed
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.faults import fault_of_code
from shared.adapters.dynamodb.attributes import Row, Value
from shared.domain.errors import ItemRefused, OutcomeUnknown, StoreContended, StoreError, StoreThrottled

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

#: What BatchExecuteStatement takes.
BATCH = 25
_REFUSED = {"ConditionalCheckFailed", "DuplicateItem"}
#: The same statement may go through a moment later.
_TRANSIENT = (StoreThrottled, StoreContended, OutcomeUnknown)


@dataclass(frozen=True, slots=True)
class Statement:
    text: str
    parameters: tuple[Value, ...]


def insert(table: str, row: Row) -> Statement:
    return Statement(_insert_text(table, tuple(row)), tuple(row.values()))


def update(
    table: str, *, key: Row, sets: Row, removes: Sequence[str] = (), where: Row, missing: Sequence[str] = ()
) -> Statement:
    """`sets` may name a path such as `attempts.t000001_000`; beside the key, `where` must hold, and the attributes
    `missing` be absent.
    """
    text = _update_text(table, tuple(sets), tuple(removes), (*key, *where), tuple(missing))
    return Statement(text, (*sets.values(), *key.values(), *where.values()))


@lru_cache(maxsize=1024)
def _insert_text(table: str, attributes: tuple[str, ...]) -> str:
    members = ", ".join(f"'{name}': ?" for name in attributes)
    return f'INSERT INTO "{table}" VALUE {{{members}}}'


@lru_cache(maxsize=1024)
def _update_text(
    table: str, sets: tuple[str, ...], removes: tuple[str, ...], where: tuple[str, ...], missing: tuple[str, ...]
) -> str:
    changes = [f"SET {_path(name)} = ?" for name in sets] + [f"REMOVE {_path(name)}" for name in removes]
    conditions = [f"{_path(name)} = ?" for name in where] + [f"attribute_not_exists({_path(name)})" for name in missing]
    return f'UPDATE "{table}" {" ".join(changes)} WHERE {" AND ".join(conditions)}'


def _path(name: str) -> str:
    """Quoted, for many names are reserved words."""
    return ".".join(f'"{part}"' for part in name.split("."))


class Statements:
    """Runs batches. No two statements of one call may be about the same row."""

    def __init__(self, client: DynamoDBClient, calls: Calls) -> None:
        self._client = client
        self._calls = calls

    def run(self, operation: str, statements: Sequence[Statement]) -> list[bool]:
        """Whether each was applied; False: refused, perhaps by an earlier attempt of its own whose answer was lost.

        Raises StoreError when a statement failed, after all others were run.
        """
        return _all_done(self.each(operation, statements))

    def run_in_rounds(self, operation: str, statements: Sequence[Statement], rows: Sequence[Hashable]) -> list[bool]:
        """`run` for statements of which several may be about the same row, named in `rows`: they follow each other."""
        return _all_done(self.each_in_rounds(operation, statements, rows))

    def each(self, operation: str, statements: Sequence[Statement]) -> list[bool | StoreError]:
        """As `run`, but one that fails is answered with its error and hurts no other: ItemRefused when the table will
        never take it, OutcomeUnknown when nobody knows whether it did. Raises StoreError when none was answered.
        """
        answers: dict[int, bool | StoreError] = {}
        failure: StoreError | None = None
        for start in range(0, len(statements), BATCH):
            try:
                self._run_batch(operation, statements, range(len(statements))[start : start + BATCH], answers)
            except StoreError as error:
                # The table is out: the others of the call would wait for it in vain, each batch anew.
                failure = error
                break
        if failure is not None and not answers:
            raise failure
        unanswered = OutcomeUnknown(operation, "not answered" if failure is None else failure.reason)
        return [answers.get(index, unanswered) for index in range(len(statements))]

    def each_in_rounds(
        self, operation: str, statements: Sequence[Statement], rows: Sequence[Hashable]
    ) -> list[bool | StoreError]:
        answers: list[bool | StoreError] = [False] * len(statements)
        for indexes in _rounds(rows):
            of_round = self.each(operation, [statements[index] for index in indexes])
            for index, answer in zip(indexes, of_round, strict=True):
                answers[index] = answer
        return answers

    def _run_batch(
        self,
        operation: str,
        statements: Sequence[Statement],
        batch: Sequence[int],
        answers: dict[int, bool | StoreError],
    ) -> None:
        """Raises StoreError when the table does not answer, or asks for patience to the end."""
        try:
            self._calls.in_batches(
                operation, batch, BATCH, lambda indexes: self._send(operation, statements, indexes, answers)
            )
        except Exception as error:
            left = [index for index in batch if index not in answers]
            if isinstance(error, StoreError) and not isinstance(error, ItemRefused):
                raise
            if len(left) == 1:
                [index] = left
                # Anything else was raised before the call, by what cannot even be written down.
                answers[index] = error if isinstance(error, StoreError) else ItemRefused(operation, repr(error))
                return
            # The call was refused as a whole for what one of them holds: which one shows when they are sent apart.
            for half in (left[: len(left) // 2], left[len(left) // 2 :]):
                self._run_batch(operation, statements, half, answers)

    def _send(
        self,
        operation: str,
        statements: Sequence[Statement],
        batch: Sequence[int],
        answers: dict[int, bool | StoreError],
    ) -> list[tuple[int, StoreError]]:
        request: list[Any] = [
            {"Statement": statements[index].text, "Parameters": list(statements[index].parameters)} for index in batch
        ]
        answer = self._client.batch_execute_statement(Statements=request)
        unprocessed: list[tuple[int, StoreError]] = []
        for index, response in zip(batch, answer["Responses"], strict=True):
            error = response.get("Error")
            if error is None or error["Code"] in _REFUSED:
                answers[index] = error is None
                continue
            failure = fault_of_code(operation, error["Code"], error.get("Message", ""))
            if isinstance(failure, _TRANSIENT):
                unprocessed.append((index, failure))
            else:
                answers[index] = failure
        return unprocessed


def _all_done(answers: Sequence[bool | StoreError]) -> list[bool]:
    applied: list[bool] = []
    for answer in answers:
        if isinstance(answer, StoreError):
            raise answer
        applied.append(answer)
    return applied


def _rounds(keys: Sequence[Hashable]) -> Iterator[list[int]]:
    """The indexes of `keys` in rounds: no key twice in one, and equal keys in their order."""
    left = list(range(len(keys)))
    while left:
        first: dict[Hashable, int] = {}
        for index in left:
            first.setdefault(keys[index], index)
        taken = set(first.values())
        yield sorted(taken)
        left = [index for index in left if index not in taken]
