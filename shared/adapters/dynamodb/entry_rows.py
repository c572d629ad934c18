"""Rows of table `job_schedules`: lean, for every load reads them all.

Only a parked entry has an attribute `next_at`, and so a place in the index; the id of the others says it.
"""

from __future__ import annotations

from dataclasses import dataclass
from sys import intern

from shared.adapters.dynamodb.attributes import Row, flag, read_text, read_whole, text, whole
from shared.adapters.dynamodb.columns import (
    flag_column,
    read_columns,
    shared_column,
    text_column,
    whole_column,
    write_columns,
)
from shared.adapters.dynamodb.job_rows import misfire_from_json, misfire_to_json
from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.domain.keys import EntryKey, announced_at
from shared.domain.run import RunKind
from shared.domain.schedules import decode, encode

PARTITION = "shard"
SORT = "entry_id"
NEXT_AT = "next_at"
FRESH = "fresh"
RUN_ID = "run_id"
IS_FRESH = flag(True)

COLUMNS = (
    text_column("job_key"),
    whole_column("generation"),
    whole_column("from_at"),
    text_column("lane", intern),
    shared_column("schedule", encode, decode),
    shared_column("misfire", misfire_to_json, misfire_from_json),
    flag_column(FRESH, absent=False),
    text_column(RUN_ID),
    whole_column("slot"),
    whole_column("attempt", absent=1),
    text_column("kind", RunKind, absent=RunKind.SCHEDULED),
    text_column("trace"),
)


def key_of(key: EntryKey) -> Row:
    return {PARTITION: whole(key.shard), SORT: text(key.entry_id)}


def write_entry(entry: Entry) -> Row:
    row = key_of(entry.key) | write_columns(COLUMNS, entry)
    if entry.key.is_parked:
        row[NEXT_AT] = whole(entry.next_at)
    return row


def next_at_of(row: Row) -> Instant:
    return Instant(read_whole(row[NEXT_AT])) if NEXT_AT in row else announced_at(read_text(row[SORT]))


def read_entry(row: Row) -> Entry:
    entry_id = read_text(row[SORT])
    return Entry(
        shard=read_whole(row[PARTITION]), entry_id=entry_id, next_at=next_at_of(row), **read_columns(COLUMNS, row)
    )


@dataclass(frozen=True, slots=True)
class StoredRow:
    """An entry as its row, not decoded yet."""

    row: Row

    @property
    def entry_id(self) -> str:
        return read_text(self.row[SORT])

    @property
    def next_at(self) -> Instant:
        try:
            return next_at_of(self.row)
        except ValueError:
            # A place that no release writes. Whatever it owes, it owes since ever.
            return Instant(0)

    @property
    def is_spoken_for(self) -> bool:
        return not (FRESH in self.row or RUN_ID in self.row)

    def read(self) -> Entry:
        return read_entry(self.row)


def parked(row: Row, at: Instant) -> Row:
    """The row of an entry, as it is parked under `at`. What a newer version added to it stays."""
    key = EntryKey(read_whole(row[PARTITION]), read_text(row[SORT]))
    return row | key_of(key.parked) | {NEXT_AT: whole(at), FRESH: IS_FRESH}
