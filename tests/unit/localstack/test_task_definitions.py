from __future__ import annotations

from typing import Any

import pytest

from localstack.task_definitions import NotRunnable, TaskSpec, wanted_tasks

ARN = "arn:aws:ecs:us-east-1:000000000000:task-definition/scheduler:3"
PYTHON = "/checkout/.venv/bin/python"
ENDPOINT = "http://127.0.0.1:4566"


def definition(**container: Any) -> dict[str, Any]:
    usual = {"name": "scheduler", "essential": True, "command": ["python", "-P", "-m", "functions.scheduler"]}
    return {"taskDefinitionArn": ARN, "containerDefinitions": [{**usual, **container}]}


def test_a_service_of_two_wants_two_tasks_of_its_definition() -> None:
    environment = [{"name": "JOBS_TABLE", "value": "jobs-1"}]
    specs = wanted_tasks(
        "scheduler", {"desiredCount": 2}, definition(environment=environment), python=PYTHON, endpoint=ENDPOINT
    )

    first = TaskSpec(
        name="scheduler-0",
        service="scheduler",
        revision=ARN,
        command=(PYTHON, "-P", "-m", "functions.scheduler"),
        environ=(("AWS_ENDPOINT_URL", ENDPOINT), ("JOBS_TABLE", "jobs-1")),
        grace_seconds=30,
    )
    assert specs[0] == first
    assert [spec.name for spec in specs] == ["scheduler-0", "scheduler-1"]


def test_a_definition_cannot_lead_a_task_elsewhere() -> None:
    described = definition(environment=[{"name": "AWS_ENDPOINT_URL", "value": "https://elsewhere"}])
    [spec] = wanted_tasks("worker", {"desiredCount": 1}, described, python=PYTHON, endpoint=ENDPOINT)

    assert spec.environ == (("AWS_ENDPOINT_URL", ENDPOINT),)


def test_a_service_of_none_wants_none() -> None:
    assert wanted_tasks("worker", {"desiredCount": 0}, definition(), python=PYTHON, endpoint=ENDPOINT) == []


def test_the_entry_point_comes_before_the_command_and_only_python_is_replaced() -> None:
    described = definition(entryPoint=["/usr/bin/env", "-i"], command=["python", "x"], stopTimeout=7)
    spec = wanted_tasks("worker", {"desiredCount": 1}, described, python=PYTHON, endpoint=ENDPOINT)[0]

    assert spec.command == ("/usr/bin/env", "-i", "python", "x")
    assert spec.grace_seconds == 7


@pytest.mark.parametrize("python", ["python", "python3", "/usr/local/bin/python3"])
def test_the_python_of_the_image_becomes_the_one_of_the_checkout(python: str) -> None:
    spec = wanted_tasks(
        "worker", {"desiredCount": 1}, definition(command=[python, "x"]), python=PYTHON, endpoint=ENDPOINT
    )[0]

    assert spec.command == (PYTHON, "x")


def test_a_command_left_to_the_image_cannot_be_run_here() -> None:
    with pytest.raises(NotRunnable, match="scheduler leaves its command to the image"):
        wanted_tasks("scheduler", {"desiredCount": 1}, definition(command=[]), python=PYTHON, endpoint=ENDPOINT)


def test_a_sidecar_is_left_out_and_two_essential_containers_are_refused() -> None:
    described = definition()
    sidecar = {"name": "agent", "essential": False}
    described["containerDefinitions"].append(sidecar)
    assert len(wanted_tasks("scheduler", {"desiredCount": 1}, described, python=PYTHON, endpoint=ENDPOINT)) == 1

    sidecar["essential"] = True
    with pytest.raises(NotRunnable, match="2 essential"):
        wanted_tasks("scheduler", {"desiredCount": 1}, described, python=PYTHON, endpoint=ENDPOINT)
