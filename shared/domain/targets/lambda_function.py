"""A Lambda function, called with the payload as its event: `sync` waits for its answer, `async` for its acceptance."""

from __future__ import annotations

import re
from typing import Any, Final

from shared.domain.errors import FieldProblem
from shared.domain.grants import LAMBDA, Use
from shared.domain.targets.reading import Members, read_templates, shown

INVOCATIONS: Final = ("sync", "async")

_FUNCTION_ARN = re.compile(
    r"arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:[A-Za-z0-9_-]{1,64}(?::[A-Za-z0-9$_-]{1,128})?", re.ASCII
)
_EXAMPLE_ARN: Final = "arn:aws:lambda:eu-central-1:123456789012:function:report"


def read(document: Members, problems: list[FieldProblem]) -> dict[str, Any]:
    function_arn = document.get("function_arn")
    if not isinstance(function_arn, str) or not _FUNCTION_ARN.fullmatch(function_arn):
        detail = "a target of type lambda needs the whole ARN of a function, perhaps with :alias or :version"
        problems.append(FieldProblem("#/function_arn", detail, _EXAMPLE_ARN))
    invocation = document.get("invocation", "sync")
    if invocation not in INVOCATIONS:
        detail = f"{shown(invocation)} is no invocation; known: {', '.join(INVOCATIONS)}"
        problems.append(FieldProblem("#/invocation", detail, "sync"))
    templates = read_templates(document, problems)
    return {"type": "lambda", "function_arn": function_arn, "invocation": invocation, "templates": templates}


def uses(target: Members, _region: str) -> tuple[Use, ...]:
    return (Use(LAMBDA, target["function_arn"], "#/function_arn"),)
