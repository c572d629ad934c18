"""Any call of AWS that is on the allow-list, with parameters as AWS names them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final
from urllib.parse import urlsplit

from shared.domain.errors import FieldProblem
from shared.domain.grants import AWS, Use
from shared.domain.limits import MAX_PAYLOAD_BYTES
from shared.domain.targets.aws_actions import ACTIONS, Action
from shared.domain.targets.reading import Members, read_templates, shown
from shared.domain.templates import escaped, faults_of, has_placeholder

_EXAMPLE_QUEUE: Final = "https://sqs.eu-central-1.amazonaws.com/123456789012/orders"
_EXAMPLES: Final[Mapping[str, str]] = {
    "QueueUrl": _EXAMPLE_QUEUE,
    "TopicArn": "arn:aws:sns:eu-central-1:123456789012:orders",
    "EventBusName": "arn:aws:events:eu-central-1:123456789012:event-bus/orders",
    "stateMachineArn": "arn:aws:states:eu-central-1:123456789012:stateMachine:orders",
    "cluster": "arn:aws:ecs:eu-central-1:123456789012:cluster/orders",
    "taskDefinition": "arn:aws:ecs:eu-central-1:123456789012:task-definition/orders:7",
}
_ARN = re.compile(r"arn:aws[a-z-]*:([a-z-]+):([a-z0-9-]+):\d{12}:[A-Za-z0-9_./:-]{1,512}", re.ASCII)
_QUEUE_PATH = re.compile(r"/(\d{12})/([A-Za-z0-9_-]{1,80}(?:\.fifo)?)", re.ASCII)
_QUEUE_HOST = re.compile(r"sqs\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?", re.ASCII)
_MAX_ITEMS = 10


def read(document: Members, problems: list[FieldProblem]) -> dict[str, Any]:
    service, operation, parameters = (document.get(name) for name in ("service", "operation", "parameters"))
    templates = read_templates(document, problems)
    found = {
        "type": "aws",
        "service": service,
        "operation": operation,
        "parameters": parameters,
        "templates": templates,
    }
    action = ACTIONS.get(f"{service}.{operation}")
    if action is None:
        detail = f"{shown(f'{service}.{operation}')} is not on the list of calls; there are {', '.join(ACTIONS)}"
        pointer = "#/operation" if any(each.service == service for each in ACTIONS.values()) else "#/service"
        problems.append(FieldProblem(pointer, detail, _example_of(ACTIONS["sqs.SendMessage"])))
    elif not isinstance(parameters, Mapping):
        detail = f"a target of type aws needs the parameters of {action.name} as an object"
        problems.append(FieldProblem("#/parameters", detail, _example_of(action)["parameters"]))
    else:
        problems += _faults_of_parameters(action, parameters)
        if templates:
            problems += faults_of(parameters, "#/parameters")
    return found


def uses(target: Members, region: str) -> tuple[Use, ...]:
    action, parameters = action_of(target), target["parameters"]
    found = ((path, *each) for path in action.resources for each in _at(parameters, path))
    # What runs is the last of what is called, and its grant says how.
    members = {action.resources[-1]: tuple(_guarded(action, parameters))}
    return tuple(
        Use(AWS, arn_of(str(value), region) or str(value), pointer, members.get(path, ()))
        for path, pointer, value in found
    )


def _guarded(action: Action, parameters: Members) -> Iterator[tuple[str, str]]:
    """Each value of a guarded member, by the path that a grant names it by."""
    for name in action.guarded:
        if parameters.get(name) is not None:
            yield from (each for each in _leaves(parameters[name], name) if each[0] not in action.unguarded)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from _leaves(member, f"{path}.{name}")
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item, f"{path}[]")
    elif value is not None:
        yield path, value if isinstance(value, str) else json.dumps(value)


def action_of(target: Members) -> Action:
    """Of a parsed target. Raises KeyError."""
    return ACTIONS[f"{target['service']}.{target['operation']}"]


def region_of(target: Members, region: str) -> str:
    """Where the call goes: to the Region of what it names."""
    return uses(target, region)[0].resource.split(":")[3]


def arn_of(resource: str, region: str) -> str | None:
    """The ARN that a parameter means: itself, or the queue of a queue's URL; None when it is neither."""
    if _ARN.fullmatch(resource):
        return resource
    try:
        parts = urlsplit(resource)
    except ValueError:
        return None
    path = _QUEUE_PATH.fullmatch(parts.path)
    if parts.scheme not in {"http", "https"} or path is None:
        return None
    host = _QUEUE_HOST.fullmatch(parts.hostname or "")
    region = host[1] if host else region
    return f"arn:{_partition_of(region)}:sqs:{region}:{path[1]}:{path[2]}"


def with_payload(action: Action, parameters: Members, payload: Any) -> dict[str, Any]:
    """The parameters as they are sent: where the action has a place for the payload and they leave it open, it is put
    there as JSON.
    """
    sent: dict[str, Any] = deepcopy(dict(parameters))
    if action.payload is not None and payload is not None:
        _fill(sent, action.payload, json.dumps(payload, ensure_ascii=False, separators=(",", ":")))
    return sent


