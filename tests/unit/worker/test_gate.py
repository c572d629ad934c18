"""Grants are asked for before each call, and for nothing that needs none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from functions.worker.targets import Call, Outcome, Targets, failed, waited
from functions.worker.targets.gate import REMEMBERED_SECONDS, Gate
from shared.adapters.memory import ManualClock, MemoryAccessStore, MemoryTables
from shared.domain.errors import StoreThrottled
from shared.domain.grants import AWS, Grant, GrantRules, OwnResources
from shared.domain.instants import Instant
from shared.domain.targets import parse_target
from tests.unit.worker.webhooks import OWNER, REGION, call_of
from tests.unit.worker.workshop import RecordedTarget

QUEUE = "https://sqs.eu-central-1.amazonaws.com/123456789012/orders"
ARN = "arn:aws:sqs:eu-central-1:123456789012:orders"
SEND = parse_target({"type": "aws", "service": "sqs", "operation": "SendMessage", "parameters": {"QueueUrl": QUEUE}})


class CountedAccess(MemoryAccessStore):
    reads = 0
    is_broken = False

    def grants(self, owner_id: str) -> tuple[Grant, ...]:
        self.reads += 1
        if self.is_broken:
            raise StoreThrottled("access.grants", "too fast")
        return super().grants(owner_id)


class Door:
    def __init__(self, rules: GrantRules | None = None) -> None:
        self.clock = ManualClock()
        self.access = CountedAccess(MemoryTables())
        self.target = RecordedTarget()
        gate = Gate(rules or GrantRules(), self.access, self.clock, region=REGION)
        self.targets = Targets(dict.fromkeys(("aws", "handler", "http"), self.target), gate)

    def knock(self, target: Mapping[str, Any] = SEND) -> Outcome:
        return waited(self.targets.call(call_of(dict(target), payload={"run": "{{run_id}}"})))

    def grant(self, resource: str = ARN, role_arn: str | None = None, *, owner_id: str = OWNER) -> None:
        self.access.put_grant(Grant(owner_id, resource, AWS, resource, Instant(0), "root", role_arn))


def error_of(outcome: Outcome) -> str:
    assert outcome.error is not None
    return outcome.error.type


def test_what_is_not_granted_is_not_called() -> None:
    door = Door()
    door.grant(f"{ARN}-of-others")
    door.grant(owner_id="another")

    outcome = door.knock()

    assert (error_of(outcome), outcome.is_permanent) == ("not_granted", True)
    assert door.target.calls == []


def test_what_is_granted_is_called_under_the_role_of_its_grant() -> None:
    door = Door()
    door.grant(role_arn="arn:role")

    assert door.knock().error is None
    [call] = door.target.calls
    assert call.roles == {AWS: "arn:role"}
    assert call.payload == {"run": "20261127T013000000Z"}


def test_a_grant_that_is_taken_back_ends_within_the_time_it_is_remembered() -> None:
    door = Door()
    door.grant()
    assert door.knock().error is None
    door.access.delete_grant(OWNER, ARN)
    door.access.reads = 0

    door.clock.advance(int(REMEMBERED_SECONDS * 1000) - 1)
    assert door.knock().error is None
    assert door.access.reads == 0
    door.clock.advance(1)
    assert error_of(door.knock()) == "not_granted"


def test_a_new_grant_holds_at_once() -> None:
    door = Door()
    door.grant(f"{ARN}-of-others")
    assert error_of(door.knock()) == "not_granted"

    door.grant()

    assert door.knock().error is None


def test_nothing_is_read_for_what_needs_no_grant() -> None:
    door = Door()

    for document in ({"type": "handler", "name": "echo"}, {"type": "http", "url": "https://example.com/"}):
        assert door.knock(parse_target(document)).error is None
    assert door.access.reads == 0
    assert [call.roles for call in door.target.calls] == [{}, {}]


def test_carillons_own_is_not_called_even_with_a_grant_from_before_it_was_known() -> None:
    door = Door(GrantRules(own=OwnResources(("orders",))))
    door.grant()

    assert error_of(door.knock()) == "not_granted"


def test_grants_that_cannot_be_read_refuse_this_try_alone() -> None:
    door = Door()
    door.access.is_broken = True

    outcome = door.knock()
    assert (error_of(outcome), outcome.is_permanent) == ("refused", False)

    door.access.is_broken = False
    door.grant()
    assert door.knock().error is None


@pytest.mark.parametrize("kind", ["ftp", None, ["http"]])
def test_an_unknown_type_fails_without_another_try(kind: object) -> None:
    outcome = Door().knock({"type": kind})

    assert (error_of(outcome), outcome.is_permanent) == ("unknown_target", True)


def test_a_failure_of_a_target_is_its_own() -> None:
    door = Door()
    door.grant()

    def answer(_: Call) -> Outcome:
        return failed("refused", "no")

    door.target.answer = answer
    assert error_of(door.knock()) == "refused"
