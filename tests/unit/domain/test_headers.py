"""Names of headers that a job may send."""

from __future__ import annotations

import pytest

from shared.domain.targets.headers import fault_of_name, faults_of_headers


@pytest.mark.parametrize(
    "name",
    [
        "Webhook_Signature",
        "webhook.id",
        "Carillon_Fencing_Token",
        "CARILLON_slot",
        "Transfer_Encoding",
        "content_length",
        "Content.Length",
        "Proxy_Authorization",
        "Authorization",
        "X_Forwarded_For",
        "X-Forwarded-For",
        "Forwarded",
        "X-Real-IP",
    ],
)
def test_a_name_is_refused_in_any_spelling_that_receivers_take_for_it(name: str) -> None:
    """CGI and WSGI know `-` and `_` as one: a forged name would come first."""
    assert fault_of_name(name)


@pytest.mark.parametrize(
    "name", ["X-Api-Key", "X_Api_Key", "X-Forwarded-Proto", "X-Forwarded-Host", "traceparent", "Accept"]
)
def test_other_names_are_sent(name: str) -> None:
    assert fault_of_name(name) is None


def test_two_spellings_of_one_name_are_refused() -> None:
    [fault] = faults_of_headers({"X-Team": "a", "X_TEAM": "b"})

    assert fault.pointer == "#/headers/X_TEAM"
