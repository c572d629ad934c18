"""A request may be wrong in as many places as it likes: what is answered stays small, and is found soon."""

from __future__ import annotations

from typing import Any

import pytest

from functions.api import validating
from functions.api.validating import GUESSES
from shared.domain.limits import MAX_BATCH, MAX_PROBLEMS, MAX_PROBLEMS_OF_BATCH
from tests.unit.api.world import CRON, HTTP, JOB, World, refused

#: What a Lambda may answer.
LAMBDA_ANSWERS = 6_000_000
#: A document whose every member is wrong.
UNKNOWN = {f"{number}\x01unknown": 1 for number in range(5_000)}


@pytest.fixture
def guesses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names whose meaning was guessed at."""
    made: list[str] = []

    def guess(name: str, known: list[str], **options: Any) -> list[str]:
        del known, options
        made.append(name)
        return []

    monkeypatch.setattr(validating, "get_close_matches", guess)
    return made


def test_a_document_is_told_its_first_problems_and_few_guesses(guesses: list[str]) -> None:
    document = refused(World(), {**JOB, **UNKNOWN})
    assert len(document["errors"]) == MAX_PROBLEMS
    assert len(guesses) == GUESSES


def test_no_guess_is_made_about_a_name_that_is_far_too_long(guesses: list[str]) -> None:
    [error] = refused(World(), {**JOB, "x" * 100_000: 1})["errors"]
    assert guesses == []
    assert len(error["pointer"]) < 1_000


@pytest.mark.parametrize(
    "members",
    [
        UNKNOWN,
        {"tags": UNKNOWN},
        {"tags": {str(number): "x" * 201 for number in range(500)}},
        {"payload": ["{{nothing}}"] * 5_000},
        {"payload": ["\ud800"] * 5_000},
        {"retry": {"retry_on": [1] * 5_000}},
        {"retry": UNKNOWN},
        {"schedule": {**CRON, **UNKNOWN}},
        {"target": {**HTTP, **UNKNOWN}},
        {"target": {**HTTP, "headers": UNKNOWN}},
        {"timeout": "\x01" * 30_000},
        {"schedule": {"cron": "\x01" * 30_000}},
        {"job_id": "\x01" * 30_000},
    ],
    ids=lambda members: next(iter(members))[:20],
)
def test_a_refusal_is_small_however_large_the_request_is(members: dict[str, Any]) -> None:
    world = World()
    reply = world.send("POST", "/v1/jobs", {**JOB, **members})
    assert (reply.status, 0 < len(reply.json["errors"]) <= MAX_PROBLEMS) == (400, True)
    assert len(reply.text) < 200_000


def test_a_batch_is_told_so_many_problems_in_all_and_of_each_item_the_first() -> None:
    world = World()
    wrong = {**JOB, **{f"{number}\x01unknown": 1 for number in range(300)}, "job_id": ["\x01" * 3_000]}
    reply = world.send("POST", "/v1/jobs/batch", {"items": [wrong] * MAX_BATCH})
    items = reply.json["items"]
    assert (reply.status, len(items)) == (200, MAX_BATCH)
    assert sum(len(item["problem"]["errors"]) for item in items) == MAX_PROBLEMS_OF_BATCH
    assert all(item["problem"]["detail"] and item["job_id"] is None for item in items)
    assert len(reply.text) < LAMBDA_ANSWERS // 4


@pytest.mark.parametrize(
    ("members", "detail"),
    [
        ({"timeout": 5}, "timeout: input should be a valid string"),
        ({"schedule": {"cron": "61 * * * *"}}, "schedule.cron: "),
        ({"retry": {"max_attempts": 0}, "timeout": 5}, "(and 1 more)"),
        ({"job_id": "a/b"}, "job_id: a job_id has"),
        ({"target": None}, "target: "),
    ],
)
def test_the_sentence_of_a_refusal_names_the_first_field(members: dict[str, Any], detail: str) -> None:
    found = refused(World(), {**JOB, **members})["detail"]
    assert detail in found


def test_a_missing_member_is_not_named_twice() -> None:
    assert refused(World(), {"target": HTTP})["detail"] == "schedule is missing"
