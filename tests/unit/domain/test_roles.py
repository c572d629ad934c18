"""What AWS is told of an owner for whom a role is assumed."""

from __future__ import annotations

import re

import pytest

from shared.domain.limits import OWNER_ID
from shared.ports.aws_api import Role

#: As AWS takes them (API reference of AssumeRole).
EXTERNAL_ID = re.compile(r"[\w+=,.@:/-]{2,1224}", re.ASCII)
SESSION_NAME = re.compile(r"[\w+=,.@-]{2,64}", re.ASCII)
OWNERS = [
    "acme",
    "a",
    "|",
    "auth0|5f7c8ec7",
    "auth0:5f7c8ec7",
    "x" * 64,
    "team|" + "y" * 59,
    "|a",
    "a|",
    "jane@example.com",
]


@pytest.mark.parametrize("owner_id", OWNERS)
def test_aws_takes_what_it_is_told_of_an_owner(owner_id: str) -> None:
    assert OWNER_ID.fullmatch(owner_id)
    role = Role("arn:aws:iam::123456789012:role/orders", owner_id)
    assert EXTERNAL_ID.fullmatch(role.external_id)
    assert SESSION_NAME.fullmatch(role.session_name)


def test_no_two_owners_have_the_same_external_id() -> None:
    told = {Role("arn", owner_id).external_id for owner_id in OWNERS}
    assert len(told) == len(OWNERS)
    assert Role("arn", "auth0|x").external_id == "auth0/x"


def test_a_session_says_for_whom_it_is() -> None:
    assert Role("arn", "auth0|x").session_name == "carillon-auth0-x"
