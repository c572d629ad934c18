from __future__ import annotations

from dataclasses import replace

import pytest
from aws_cdk import App

from functions.worker.settings import WorkerSettings
from infra.app import UnusableName, compose
from infra.environments import DEV, ENVIRONMENTS, LOCAL, PROD, UnknownEnvironment, environment_named
from infra.settings import LaneSettings, SettingsRefused, TaskSettings
from tests.infra.synthesis import TOLD, context


def test_a_wrong_environment_is_refused_with_the_right_ones() -> None:
    with pytest.raises(UnknownEnvironment, match=r"no environment 'staging': choose local, dev, prod, for example"):
        environment_named("staging")


@pytest.mark.parametrize("name", ["", "1st", "a" * 65, "with space", "über", 7])
def test_a_name_that_no_stack_may_have_is_refused_before_anything_is_made(name: object) -> None:
    with pytest.raises(UnusableName, match="for example `-c name=Carillon`"):
        compose(App(context=context("dev", name=name)))


def test_nobody_deploys_to_production_without_being_told_what_goes_wrong() -> None:
    with pytest.raises(SettingsRefused, match="prod has no alarm_email, so nobody would hear of what goes wrong: set"):
        compose(App(context=context("prod")))
    compose(App(context=context("prod", settings={"alarms": "none"})))


def test_two_carillons_of_one_account_share_no_stack() -> None:
    first = compose(App(context=context("dev")))
    second = compose(App(context=context("dev", name="Second")))

    assert (first.data.stack_name, first.service.stack_name) == ("Carillon-dev-data", "Carillon-dev-service")
    assert (second.data.stack_name, second.service.stack_name) == ("Second-dev-data", "Second-dev-service")


def test_the_tables_cannot_be_deleted_by_mistake_but_on_the_emulator() -> None:
    assert compose(App(context=context("prod", settings=TOLD))).data.termination_protection
    assert not compose(App(context=context("local"))).data.termination_protection


def test_a_lane_on_ecs_needs_a_task_to_work_it() -> None:
    with pytest.raises(ValueError, match="no worker task"):
        replace(LOCAL, worker=TaskSettings(tasks=0))


def test_every_lane_is_set() -> None:
    with pytest.raises(ValueError, match="must set each lane of default, catchup"):
        replace(DEV, lanes={"default": LaneSettings("lambda", 10)})


@pytest.mark.parametrize("concurrency", [1, 1001])
def test_a_mapping_takes_no_concurrency_outside_of_2_to_1000(concurrency: int) -> None:
    with pytest.raises(ValueError, match=r"than or equal to (2|1000)"):
        LaneSettings("lambda", concurrency)


def test_reserved_concurrency_below_that_of_the_lanes_is_refused() -> None:
    wanted = sum(lane.concurrency for lane in PROD.lanes.values() if lane.is_on_lambda)

    assert replace(PROD, worker_reserved_concurrency=wanted).worker_reserved_concurrency == wanted
    with pytest.raises(ValueError, match="throttled"):
        replace(PROD, worker_reserved_concurrency=wanted - 1)


def test_hosts_may_differ_by_what_the_protocol_bears() -> None:
    assert PROD.clock_bound_ms == WorkerSettings().clock_bound_ms
    assert PROD.worker_lease_seconds == WorkerSettings().lease_seconds


def test_a_task_waits_for_as_many_webhooks_as_a_worker_by_itself() -> None:
    assert PROD.worker_webhooks == WorkerSettings().webhooks


def test_long_runs_are_never_worked_by_lambda() -> None:
    assert {each.lanes["long"].host for each in ENVIRONMENTS.values()} == {"ecs"}
    with pytest.raises(ValueError, match="cut short"):
        replace(PROD, lanes={**PROD.lanes, "long": PROD.lanes["default"]})
