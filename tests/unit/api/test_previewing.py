"""Where a preview ends: behind its `count`, or at its `until`, whichever comes first."""

from __future__ import annotations

import pytest

from shared.domain.instants import to_rfc3339
from tests.unit.api.world import CRON, World

NIGHTLY = {
    "cron": "30 2 * * *",
    "timezone": "Europe/Berlin",
    "exclude": [{"date": "2027-03-28", "reason": "inventory"}],
}
AFTER = "2027-03-26T12:00:00Z"


def slots(**members: object) -> list[tuple[str, bool]]:
    reply = World().send("POST", "/v1/schedules/preview", {"schedule": NIGHTLY, "after": AFTER, **members})
    assert reply.status == 200, reply.text
    return [(item["slot"], item["fires"]) for item in reply.json["items"]]


def test_nothing_is_shown_from_until_on_of_what_fires_and_of_what_does_not() -> None:
    first, excluded, third = slots(count=2)
    assert [fires for _, fires in (first, excluded, third)] == [True, False, True]
    assert slots(count=2, until="2027-03-29T00:30:00.001Z") == [first, excluded, third]
    assert slots(count=2, until=third[0]) == [first, excluded]
    assert slots(until=excluded[0]) == [first]
    assert slots(until="2027-03-26T12:00:00.001Z") == []


def test_count_bounds_what_lies_before_until() -> None:
    assert slots(count=1, until="2099-01-01T00:00:00Z") == slots(count=1)


@pytest.mark.parametrize("until", [AFTER, "2027-03-26T11:59:59.999Z", "later"])
def test_an_until_that_leaves_nothing_is_refused_by_name(until: str) -> None:
    reply = World().send("POST", "/v1/schedules/preview", {"schedule": NIGHTLY, "after": AFTER, "until": until})
    assert (reply.status, reply.pointers) == (400, ["#/until"])
    assert reply.json["errors"][0]["example"]


def test_without_after_until_is_later_than_now() -> None:
    world = World()
    now = to_rfc3339(world.clock.now())
    reply = world.send("POST", "/v1/schedules/preview", {"schedule": CRON, "until": now})
    assert (reply.status, reply.pointers) == (400, ["#/until"])
