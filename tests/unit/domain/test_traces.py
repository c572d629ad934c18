from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.context import Context
from opentelemetry.propagators.aws import AwsXRayPropagator
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.trace import get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from shared.domain.traces import TraceContext, read_header, read_traceparent, trace_headers

TRACE, SPAN = "67449d805f84c0a1b2c3d4e5f6a7b8c9", "53995c3f42cd8ad8"
HEADER = "Root=1-67449d80-5f84c0a1b2c3d4e5f6a7b8c9;Parent=53995c3f42cd8ad8;Sampled=1"
PARENT = "00-67449d805f84c0a1b2c3d4e5f6a7b8c9-53995c3f42cd8ad8-01"

IDS = st.builds(
    TraceContext,
    st.integers(1, 2**128 - 1).map(lambda number: f"{number:032x}"),
    st.integers(1, 2**64 - 1).map(lambda number: f"{number:016x}"),
)


def read_by(propagator: TextMapPropagator, headers: dict[str, str]) -> TraceContext:
    span = get_current_span(propagator.extract(headers, Context())).get_span_context()
    assert span.trace_flags.sampled
    return TraceContext(f"{span.trace_id:032x}", f"{span.span_id:016x}")


@given(IDS)
def test_both_forms_read_back_as_they_were_written(context: TraceContext) -> None:
    assert read_header(context.header) == context
    assert read_traceparent(context.traceparent) == context


@given(IDS)
def test_others_read_what_is_written_here(context: TraceContext) -> None:
    headers = trace_headers(context.header)

    assert read_by(AwsXRayPropagator(), headers) == context
    assert read_by(TraceContextTextMapPropagator(), headers) == context


@pytest.mark.parametrize(
    "text",
    [
        HEADER,
        "Sampled=1;Parent=53995c3f42cd8ad8;Root=1-67449d80-5f84c0a1b2c3d4e5f6a7b8c9",
        HEADER.replace(";", "; ") + ";Lineage=a87bd80c:1|68fd508a:5",
    ],
)
def test_a_header_is_read_in_any_order_and_with_more_in_it(text: str) -> None:
    assert read_header(text) == TraceContext(TRACE, SPAN)


@pytest.mark.parametrize("text", [PARENT, f" {PARENT} ", PARENT.replace("00-", "42-", 1) + "-more", PARENT[:-1] + "3"])
def test_a_traceparent_of_another_version_is_read_as_far_as_it_is_known(text: str) -> None:
    assert read_traceparent(text) == TraceContext(TRACE, SPAN)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "Root=1-67449d80-5f84c0a1b2c3d4e5f6a7b8c9",
        HEADER.replace("Sampled=1", "Sampled=0"),
        HEADER.replace("Sampled=1", "Sampled=?"),
        HEADER.replace("Root=1-", "Root=2-"),
        HEADER.replace("53995c3f42cd8ad8", "0" * 16),
        HEADER.replace("c9;", "C9;"),
        "\r\nX-Evil: 1",
    ],
)
def test_a_header_that_names_no_sampled_span_names_nothing(text: str | None) -> None:
    assert read_header(text) is None
    assert trace_headers(text) == {}


@pytest.mark.parametrize(
    "text",
    [None, "", PARENT[:-1] + "0", PARENT + "-more", "ff" + PARENT[2:], PARENT.replace(TRACE, "0" * 32), PARENT.upper()],
)
def test_a_traceparent_that_names_no_sampled_span_names_nothing(text: str | None) -> None:
    assert read_traceparent(text) is None
