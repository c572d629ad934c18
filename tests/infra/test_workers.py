from __future__ import annotations

from infra.permissions import WORKER_TABLES
from shared import schema
from shared.config import (
    LONGEST_LEAD_VARIABLE,
    PULSE_FOLDER_VARIABLE,
    dead_letter_variable,
    owner_maximums,
    queue_variable,
    table_variable,
)
from tests.infra.synthesis import Properties, Synthesis, bounds_of, synthesise

HANDLER = "functions.worker.lambda_host.handler"


def mappings(synthesis: Synthesis) -> list[Properties]:
    """Those that feed the worker."""
    found = synthesis.of_type("AWS::Lambda::EventSourceMapping").values()
    return [each for each in found if "Undelivered" not in str(each["EventSourceArn"])]


def test_every_lane_feeds_the_function_and_takes_back_only_what_failed(prod: Synthesis) -> None:
    assert len(mappings(prod)) == len(schema.LANES)
    for mapping in mappings(prod):
        assert mapping["BatchSize"] == 10
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert mapping["Enabled"] is ("LongLane" not in str(mapping["EventSourceArn"]))


def test_nothing_is_reserved_that_a_new_account_does_not_have(prod: Synthesis, chosen: Synthesis) -> None:
    assert not [
        each for each in prod.of_type("AWS::Lambda::Function").values() if "ReservedConcurrentExecutions" in each
    ]
    assert chosen.function(HANDLER)["ReservedConcurrentExecutions"] == 100


def test_the_lanes_together_fit_the_concurrency_that_is_reserved() -> None:
    reserving = synthesise("prod", worker_reserved_concurrency="lanes")
    wanted = [each["ScalingConfig"]["MaximumConcurrency"] for each in mappings(reserving) if each["Enabled"]]

    assert all(2 <= concurrency <= 1000 for concurrency in wanted)
    assert reserving.function(HANDLER)["ReservedConcurrentExecutions"] == sum(wanted)


def test_the_function_has_the_memory_that_was_chosen(prod: Synthesis, chosen: Synthesis) -> None:
    assert prod.function(HANDLER)["MemorySize"] == 512
    assert chosen.function(HANDLER)["MemorySize"] == 1024


def test_a_lane_that_ecs_works_does_not_feed_the_function(local: Synthesis) -> None:
    assert {each["Enabled"] for each in mappings(local)} == {False}
    assert local.service_of("worker")["DesiredCount"] == 1


def test_where_lambda_works_the_lanes_no_task_costs_anything(prod: Synthesis) -> None:
    assert bounds_of(prod, "worker")[0] == 0


def test_a_worker_task_has_two_minutes_to_finish_what_it_runs(prod: Synthesis) -> None:
    container = prod.container("worker")

    assert container["Command"] == ["python", "-P", "-m", "functions.worker"]
    assert container["StopTimeout"] == 120


def test_both_hosts_are_told_the_same(prod: Synthesis) -> None:
    function = prod.function(HANDLER)["Environment"]["Variables"]
    task = {each["Name"]: each["Value"] for each in prod.container("worker")["Environment"]}

    lanes = {queue_variable(lane) for lane in schema.LANES}
    # Each polls its own lanes. A function has no health check, and Lambda no use for signs of life; a task alone can
    # hold a herd.
    differing = {*lanes, PULSE_FOLDER_VARIABLE, LONGEST_LEAD_VARIABLE}
    assert {name: value for name, value in function.items() if name not in differing} == {
        name: value for name, value in task.items() if name not in differing
    }
    assert {name for name in task if name.endswith("_TABLE")} == set(map(table_variable, WORKER_TABLES))
    dead_letters = {dead_letter_variable(lane) for lane in schema.LANES}
    assert {name for name in task if name.endswith("_QUEUE_URL")} == lanes | dead_letters


def test_both_hosts_are_told_how_many_runs_an_owner_may_have(prod: Synthesis, chosen: Synthesis) -> None:
    variables = chosen.function(HANDLER)["Environment"]["Variables"]

    assert owner_maximums(variables) == {"*": 50, "batch": 5}
    assert owner_maximums(prod.function(HANDLER)["Environment"]["Variables"]) == {}


def test_only_the_emulator_lets_targets_be_on_this_machine(local: Synthesis, prod: Synthesis) -> None:
    assert local.function(HANDLER)["Environment"]["Variables"]["CARILLON_INTERNAL_TARGETS"] == "127.0.0.1:*,localhost:*"
    assert prod.function(HANDLER)["Environment"]["Variables"]["CARILLON_INTERNAL_TARGETS"] == ""
