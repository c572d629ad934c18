"""What the client raises survives a task queue or a process pool."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from carillon.client.errors import KINDS, STATUSES, CarillonError, NoAnswer, NotEnded, Problem, problem_of

DOCUMENT: dict[str, Any] = {
    "title": "Bad",
    "detail": "timeout: too long",
    "instance": "request-1",
    "errors": [{"pointer": "#/timeout", "detail": "too long", "example": "PT60S"}],
}
RAISED: list[CarillonError] = [
    NoAnswer("GET", "https://example.com", "reset", may_have_happened=True),
    NotEnded("job", "run", "running", waited_seconds=3.0),
    problem_of(418, DOCUMENT),
    *(problem_of(400, {**DOCUMENT, "type": f"#errors-{kind}"}, retry_after_seconds=2.0) for kind in KINDS),
    *(kind(status, DOCUMENT) for status, kind in STATUSES.items()),
]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_an_error_is_the_same_when_it_was_pickled_or_copied(error: CarillonError) -> None:
    error.add_note("seen in task 7")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):  # noqa: S301
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)


def test_a_problem_says_which_field_is_wrong() -> None:
    assert str(Problem(400, DOCUMENT)) == "400 Bad: timeout: too long"
