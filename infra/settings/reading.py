"""Settings as the CDK context gives them: JSON over an environment's own values, refused in one sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter, ValidationError

from infra.settings.environment import Environment

#: These are what an environment is, and not for a deployment to choose.
FIXED = ("name", "is_emulated", "is_watched")
_ENVIRONMENT = TypeAdapter(Environment)
CHOSEN = tuple(each.name for each in fields(Environment) if each.name not in FIXED)


class SettingsRefused(Exception):
    """A setting that no deployment can have; the sentence names it and what to do."""


def override(environment: Environment, given: object) -> Environment:
    """The environment with the given settings instead of its own: an object, or its text in JSON. Objects are merged.

    Raises SettingsRefused.
    """
    settings = _object(given)
    unknown = [name for name in settings if name not in CHOSEN]
    if unknown:
        raise SettingsRefused(f"there is no setting {unknown[0]!r}: choose among {', '.join(CHOSEN)}")
    try:
        return _ENVIRONMENT.validate_python(_merged(_ENVIRONMENT.dump_python(environment), settings))
    except ValidationError as refused:
        raise SettingsRefused(_sentence(refused, environment)) from None


def require_alarms(environment: Environment) -> None:
    """Raises SettingsRefused where nobody would hear of what goes wrong, and nobody has said that this is meant."""
    if environment.is_watched and environment.alarm_email is None and environment.alarms != "none":
        raise SettingsRefused(
            f"environment {environment.name} has no alarm_email, so nobody would hear of what goes wrong: set it, or "
            "set alarms to none where something of yours subscribes to the topic of the alarms"
        )


def _object(given: object) -> Mapping[str, Any]:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except json.JSONDecodeError as error:
            raise SettingsRefused(f"context settings is no JSON ({error}): write {_EXAMPLE}") from None
    if not isinstance(given, Mapping):
        raise SettingsRefused(f"context settings is {type(given).__name__}, not an object: write {_EXAMPLE}")
    return given


_EXAMPLE = """`-c settings='{"shard_count": 32}'`"""


#: What a setting that is text looks like.
_FORMS = {
    "tracing.endpoint": "the whole URL of a collector, such as https://collector.example.com/v1/traces",
    "alarm_email": "one address, such as ops@example.com",
    "permission_boundary": "the name of a managed policy, or its ARN",
    "network.vpc_id": "the id of a VPC, such as vpc-0123456789abcdef0",
    "network.subnet_ids.0": "ids of subnets, such as subnet-0123456789abcdef0",
    "custom_domain.name": "a host name in lower case, such as jobs.example.com",
    "custom_domain.certificate_arn": "the ARN of a certificate of ACM in the same Region",
}


def _merged(own: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    both = dict(own)
    for name, value in given.items():
        before = both.get(name)
        both[name] = _merged(before, value) if isinstance(before, Mapping) and isinstance(value, Mapping) else value
    return both


def _sentence(refused: ValidationError, environment: Environment) -> str:
    first = refused.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "unexpected_keyword_argument":
        return f"there is no setting {where!r}: remove it, or look for its right name in infra/settings"
    what = first["msg"].removeprefix("Value error, ")
    if not where:
        return what
    if first["type"] == "string_pattern_mismatch":
        what = (
            f"{first['input']!r} does not fit: give {_FORMS.get(where, 'it in the form of ' + first['ctx']['pattern'])}"
        )
        return f"setting {where} of environment {environment.name}: {what}"
    got = "" if first["type"] == "value_error" else f", not {first['input']!r}"
    return f"setting {where} of environment {environment.name}: {what[:1].lower()}{what[1:]}{got}"
