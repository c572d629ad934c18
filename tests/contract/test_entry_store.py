from __future__ import annotations

from dataclasses import replace

import pytest

from shared.domain.entry import Entry
from shared.domain.instants import DAY, Instant
from shared.domain.keys import EntryKey
from shared.ports import JobWrite, Written
from tests.contract.races import RACERS, race
from tests.contract.stores import PAGE_SIZE, Stores
from tests.contract.values import NOW, change_of, make_entry, make_job

FOREVER = Instant(NOW * 2)


def stored(stores: Stores, name: str, next_at: int, *, shard: int = 1, fresh: bool = True) -> Entry:
    job = make_job(name)
    entry = make_entry(job, next_at=Instant(next_at), shard=shard, fresh=fresh)
    stores.jobs.write(JobWrite(job=job, previous=None, put_entry=entry))
    return entry


def due(stores: Stores, since: int = 0, until: int = FOREVER, shard: int = 1) -> list[Entry]:
    """Announced or parked."""
    reads = (stores.entries.announced, stores.entries.parked)
    pages = [page for read in reads for page in read(shard, since=Instant(since), until=Instant(until))]
    return [entry.read() for page in pages for entry in page]


def found_by_key(stores: Stores, key: EntryKey) -> Entry | None:
    found = stores.entries.get(key)
    return None if found is None else found.read()


def test_due_entries_come_in_the_order_of_their_next_fire(stores: Stores) -> None:
    moments = [5, 3, 9, 3, 1, 7, 3, 3, 3]
    entries = [stored(stores, f"job-{number}", NOW + moment) for number, moment in enumerate(moments)]

    found = due(stores)

    assert [entry.next_at - NOW for entry in found] == sorted(moments)
    assert {entry.key for entry in found} == {entry.key for entry in entries}


def test_both_ends_of_the_range_belong_to_it(stores: Stores) -> None:
    for moment in (9, 10, 20, 21):
        stored(stores, f"job-{moment}", NOW + moment)

    assert [entry.next_at - NOW for entry in due(stores, NOW + 10, NOW + 20)] == [10, 20]
    assert due(stores, NOW + 20, NOW + 10) == []


def test_an_entry_is_read_by_its_key(stores: Stores) -> None:
    entry = stored(stores, "here", NOW)

    assert found_by_key(stores, entry.key) == entry
    assert stores.entries.get(EntryKey(2, entry.entry_id)) is None


def test_another_shard_is_not_answered(stores: Stores) -> None:
    stored(stores, "here", NOW, shard=0)
    stored(stores, "there", NOW, shard=1)

    assert [entry.job_key for entry in due(stores, shard=0)] == ["acme/here"]


def test_a_page_is_read_when_it_is_asked_for(stores: Stores) -> None:
    entries = [stored(stores, f"job-{number}", NOW + number) for number in range(2 * PAGE_SIZE)]
    pages = stores.entries.announced(1, since=NOW, until=FOREVER)
    first = next(pages)
    stores.entries.delete([entries[-1].key])

    rest = [entry.read() for page in pages for entry in page]

    assert [entry.read() for entry in first] == entries[:PAGE_SIZE]
    assert rest == entries[PAGE_SIZE:-1]


def test_deleted_entries_are_gone_and_repeated_or_missing_keys_are_no_failure(stores: Stores) -> None:
    entries = [stored(stores, f"job-{number}", NOW) for number in range(30)]
    keys = [entry.key for entry in entries[1:]]

    stores.entries.delete([*keys, *keys, EntryKey(1, "none"), EntryKey(7, "none")])

    assert due(stores) == entries[:1]


def parked(stores: Stores, name: str, *moments: int) -> Entry:
    """As it is parked after one move or more, which began where it was announced."""
    entry = stored(stores, name, NOW)
    for moment in moments:
        stores.entries.clear_fresh([entry.key])
        assert stores.entries.move(entry.key, Instant(NOW + moment))
        entry = replace(entry, entry_id=entry.key.parked.entry_id, next_at=Instant(NOW + moment), fresh=True)
    return entry


