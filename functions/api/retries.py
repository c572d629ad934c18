"""The retry policy of a job as a request says it."""

from __future__ import annotations

from typing import Final

from functions.api.requests import EXAMPLES, RetryDocument
from shared.domain.durations import format_duration, parse_duration
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.instants import DAY, SECOND
from shared.domain.job import RetryPolicy
from shared.domain.limits import MAX_RETRY_AGE_MS, MAX_RETRY_WORDS, RETRY_WORD

#: Least and most, by member.
_DURATIONS: Final = {"base": (0, DAY), "cap": (SECOND, MAX_RETRY_AGE_MS), "max_age": (SECOND, MAX_RETRY_AGE_MS)}


def read_retry(document: RetryDocument) -> RetryPolicy:
    """Raises InvalidRequest with every problem."""
    problems: list[FieldProblem] = []
    durations: dict[str, int] = {}
    for name, (least, most) in _DURATIONS.items():
        try:
            durations[name] = _duration(getattr(document, name), f"#/retry/{name}", least, most)
        except InvalidRequest as error:
            problems += error.problems
    for name in ("retry_on", "never_on"):
        problems += _problems_of_words(name, getattr(document, name))
    if problems:
        raise InvalidRequest(problems)
    return RetryPolicy(
        max_attempts=document.max_attempts,
        base_ms=durations["base"],
        factor=document.factor,
        cap_ms=durations["cap"],
        max_age_ms=durations["max_age"],
        retry_on=tuple(document.retry_on),
        never_on=tuple(document.never_on),
    )


def _duration(text: str, pointer: str, least: int, most: int) -> int:
    duration_ms = parse_duration(text, pointer)
    if not least <= duration_ms <= most:
        detail = f"{text} is not between {format_duration(least)} and {format_duration(most)}"
        raise InvalidRequest(FieldProblem(pointer, detail, EXAMPLES[pointer]))
    return duration_ms


def _problems_of_words(name: str, words: list[str]) -> list[FieldProblem]:
    pointer = f"#/retry/{name}"
    if len(words) > MAX_RETRY_WORDS:
        return [
            FieldProblem(pointer, f"has {len(words)} words; at most {MAX_RETRY_WORDS} are taken", EXAMPLES[pointer])
        ]
    detail = "is no kind of failure: write 5xx, a status such as 503, timeout, connect, or an exception's name"
    return [
        FieldProblem(f"{pointer}/{number}", f"{word!r} {detail}", "5xx")
        for number, word in enumerate(words)
        if not RETRY_WORD.fullmatch(word)
    ]
