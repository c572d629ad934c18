from __future__ import annotations

import json
from dataclasses import replace

import pytest

from shared.domain.errors import MessageUnreadable
from shared.domain.instants import Instant
from shared.domain.message import VERSION, Dispatch, decode, encode
from shared.domain.run import RunKind

DISPATCH = Dispatch(
    job_key="acme/nightly",
    generation=1_795_737_600_000,
    slot=Instant(1_795_737_610_000),
    fire_at=Instant(1_795_737_610_250),
    run_id="20261127T000010000Z",
    shard=3,
    epoch=7,
    enqueued_at=Instant(1_795_737_609_900),
    attempt=2,
    kind=RunKind.CATCH_UP,
    is_single=True,
)


def changed(**members: object) -> str:
    return json.dumps({**json.loads(encode(DISPATCH)), **members})


def test_a_dispatch_reads_back_as_it_was_written() -> None:
    odd = replace(DISPATCH, job_key='acme/"\\ \n\u2028 ü 🎉', entry_id='0001#acme/"\\ \n ü#7')
    assert decode(encode(odd)) == odd
    assert decode(encode(DISPATCH)) == DISPATCH
    assert decode(encode(replace(DISPATCH, is_single=False, kind=RunKind.SCHEDULED))).kind is RunKind.SCHEDULED


def test_a_dispatch_of_before_entries_were_named_is_read() -> None:
    document = json.loads(encode(replace(DISPATCH, entry_id="0001#acme/nightly#7")))
    del document["entry_id"]
    assert decode(json.dumps(document)) == DISPATCH


def test_the_next_version_is_read_and_its_new_members_ignored() -> None:
    assert decode(changed(v=VERSION + 1, colour="blue")) == DISPATCH


@pytest.mark.parametrize("version", [0, VERSION + 2, "1", None, [1]])
def test_any_other_version_is_unreadable(version: object) -> None:
    with pytest.raises(MessageUnreadable) as refused:
        decode(changed(v=version))
    assert refused.value.version == version


@pytest.mark.parametrize("body", ["", "{", "null", "[]", "7", '{"job_key": "acme/x"}', '"v"'])
def test_a_body_that_is_none_of_ours_is_unreadable(body: str) -> None:
    with pytest.raises(MessageUnreadable):
        decode(body)


@pytest.mark.parametrize("member", ["job_key", "slot", "run_id", "attempt", "kind", "single"])
def test_a_missing_member_is_unreadable(member: str) -> None:
    document = json.loads(encode(DISPATCH))
    del document[member]
    with pytest.raises(MessageUnreadable):
        decode(json.dumps(document))


@pytest.mark.parametrize(("member", "value"), [("slot", "soon"), ("job_key", 7), ("attempt", None), ("kind", "odd")])
def test_a_member_of_another_type_is_unreadable(member: str, value: object) -> None:
    with pytest.raises(MessageUnreadable) as refused:
        decode(changed(**{member: value}))
    assert not refused.value.is_newer


@pytest.mark.parametrize(("version", "is_newer"), [(VERSION + 2, True), (0, False), ("2", False)])
def test_a_message_of_a_later_version_is_told_from_what_no_version_can_read(version: object, is_newer: bool) -> None:
    with pytest.raises(MessageUnreadable) as refused:
        decode(changed(v=version))
    assert refused.value.is_newer is is_newer


def test_it_carries_no_payload_and_stays_small() -> None:
    assert len(encode(DISPATCH)) < 400
