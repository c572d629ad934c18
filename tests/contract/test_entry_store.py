from __future__ import annotations

from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.domain.keys import EntryKey
from shared.ports import JobWrite
from tests.contract.stores import PAGE_SIZE, Stores
from tests.contract.values import NOW, make_entry, make_job

FOREVER = Instant(NOW * 2)


def stored(stores: Stores, name: str, next_at: int, *, shard: int = 1, fresh: bool = True) -> Entry:
    job = make_job(name)
    entry = make_entry(job, next_at=Instant(next_at), shard=shard, fresh=fresh)
    stores.jobs.write(JobWrite(job=job, previous=None, put_entry=entry))
    return entry


def due(stores: Stores, since: int = 0, until: int = FOREVER, shard: int = 1) -> list[Entry]:
    pages = stores.entries.due(shard, since=Instant(since), until=Instant(until))
    return [entry for page in pages for entry in page]


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

    assert stores.entries.get(entry.key) == entry
    assert stores.entries.get(EntryKey(2, entry.entry_id)) is None


def test_another_shard_is_not_answered(stores: Stores) -> None:
    stored(stores, "here", NOW, shard=0)
    stored(stores, "there", NOW, shard=1)

    assert [entry.job_key for entry in due(stores, shard=0)] == ["acme/here"]


def test_a_page_is_read_when_it_is_asked_for(stores: Stores) -> None:
    entries = [stored(stores, f"job-{number}", NOW + number) for number in range(2 * PAGE_SIZE)]
    pages = stores.entries.due(1, since=NOW, until=FOREVER)
    first = next(pages)
    stores.entries.delete([entries[-1].key])

    rest = [entry for page in pages for entry in page]

    assert first == entries[:PAGE_SIZE]
    assert rest == entries[PAGE_SIZE:-1]


def test_deleted_entries_are_gone_and_repeated_or_missing_keys_are_no_failure(stores: Stores) -> None:
    entries = [stored(stores, f"job-{number}", NOW) for number in range(30)]
    keys = [entry.key for entry in entries[1:]]

    stores.entries.delete([*keys, *keys, EntryKey(1, "none"), EntryKey(7, "none")])

    assert due(stores) == entries[:1]


def test_a_move_raises_the_next_fire_and_ends_freshness(stores: Stores) -> None:
    entry = stored(stores, "job", NOW)

    assert stores.entries.move(entry.key, Instant(NOW + 1))
    assert [(found.next_at, found.fresh) for found in due(stores)] == [(NOW + 1, False)]


def test_a_move_never_goes_back(stores: Stores) -> None:
    entry = stored(stores, "job", NOW)

    assert not stores.entries.move(entry.key, Instant(NOW - 1))
    assert not stores.entries.move(entry.key, NOW)
    assert due(stores) == [entry]


def test_the_same_move_again_is_done(stores: Stores) -> None:
    entry = stored(stores, "job", NOW)
    stores.entries.move(entry.key, Instant(NOW + 1))

    assert stores.entries.move(entry.key, Instant(NOW + 1))


def test_a_move_never_brings_a_deleted_entry_back(stores: Stores) -> None:
    entry = stored(stores, "job", NOW)
    stores.entries.delete([entry.key])

    assert not stores.entries.move(entry.key, Instant(NOW + 1))
    assert due(stores) == []


def test_entries_are_marked_not_fresh_and_the_gone_stay_gone(stores: Stores) -> None:
    entries = [stored(stores, f"job-{number:02}", NOW + number) for number in range(30)]
    stores.entries.delete([entries[0].key])
    keys = [entry.key for entry in entries[:-1]]

    stores.entries.clear_fresh([*keys, *keys, EntryKey(1, "none")])

    assert [entry.fresh for entry in due(stores)] == [False] * 28 + [True]
