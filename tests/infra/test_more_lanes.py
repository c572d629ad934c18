"""A lane of a deployment's own: named in its environment, it is there for whoever has to know it."""

from __future__ import annotations

import pytest

from infra.environments import LOCAL, environment_named
from infra.settings import SettingsRefused, override
from shared.config import dead_letter_variable, queue_names, queue_urls, queue_variable
from shared.schema import LANES
from tests.infra.synthesis import Synthesis, only, synthesise

BULK = {"bulk": {"host": "lambda", "concurrency": 5}}


@pytest.fixture(scope="module")
def bulky() -> Synthesis:
    return synthesise("dev", lanes=BULK)


def variables_of(synthesis: Synthesis, program: str) -> dict[str, object]:
    return {each["Name"]: each["Value"] for each in synthesis.container(program)["Environment"]}


def test_it_has_a_queue_and_dead_letters(bulky: Synthesis) -> None:
    outputs = bulky.service.to_json()["Outputs"]

    assert {"BulkQueueUrl", "BulkDeadLetterQueueUrl"} <= set(outputs)
    assert len(bulky.of_type("AWS::SQS::Queue")) == 2 * (len(LANES) + 1) + 1


def test_its_host_works_it_and_nobody_else(bulky: Synthesis) -> None:
    queue = bulky.service.to_json()["Outputs"]["BulkQueueUrl"]["Value"]["Ref"]
    mapping = only(
        [
            each
            for each in bulky.of_type("AWS::Lambda::EventSourceMapping").values()
            if each["EventSourceArn"] == {"Fn::GetAtt": [queue, "Arn"]}
        ]
    )

    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 5}
    assert mapping["Enabled"] is True
    assert variables_of(bulky, "worker")[queue_variable("bulk")] == ""


def test_on_ecs_the_worker_polls_it() -> None:
    synthesis = synthesise("dev", lanes={"bulk": {"host": "ecs", "concurrency": 2}}, worker={"tasks": 1})

    assert variables_of(synthesis, "worker")[queue_variable("bulk")]


@pytest.mark.parametrize("handler", ["functions.worker.lambda_host.handler", "functions.dead_letters.handler.handler"])
def test_functions_know_its_queues(bulky: Synthesis, handler: str) -> None:
    variables = bulky.function(handler)["Environment"]["Variables"]

    assert {queue_variable("bulk"), dead_letter_variable("bulk")} <= set(variables)


def test_nodes_send_to_it_and_the_api_lets_jobs_choose_it(bulky: Synthesis) -> None:
    api = bulky.function("functions.api.app.handler")["Environment"]["Variables"]

    assert variables_of(bulky, "scheduler")[queue_variable("bulk")]
    assert api["CARILLON_LANES"] == "default,catchup,long,bulk"


def test_it_is_watched_like_any_other(bulky: Synthesis) -> None:
    sentences = [each.get("AlarmDescription", "") for each in bulky.of_type("AWS::CloudWatch::Alarm").values()]

    assert sum("lane bulk" in each.lower() for each in sentences) == 3


def test_a_process_finds_its_lanes_in_its_environment() -> None:
    environment = {
        queue_variable("bulk"): "https://sqs/1/b",
        queue_variable("long"): "https://sqs/1/l",
        queue_variable("default"): "https://sqs/1/d",
        queue_variable("catchup"): "",
        dead_letter_variable("bulk"): "https://sqs/1/x",
        "CARILLON_UNDELIVERED_QUEUE_URL": "https://sqs/1/u",
    }

    assert list(queue_urls(environment)) == ["default", "long", "bulk"]
    assert queue_names(environment) == {"d": "default", "l": "long", "b": "bulk"}


@pytest.mark.parametrize("name", ["Bulk", "two-words", "two_words", "undelivered", "1st", "x" * 33, ""])
def test_a_name_that_would_collide_or_cannot_be_part_of_a_variable_is_refused(name: str) -> None:
    with pytest.raises(SettingsRefused, match="is no lane's name"):
        environment_named("dev", {"lanes": {name: {"host": "lambda", "concurrency": 2}}})


def test_the_lanes_of_the_protocol_cannot_be_left_out() -> None:
    lanes = {name: lane for name, lane in LOCAL.lanes.items() if name != "catchup"}

    with pytest.raises(ValueError, match="add catchup"):
        type(LOCAL)(name="mine", lanes=lanes, worker=LOCAL.worker)


def test_settings_add_a_lane_to_those_there_are() -> None:
    assert list(override(LOCAL, {"lanes": {"bulk": {"host": "ecs", "concurrency": 2}}}).lanes) == [*LANES, "bulk"]
