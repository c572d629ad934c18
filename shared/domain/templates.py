"""Placeholders in what a job sends: `{{slot}} {{run_id}} {{attempt}} {{job_id}} {{fencing_token}}`.

Plain substitution of five values and nothing else: no expressions, no nesting, and what was put in is not looked at
again. Blanks inside the braces are allowed. `{{{{` stands for `{{` itself.

Receivers have templates of their own (`{{name}}` in Mustache, Handlebars, Jinja): a target with `"templates": false`
sends every text as it is, and what a handler gets is never looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from shared.domain.errors import FieldProblem

PLACEHOLDERS: Final = ("slot", "run_id", "attempt", "job_id", "fencing_token")

_ESCAPED: Final = "{{{{"
#: Four braces, or whatever is a word between double braces. Other text between braces is text.
_PLACEHOLDER = re.compile(r"\{\{\{\{|\{\{ *([A-Za-z_][A-Za-z0-9_]*) *\}\}", re.ASCII)
_EXAMPLE = "{{run_id}}"

#: By name, for every placeholder there is.
Values = Mapping[str, str]


def is_templated(target: Mapping[str, Any]) -> bool:
    """Whether placeholders are replaced in what is sent to this target."""
    return target.get("type") != "handler" and target.get("templates") is not False


def has_placeholder(value: Any) -> bool:
    """Somewhere in the texts of this JSON value."""
    if isinstance(value, str):
        return _PLACEHOLDER.search(value) is not None
    if isinstance(value, Mapping):
        return any(map(has_placeholder, value.values()))
    return isinstance(value, (list, tuple)) and any(map(has_placeholder, value))


def faults_of(value: Any, pointer: str = "#") -> Iterator[FieldProblem]:
    """A problem for each text that asks for what there is not. Names of members are no templates."""
    if isinstance(value, str):
        unknown = next((name for name in _PLACEHOLDER.findall(value) if name and name not in PLACEHOLDERS), None)
        if unknown is not None:
            known = " ".join(f"{{{{{name}}}}}" for name in PLACEHOLDERS)
            detail = f"{{{{{unknown[:40]}}}}} is no placeholder; there are {known}"
            fix = 'to send it as it is, write {{{{ for {{, or set "templates": false in the target'
            yield FieldProblem(pointer, f"{detail}; {fix}", _EXAMPLE)
    elif isinstance(value, Mapping):
        for name, member in value.items():
            yield from faults_of(member, f"{pointer}/{escaped(name)}")
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from faults_of(item, f"{pointer}/{number}")


def filled(value: Any, values: Values, *, encode: Callable[[str], str] = str) -> Any:
    """The value with every known placeholder in its texts replaced, each passed through `encode` first. Without values
    it stays as it is.
    """
    if not values:
        return value
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda found: _replacement(found, values, encode), value)
    if isinstance(value, Mapping):
        return {name: filled(member, values, encode=encode) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [filled(item, values, encode=encode) for item in value]
    return value


def escaped(name: object) -> str:
    """A member's name in a pointer, by RFC 6901."""
    return str(name).replace("~", "~0").replace("/", "~1")


def _replacement(found: re.Match[str], values: Values, encode: Callable[[str], str]) -> str:
    name = found.group(1)
    if name is None:
        return _ESCAPED[:2]
    return encode(values[name]) if name in values else found.group()