def with_trace(action: Action, parameters: dict[str, Any], header: str | None) -> dict[str, Any]:
    """The same, with the header of the trace where the action has a place for it; changes what it is given."""
    if action.trace is not None and header is not None:
        # The one place that holds a map of such headers.
        is_attribute = action.trace == "MessageSystemAttributes"
        attribute = {"AWSTraceHeader": {"DataType": "String", "StringValue": header}}
        _fill(parameters, action.trace, attribute if is_attribute else header)
    return parameters


def _fill(parameters: dict[str, Any], path: str, value: Any) -> None:
    *way, name = path.split(".")
    for inner in (parameters,) if not way else parameters[way[0].removesuffix("[]")]:
        inner.setdefault(name, value)


def values_at(answer: Any, path: str) -> list[Any]:
    """All that an answer holds at a path of an action, but None."""
    return [value for _, value in _values_at(answer, path.split("."), "#") if value is not None]


def _values_at(value: Any, path: list[str], pointer: str) -> Iterator[tuple[str, Any]]:
    if not path:
        yield pointer, value
        return
    name, *rest = path
    plain = name.removesuffix("[]")
    inner = value.get(plain) if isinstance(value, Mapping) else None
    pointer = f"{pointer}/{plain}"
    if plain == name:
        yield from _values_at(inner, rest, pointer)
        return
    for number, item in enumerate(inner if isinstance(inner, (list, tuple)) else ()):
        yield from _values_at(item, rest, f"{pointer}/{number}")


def _faults_of_parameters(action: Action, parameters: Members) -> Iterator[FieldProblem]:
    yield from _unknown_members(action, parameters, prefix="", pointer="#/parameters")
    for path in action.required:
        for pointer, value in _at(parameters, path):
            if not value:
                name = path.rpartition(".")[2]
                yield FieldProblem(pointer, f"{action.name} needs {name}", _EXAMPLES.get(name))
    for pointer, value in (each for path in action.resources for each in _at(parameters, path)):
        if value not in (None, "") and (fault := _fault_of_resource(action, value)):
            yield FieldProblem(pointer, fault, _EXAMPLES[pointer.rpartition("/")[2]])
    for path in action.forbidden:
        for pointer, value in _at(parameters, path):
            if value is not None:
                yield FieldProblem(pointer, "a job lends a call no other role; name the role in the task definition")
    if len(json.dumps(parameters)) > 2 * MAX_PAYLOAD_BYTES:
        yield FieldProblem("#/parameters", f"the parameters have at most {2 * MAX_PAYLOAD_BYTES} characters as JSON")


def _at(parameters: Members, path: str) -> Iterator[tuple[str, Any]]:
    return _values_at(parameters, path.split("."), "#/parameters")


def _unknown_members(action: Action, value: Members, *, prefix: str, pointer: str) -> Iterator[FieldProblem]:
    """Members of the parameters, and of the items of lists whose members the row names, that the row does not name."""
    paths = [path.removeprefix(prefix) for path in (*action.required, *action.optional) if path.startswith(prefix)]
    known = dict.fromkeys(path.partition(".")[0] for path in paths)
    for name, member in value.items():
        here = f"{pointer}/{escaped(name)}"
        if f"{name}[]" in known:
            yield from _faults_of_list(action, member, prefix=f"{prefix}{name}[].", pointer=here)
        elif name not in known:
            listed = ", ".join(each for each in known if not each.endswith("[]"))
            yield FieldProblem(here, f"unknown parameter of {action.name}; known here: {listed}")


def _faults_of_list(action: Action, items: object, *, prefix: str, pointer: str) -> Iterator[FieldProblem]:
    if not isinstance(items, list) or not 0 < len(items) <= _MAX_ITEMS:
        yield FieldProblem(pointer, f"a list of 1 to {_MAX_ITEMS} objects is needed")
        return
    for number, item in enumerate(items):
        if isinstance(item, Mapping):
            yield from _unknown_members(action, item, prefix=prefix, pointer=f"{pointer}/{number}")
        else:
            yield FieldProblem(f"{pointer}/{number}", "an object is needed")


def _fault_of_resource(action: Action, value: object) -> str | None:
    if has_placeholder(value):
        return "what is called holds no placeholder: a grant must cover it whatever the run"
    arn = arn_of(value, "us-east-1") if isinstance(value, str) else None
    if arn is None:
        return "what is called is named by its whole ARN (a queue by its URL), so that grants can speak of it"
    service = arn.split(":")[2]
    if service != action.service:
        return f"this names something of {service}, and {action.name} calls {action.service}"
    return None


def _example_of(action: Action) -> dict[str, Any]:
    parameters = {path: _EXAMPLES[path] for path in action.resources if path in _EXAMPLES}
    return {"type": "aws", "service": action.service, "operation": action.operation, "parameters": parameters}


def _partition_of(region: str) -> str:
    prefixes = {"cn-": "aws-cn", "us-gov-": "aws-us-gov"}
    return next((partition for prefix, partition in prefixes.items() if region.startswith(prefix)), "aws")
