"""From what ECS says is wanted to the processes that stand for it: pure, over the answers of DescribeServices and
DescribeTaskDefinition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What ECS waits for between asking a task to end and ending it, when the definition does not say.
USUAL_GRACE_SECONDS = 30


class NotRunnable(Exception):
    """A task definition that a process cannot stand for."""


@dataclass(frozen=True)
class TaskSpec:
    """One task that is wanted. `revision` names the definition: a task of another one is to be replaced. `role` is the
    ARN of what it may do.
    """

    name: str
    service: str
    revision: str
    command: tuple[str, ...]
    environ: tuple[tuple[str, str], ...]
    grace_seconds: int
    role: str = ""


def wanted_tasks(
    service: str, described: Mapping[str, Any], definition: Mapping[str, Any], *, python: str, endpoint: str
) -> list[TaskSpec]:
    """One spec for each desired task, named `<service>-<number>`.

    Raises:
        NotRunnable: the definition has no essential container, or that one no command.
    """
    container = _essential_container(definition)
    return [
        TaskSpec(
            name=f"{service}-{number}",
            service=service,
            revision=str(definition["taskDefinitionArn"]),
            command=_command(container, python=python),
            environ=_environ(container, endpoint),
            grace_seconds=int(container.get("stopTimeout") or USUAL_GRACE_SECONDS),
            role=definition.get("taskRoleArn", ""),
        )
        for number in range(int(described["desiredCount"]))
    ]


def _essential_container(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    containers: Sequence[Mapping[str, Any]] = definition.get("containerDefinitions", [])
    essential = [container for container in containers if container.get("essential", True)]
    if len(essential) != 1:
        raise NotRunnable(f"{definition['taskDefinitionArn']} has {len(essential)} essential containers, not 1")
    return essential[0]


def _environ(container: Mapping[str, Any], endpoint: str) -> tuple[tuple[str, str], ...]:
    """The container's own variables, and where AWS is."""
    named = {entry["name"]: entry["value"] for entry in container.get("environment", [])}
    return tuple(sorted({**named, "AWS_ENDPOINT_URL": endpoint}.items()))


def _command(container: Mapping[str, Any], *, python: str) -> tuple[str, ...]:
    """The container's own, under this checkout's Python instead of the image's."""
    command = [*container.get("entryPoint", []), *container.get("command", [])]
    if not command:
        raise NotRunnable(f"container {container['name']} leaves its command to the image; name it in the definition")
    return (python if command[0].rpartition("/")[2] in ("python", "python3") else command[0], *command[1:])
