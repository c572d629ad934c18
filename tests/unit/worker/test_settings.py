"""What a worker is told by its environment."""

from __future__ import annotations

import pytest

from functions.worker.settings import WorkerSettings
from functions.worker.targets.gate import Gate
from functions.worker.wiring import parts_from, process_host_from
from shared.config import ConfigurationMissing
from shared.domain.instants import DAY, SECOND

ENVIRONMENT = {
    "CARILLON_JOBS_TABLE": "jobs-1",
    "CARILLON_JOB_SCHEDULES_TABLE": "schedules-1",
    "CARILLON_JOB_RUNS_TABLE": "runs-1",
    "CARILLON_ACCESS_TABLE": "access-1",
    "CARILLON_DEFAULT_QUEUE_URL": "http://127.0.0.1:4566/000000000000/lane-default-1A2B",
}


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients can be made, and would reach nothing."""
    for name, value in {
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
    }.items():
        monkeypatch.setenv(name, value)


def test_the_defaults_hold_each_other_up() -> None:
    settings = WorkerSettings()
    settings.check()
    assert (settings.lease_ms, settings.visibility_seconds, settings.threads) == (20_000, 20, 16)


def test_every_setting_can_be_given() -> None:
    settings = WorkerSettings.from_environment(
        {
            "CARILLON_WORKER_LEASE_SECONDS": "25",
            "CARILLON_RUN_RETENTION_DAYS": "90",
            "CARILLON_OWNER_CONCURRENCY": '{"*": 50}',
            "CARILLON_WORKER_WEBHOOKS": "40",
        }
    )
    assert settings.webhooks == 40
    assert (settings.lease_ms, settings.run_retention_ms) == (25 * SECOND, 90 * DAY)
    assert settings.owner_maximums.of("any") == 50


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("CARILLON_RUN_RETENTION_DAYS", "14", "run retention"),
        ("CARILLON_WORKER_LEASE_SECONDS", "3", "lease"),
        ("CARILLON_WORKER_WEBHOOKS", "0", "webhook"),
        ("CARILLON_OWNER_CONCURRENCY", '{"*": 0}', "whole numbers from 1"),
        ("CARILLON_OWNER_CONCURRENCY", "50", "whole numbers from 1"),
    ],
)
def test_a_setting_that_breaks_another_is_refused_by_name(name: str, value: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        WorkerSettings.from_environment({name: value})


def test_a_lease_is_never_longer_than_its_visibility() -> None:
    assert WorkerSettings(lease_ms=20_001).visibility_seconds == 21


@pytest.mark.parametrize("missing", ENVIRONMENT)
def test_a_worker_says_which_variable_it_lacks(missing: str) -> None:
    with pytest.raises(ConfigurationMissing) as raised:
        parts_from({name: value for name, value in ENVIRONMENT.items() if name != missing}, host="ecs")
    assert raised.value.variable == missing


def test_a_worker_is_made_from_its_environment() -> None:
    parts = parts_from(ENVIRONMENT, host="ecs")

    assert list(parts.queues) == ["default"]
    assert parts.lane_of("arn:aws:sqs:us-east-1:000000000000:lane-default-1A2B") == "default"
    assert parts.executor("default").runs.launched == 0
    process_host_from(ENVIRONMENT)


def test_a_worker_asks_for_grants() -> None:
    targets = parts_from(ENVIRONMENT, host="ecs").targets

    assert isinstance(targets._admission, Gate)
    assert set(targets._by_type) == {"http", "handler", "lambda", "aws"}


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("CARILLON_HANDLERS", "no_such_module_of_handlers", ImportError),
        ("CARILLON_INTERNAL_TARGETS", "127.0.0.1", ValueError),
        ("CARILLON_HTTP_GRANTS", "sometimes", ValueError),
    ],
)
def test_a_worker_that_was_told_nonsense_does_not_start(name: str, value: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        parts_from(ENVIRONMENT | {name: value}, host="ecs")
