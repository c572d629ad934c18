"""An entry of a later release: where it lies is known, it is moved like any other, and keeps what it says."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from shared.adapters.dynamodb.attributes import Row, document, text
from shared.adapters.dynamodb.entry_rows import StoredRow, parked, write_entry
from shared.config import TableNames
from shared.domain.entry import Entry
from shared.domain.errors import MessageUnreadable
from shared.domain.instants import Instant
from tests.contract.stores import PAGE_SIZE, Stores, dynamo_stores
from tests.contract.values import NOW, creation, make_entry, make_job

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

FOREVER = Instant(NOW * 2)


def of_a_later_release(entry: Entry) -> Row:
    row = write_entry(entry)
    return row | {"schedule": document(json.loads(row["schedule"]["S"]) | {"v": 2})}


@pytest.mark.parametrize("is_fresh", [True, False])
def test_where_it_lies_is_known_and_reading_it_says_why_not(is_fresh: bool) -> None:
    entry = make_entry(make_job("job"), next_at=Instant(NOW + 7), fresh=is_fresh)
    for row, next_at in (
        (of_a_later_release(entry), NOW + 7),
        (parked(of_a_later_release(entry), Instant(NOW + 9)), NOW + 9),
    ):
        stored = StoredRow(row)
        assert (stored.next_at, stored.is_spoken_for) == (next_at, "fresh" not in row)
        with pytest.raises(MessageUnreadable, match="another version"):
            stored.read()


def test_the_watermark_speaks_for_nothing_that_fires_once() -> None:
    once = replace(make_entry(make_job("job"), fresh=False), run_id="r", slot=NOW)
    assert not StoredRow(write_entry(once)).is_spoken_for
    assert not once.is_spoken_for


def test_an_id_that_no_release_writes_is_owed_since_ever() -> None:
    row = write_entry(make_entry(make_job("job"))) | {"entry_id": text("0001#")}
    assert StoredRow(row).next_at == 1
    assert StoredRow(row | {"entry_id": text("1_x#y")}).next_at == 0


@pytest.fixture
def stores(dynamodb: DynamoDBClient, tables: TableNames) -> Stores:
    return dynamo_stores(dynamodb, tables)


@pytest.mark.emulator
def test_it_hides_no_other_entry_of_its_page_and_is_parked(
    stores: Stores, dynamodb: DynamoDBClient, tables: TableNames
) -> None:
    entries = [make_entry(make_job(f"job-{number}"), next_at=Instant(NOW + number)) for number in range(PAGE_SIZE)]
    for number, entry in enumerate(entries):
        stores.jobs.write(replace(creation(make_job(f"job-{number}")), put_entry=entry))
    bad = entries[1]
    dynamodb.put_item(TableName=tables.job_schedules, Item=of_a_later_release(bad))

    [page] = stores.entries.announced(1, since=Instant(0), until=FOREVER)
    assert [each.entry_id for each in page] == [entry.entry_id for entry in entries]
    assert [page[0].read(), page[2].read()] == [entries[0], entries[2]]

    for at in (NOW + 50, NOW + 60):
        assert stores.entries.move(bad.key, Instant(at))
        assert stores.entries.move(bad.key, Instant(at)), "the answer may be lost"
        [[moved]] = stores.entries.parked(1, since=Instant(0), until=FOREVER)
        assert (moved.entry_id, moved.next_at, moved.is_spoken_for) == (bad.key.parked.entry_id, at, False)
        with pytest.raises(MessageUnreadable):
            moved.read()
    stores.entries.clear_fresh([bad.key.parked])
    stores.entries.delete([bad.key.parked])
    assert list(stores.entries.parked(1, since=Instant(0), until=FOREVER)) == []
