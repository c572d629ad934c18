"""After a deploy: sets what the emulator dropped, and refuses to go on when something that matters is still not set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from localstack import endpoints
from localstack.settings import KINDS, Settings, differences
from localstack.workspace import read_json

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from pathlib import Path

STACK_ARTIFACT = "aws:cloudformation:stack"


class SettingsDiffer(Exception):
    """What is deployed is not what the template says, and no call could change that."""


@dataclass(frozen=True)
class Deployed:
    """One resource of a template that has a physical counterpart."""

    logical_id: str
    kind: str
    physical_id: str
    properties: dict[str, Any]


def complete(assembly: Path, endpoint: str) -> list[str]:
    """Sets what was dropped; one line for each resource that something was set on.

    Raises:
        SettingsDiffer: a setting of the template is still missing afterwards.
    """
    changed: list[str] = []
    left: list[str] = []
    for resource in deployed_resources(assembly, endpoint, kinds=KINDS):
        missing = _missing(resource, endpoint)
        change = KINDS[resource.kind].change
        if missing and change is not None:
            change(endpoint, resource.physical_id, missing)
            changed.append(f"{resource.logical_id}: {', '.join(missing)}")
            missing = _missing(resource, endpoint)
        left += [f"{resource.logical_id}: {name} should be {value}" for name, value in missing.items()]
    if left:
        raise SettingsDiffer("the emulator does not hold what the template says:\n  " + "\n  ".join(left))
    return changed


def _missing(resource: Deployed, endpoint: str) -> Settings:
    kind = KINDS[resource.kind]
    return differences(kind.wanted(resource.properties), kind.deployed(endpoint, resource.physical_id))


def deployed_resources(assembly: Path, endpoint: str, *, kinds: Container[str]) -> Iterator[Deployed]:
    """The resources of those types of every stack of the assembly."""
    cloudformation = endpoints.cloudformation(endpoint)
    for stack, template in _templates(assembly):
        described = cloudformation.describe_stack_resources(StackName=stack)["StackResources"]
        physical = {entry["LogicalResourceId"]: entry.get("PhysicalResourceId", "") for entry in described}
        for logical_id, resource in template.get("Resources", {}).items():
            if resource["Type"] in kinds:
                properties = resource.get("Properties", {})
                yield Deployed(logical_id, resource["Type"], physical.get(logical_id, ""), properties)


def _templates(assembly: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, artifact in read_json(assembly / "manifest.json")["artifacts"].items():
        if artifact["type"] == STACK_ARTIFACT:
            properties = artifact["properties"]
            yield properties.get("stackName", name), read_json(assembly / properties["templateFile"])
