from __future__ import annotations

from typing import Any

import pytest

from shared.domain.targets.urls import fault_of_url, filled_url
from shared.domain.templates import faults_of, filled, has_placeholder, is_templated

VALUES = {
    "slot": "2026-11-27T01:30:00.000Z",
    "run_id": "20261127T013000000Z",
    "attempt": "2",
    "job_id": "nightly",
    "fencing_token": "3",
}


def test_every_placeholder_is_filled_wherever_a_text_is() -> None:
    value = {"a": ["{{slot}}", {"b": "{{ run_id }}/{{attempt}}"}], "c": "{{job_id}}{{fencing_token}}", "d": [1, None]}

    assert filled(value, VALUES) == {
        "a": ["2026-11-27T01:30:00.000Z", {"b": "20261127T013000000Z/2"}],
        "c": "nightly3",
        "d": [1, None],
    }


@pytest.mark.parametrize(
    "text", ["{slot}", "{{}}", "{{ slot", "{{slot }x}", "{{7*7}}", "{{slot.__class__}}", "{{slot|upper}}", "{%slot%}"]
)
def test_nothing_else_between_braces_means_anything(text: str) -> None:
    assert filled(text, VALUES) == text
    assert list(faults_of(text)) == []
    assert not has_placeholder(text)


def test_names_of_members_are_no_templates() -> None:
    assert filled({"{{slot}}": 1}, VALUES) == {"{{slot}}": 1}
    assert list(faults_of({"{{nothing}}": 1})) == []


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("{{{{slot}}", "{{slot}}"),
        ("{{{{ name }} at {{slot}}", "{{ name }} at 2026-11-27T01:30:00.000Z"),
        ("{{{{{html}}}", "{{{html}}}"),
    ],
)
def test_four_braces_stand_for_two(text: str, sent: str) -> None:
    assert filled(text, VALUES) == sent
    assert list(faults_of(text)) == []


def test_without_values_a_text_stays_as_it_is() -> None:
    text = "{{{{a}} {{slot}} {{unknown}}"
    assert filled({"a": [text]}, {}) == {"a": [text]}


@pytest.mark.parametrize(
    ("target", "has_any"),
    [
        ({"type": "http"}, True),
        ({"type": "lambda", "templates": True}, True),
        ({"type": "aws", "templates": False}, False),
        ({"type": "handler"}, False),
    ],
)
def test_handlers_and_targets_that_say_so_have_no_placeholders(target: dict[str, Any], has_any: bool) -> None:
    assert is_templated(target) is has_any


def test_what_was_put_in_is_not_looked_at_again() -> None:
    assert filled("{{job_id}}", VALUES | {"job_id": "{{run_id}}"}) == "{{run_id}}"


def test_an_unknown_placeholder_is_named_by_its_place() -> None:
    problems = list(faults_of({"a/b": ["{{slot}}", "x {{ next_slot }}"]}, "#/payload"))

    assert [problem.pointer for problem in problems] == ["#/payload/a~1b/1"]
    assert "{{next_slot}}" in problems[0].detail
    assert "{{fencing_token}}" in problems[0].detail


def test_values_are_encoded_in_a_url_and_stay_in_their_part() -> None:
    url = "https://example.com/at/{{slot}}?run={{run_id}}&x={{ job_id }}"

    assert fault_of_url(url) is None
    assert filled_url(url, VALUES | {"job_id": "a&b=c/../#d"}) == (
        "https://example.com/at/2026-11-27T01%3A30%3A00.000Z?run=20261127T013000000Z&x=a%26b%3Dc%2F..%2F%23d"
    )


@pytest.mark.parametrize(
    "url",
    [
        "https://{{job_id}}/hook",
        "https://{{job_id}}.example.com/hook",
        "https://example.com{{job_id}}/hook",
        "https://example.com:{{attempt}}/hook",
        "https://example.com:80{{attempt}}/hook",
        "https://{{run_id}}@example.com/hook",
        "{{job_id}}://example.com/hook",
        "http{{attempt}}://example.com/hook",
        "{{job_id}}",
        "https:/{{job_id}}/example.com",
    ],
)
def test_no_placeholder_decides_where_a_webhook_goes(url: str) -> None:
    assert fault_of_url(url)