@pytest.mark.parametrize("moments", [(1,), (1, 2), (1, 7, 3 * DAY)])
def test_a_move_parks_an_entry_which_is_then_fresh_again(stores: Stores, moments: tuple[int, ...]) -> None:
    entry = parked(stores, "job", *moments)

    pages = stores.entries.parked(1, since=Instant(0), until=FOREVER)
    assert [found.read() for page in pages for found in page] == [entry]
    assert list(stores.entries.announced(1, since=Instant(0), until=FOREVER)) == []
    assert found_by_key(stores, entry.key) == entry


def test_parked_entries_come_in_the_order_of_their_next_fire(stores: Stores) -> None:
    moments = [5, 3, 9, 3, 1, 7, 3, 3, 3]
    for number, moment in enumerate(moments):
        parked(stores, f"job-{number}", moment)

    pages = list(stores.entries.parked(1, since=Instant(NOW + 3), until=Instant(NOW + 7)))

    assert [entry.next_at - NOW for page in pages for entry in page] == [3, 3, 3, 3, 3, 5, 7]
    assert all(len(page) <= PAGE_SIZE for page in pages)


@pytest.mark.parametrize("moments", [(), (1,)], ids=["announced", "parked"])
def test_a_move_never_goes_back(stores: Stores, moments: tuple[int, ...]) -> None:
    entry = parked(stores, "job", *moments)

    assert not stores.entries.move(entry.key, Instant(entry.next_at - 1))
    assert stores.entries.move(entry.key, entry.next_at) is bool(moments)
    assert due(stores) == [entry]


def test_the_same_move_again_is_done(stores: Stores) -> None:
    entry = stored(stores, "job", NOW)
    stores.entries.move(entry.key, Instant(NOW + 1))

    assert stores.entries.move(entry.key, Instant(NOW + 1))


def test_who_does_not_know_that_it_is_parked_moves_it_all_the_same(stores: Stores) -> None:
    entry = stored(stores, "job", NOW)
    stores.entries.move(entry.key, Instant(NOW + 5))

    assert stores.entries.move(entry.key, Instant(NOW + 9))
    assert not stores.entries.move(entry.key, Instant(NOW + 7))
    assert [(found.key, found.next_at) for found in due(stores)] == [(entry.key.parked, NOW + 9)]


def test_a_change_of_the_job_removes_its_entry_wherever_it_lies(stores: Stores) -> None:
    for name, moments in {"announced": (), "parked": (1,)}.items():
        parked(stores, name, *moments)
        change = change_of(make_job(name))
        assert stores.jobs.write(change) == Written()

    assert {entry.generation for entry in due(stores)} == {change_of(make_job("parked")).job.generation}


def test_of_many_who_park_an_entry_the_furthest_wins(stores: Stores) -> None:
    entry = stored(stores, "job", NOW)

    race(lambda number: stores.entries.move(entry.key, Instant(NOW + 1 + number)))

    [found] = due(stores)
    assert found == replace(entry, entry_id=entry.key.parked.entry_id, next_at=found.next_at, fresh=True)
    assert found.next_at == NOW + RACERS


@pytest.mark.parametrize("moments", [(), (1,)], ids=["announced", "parked"])
def test_a_move_never_brings_a_deleted_entry_back(stores: Stores, moments: tuple[int, ...]) -> None:
    entry = parked(stores, "job", *moments)
    stores.entries.delete([entry.key])

    assert not stores.entries.move(entry.key, Instant(NOW + 2))
    assert due(stores) == []


def test_entries_are_marked_not_fresh_and_the_gone_stay_gone(stores: Stores) -> None:
    entries = [stored(stores, f"job-{number:02}", NOW + number) for number in range(30)]
    stores.entries.delete([entries[0].key])
    keys = [entry.key for entry in entries[:-1]]

    stores.entries.clear_fresh([*keys, *keys, EntryKey(1, "none")])

    assert [entry.fresh for entry in due(stores)] == [False] * 28 + [True]
