"""An outage is two lines of the log."""

from __future__ import annotations

import logging

import pytest

from shared.observability.troubles import QUIET_SECONDS, Troubles

OUT = OSError("out")


@pytest.fixture
def troubles(caplog: pytest.LogCaptureFixture) -> Troubles:
    caplog.set_level(logging.INFO)
    return Troubles(logging.getLogger("test"), {"action": "step"})


def test_what_fails_again_and_again_is_said_once_and_its_end_with_the_count(
    troubles: Troubles, caplog: pytest.LogCaptureFixture
) -> None:
    for second in range(200):
        troubles.failed(OUT, now=float(second))
        # Another thread's call went well meanwhile.
        troubles.went_well(now=second + 0.5)
    assert len(caplog.records) == 1

    troubles.went_well(now=199.5 + QUIET_SECONDS)
    troubles.went_well(now=200.5 + QUIET_SECONDS)

    begin, end = caplog.records
    assert (begin.levelname, begin.__dict__["action"], begin.__dict__["error"]) == ("ERROR", "step", "out")
    assert (end.levelname, end.__dict__["failures"], end.__dict__["seconds"]) == ("INFO", 200, 199.0)
    assert troubles.count == 200


def test_another_kind_of_failure_is_said_as_well(troubles: Troubles, caplog: pytest.LogCaptureFixture) -> None:
    troubles.failed(OUT, now=1.0)
    troubles.failed(ValueError("a bug"), now=2.0)

    assert [record.__dict__["error"] for record in caplog.records] == ["out", "a bug"]


def test_the_next_time_is_said_again(troubles: Troubles, caplog: pytest.LogCaptureFixture) -> None:
    troubles.failed(OUT, now=1.0)
    troubles.went_well(now=100.0)
    troubles.failed(OUT, now=200.0)
    troubles.went_well(now=300.0)

    assert [record.levelname for record in caplog.records] == ["ERROR", "INFO"] * 2
    assert caplog.records[-1].__dict__["failures"] == 1
