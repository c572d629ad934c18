from __future__ import annotations

import re
from types import MappingProxyType
from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

_ARN = re.compile(r"arn:[\w-]+:(?P<service>[\w-]+):[\w-]*:(\d{12})?:.+", re.ASCII)
_ROLE = r"^arn:[\w-]+:iam::\d{12}:role/[\w+=,.@/-]+$"
#: What a worker does with a target of each service when the grant does not say.
USUAL_ACTIONS = MappingProxyType(
    {
        "lambda": ("lambda:InvokeFunction",),
        "sqs": ("sqs:SendMessage",),
        "sns": ("sns:Publish",),
        "events": ("events:PutEvents",),
        "states": ("states:StartExecution",),
        "ecs": ("ecs:RunTask",),
        # A role to call under, which an owner's grant in the API names.
        "iam": ("sts:AssumeRole",),
        "kinesis": ("kinesis:PutRecord",),
        "secretsmanager": ("secretsmanager:GetSecretValue",),
    }
)


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Grant:
    """A resource that jobs may reach through the workers' roles. Without a grant they reach none.

    `pass_roles` are the roles that `ecs.RunTask` hands to its task: that of the task, and that which pulls its image.
    """

    arn: str
    actions: tuple[str, ...] = ()
    pass_roles: tuple[Annotated[str, Field(pattern=_ROLE)], ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        found = _ARN.fullmatch(self.arn)
        if found is None:
            raise ValueError(
                f"arn {self.arn!r} is no ARN: it looks like arn:aws:lambda:eu-west-1:123456789012:function:f"
            )
        if not self.actions and found["service"] not in USUAL_ACTIONS:
            raise ValueError(
                f"arn is of {found['service']}, for which there is no usual action: name them in actions, "
                f"for example {found['service']}:Something"
            )
        if self.pass_roles and found["service"] != "ecs":
            raise ValueError(f"pass_roles means nothing for {found['service']}: only ecs.RunTask passes roles on")
        wide = [action for action in self.actions if "*" in action or ":" not in action]
        if wide:
            raise ValueError(f"actions has {wide[0]!r}: name whole actions, such as lambda:InvokeFunction")
        return self

    @property
    def allowed(self) -> tuple[str, ...]:
        found = _ARN.fullmatch(self.arn)
        assert found is not None
        return self.actions or USUAL_ACTIONS[found["service"]]
