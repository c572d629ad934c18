"""Rows of table `job_schedules`: lean, for every load reads them all."""

from __future__ import annotations

from sys import intern

from shared.adapters.dynamodb.attributes import Row, read_text, read_whole, text, whole
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
from shared.domain.keys import EntryKey
from shared.domain.run import RunKind
from shared.domain.schedules import decode, encode

PARTITION = "shard"
SORT = "entry_id"
NEXT_AT = "next_at"
FRESH = "fresh"

COLUMNS = (
    text_column("job_key"),
    whole_column("generation"),
    whole_column(NEXT_AT),
    whole_column("from_at"),
    text_column("lane", intern),
    shared_column("schedule", encode, decode),
    shared_column("misfire", misfire_to_json, misfire_from_json),
    flag_column(FRESH, absent=False),
    text_column("run_id"),
    whole_column("slot"),
    whole_column("attempt", absent=1),
    text_column("kind", RunKind, absent=RunKind.SCHEDULED),
    text_column("trace"),
)


def key_of(key: EntryKey) -> Row:
    return {PARTITION: whole(key.shard), SORT: text(key.entry_id)}


def write_entry(entry: Entry) -> Row:
    return key_of(entry.key) | write_columns(COLUMNS, entry)


def read_entry(row: Row) -> Entry:
    return Entry(shard=read_whole(row[PARTITION]), entry_id=read_text(row[SORT]), **read_columns(COLUMNS, row))
