"""Whatever is sent: accepted or refused, quickly, and never anything else."""

from __future__ import annotations

import time
from itertools import islice, pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shared.domain.errors import InvalidRequest
from shared.domain.instants import Instant
from shared.domain.schedules import decode, encode, parse_schedule, preview, slots, to_document, zone_names
from tests.unit.schedules.moments import NOW, judge

#: CPU time, not wall time: what one request may cost. Typical is a hundredth of it.
CPU_LIMIT_S = 0.05

characters = st.sampled_from(
    [*"0123456789*/,-?#LWlw \tRH@()", "MON", "fri", "JAN", "cron(", "rate(", "@daily", "5L", "31W"]
)
field = st.lists(characters, min_size=1, max_size=8).map("".join)
expressions = st.one_of(
    st.text(max_size=300),
    st.lists(characters, max_size=40).map("".join),
    st.lists(field, min_size=5, max_size=6).map(" ".join),
    st.lists(field, min_size=6, max_size=6).map(lambda fields: f"cron({' '.join(fields)})"),
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=True), st.text(max_size=40))
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)
keys = st.sampled_from(
    [
        "at",
        "in",
        "cron",
        "every",
        "timezone",
        "dst",
        "seconds",
        "anchor",
        "start_at",
        "end_at",
        "max_runs",
        "window",
        "exclude",
    ]
)


def cpu_seconds(document: dict[str, Any]) -> float:
    start = time.process_time()
    judge(document, NOW)
    return time.process_time() - start


@settings(max_examples=1500, deadline=None)
@given(expressions, st.sampled_from(sorted(zone_names())), st.booleans())
@example("*/5 2 * 3 0L", "Europe/Berlin", False)
@example("0 0 29 2 */7", "America/Santiago", False)
@example("* * 29W 2 *", "UTC", False)
@example("cron(0 0 29 2 ? 1970-2199)", "UTC", False)
@example("cron(59 23 ? 2 7#5 2072-2199)", "Asia/Gaza", False)
@example(",".join(["*"] * 120), "UTC", False)
@example("9" * 256, "UTC", False)
@example("* * * * * *", "UTC", True)
def test_an_expression_is_accepted_or_refused_within_its_time(
    expression: str, zone_name: str, has_seconds: bool
) -> None:
    document = {"cron": expression, "timezone": zone_name, "seconds": has_seconds}
    planned = judge(document, NOW)
    # Of three: one may have met the garbage collector, or read the file of its zone.
    assert any(cpu_seconds(document) < CPU_LIMIT_S for _ in range(3))
    if isinstance(planned, InvalidRequest):
        assert all(problem.detail and len(problem.detail) < 1000 for problem in planned.problems)
        return
    coming = [Instant(NOW - 1), *islice(slots(planned, Instant(NOW - 1)), 5)]
    assert all(earlier < later for earlier, later in pairwise(coming))
    assert decode(encode(planned)) == planned
    assert to_document(parse_schedule(to_document(planned), now=NOW)) == to_document(planned)
    preview(planned, NOW, 3)


@settings(max_examples=500, deadline=None)
@given(st.dictionaries(st.one_of(keys, st.text(max_size=5)), json_values, max_size=6))
def test_a_document_is_accepted_or_refused(document: dict[str, object]) -> None:
    planned = judge(document, NOW)
    if isinstance(planned, InvalidRequest):
        assert planned.problems
        assert all(problem.pointer.startswith("#") for problem in planned.problems)
        return
    assert decode(encode(planned)) == planned


@pytest.mark.parametrize("value", [[], "text", 5, None, True])
def test_what_is_no_object_is_refused(value: object) -> None:
    assert isinstance(judge(value, NOW), InvalidRequest)
