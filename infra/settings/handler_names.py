"""Which names a folder of handlers registers, read from its text: importing it would take the packages it needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_PACKAGES = ("carillon", "carillon.handlers")
_REGISTER = "handler"
_SOURCES = (_REGISTER, "registry")


class _Unknown(Exception):
    """A name is not to be read here: it is computed, or who registers it goes by another name."""


def names_in(folder: Path) -> frozenset[str] | None:
    """All that its files may register, those of no module that is imported too; None where that cannot be said."""
    found = frozenset[str]()
    for path in sorted(folder.rglob("*.py")):
        names = names_in_file(path)
        if names is None:
            return None
        found |= names
    return found


def names_in_file(path: Path) -> frozenset[str] | None:
    content = path.read_bytes()
    if b"carillon" not in content and b"handler(" not in content:
        return frozenset()
    try:
        return frozenset(_names_in_text(content))
    except (_Unknown, SyntaxError, ValueError):
        return None


def _names_in_text(content: bytes) -> set[str]:
    tree = ast.parse(content)
    own = _Own()
    for node in ast.walk(tree):
        own.note_import(node)
    found: set[str] = set()
    is_used = False
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        is_ours = own.is_register(call.func)
        if not (is_ours or _is_called_handler(call.func)):
            continue
        name = _first_text(call)
        if name is not None:
            found.add(name)
        elif is_ours:
            raise _Unknown
        is_used = is_used or is_ours
    if own.registers and not is_used:
        # Imported for others, perhaps, who call it what they like.
        raise _Unknown
    return found


@dataclass
class _Own:
    """What the file calls `carillon.handlers.handler`, the registry, and the modules that have them."""

    registers: set[str] = field(default_factory=set)
    holders: set[str] = field(default_factory=set)

    def note_import(self, node: ast.AST) -> None:
        for module, name, called in _imported(node):
            if name == "*":
                raise _Unknown
            if name == _REGISTER:
                self.registers.add(called)
            elif name in {None, "handlers", *_SOURCES} and module in _PACKAGES:
                self.holders.add(called)

    def is_register(self, function: ast.expr) -> bool:
        if isinstance(function, ast.Name):
            return function.id in self.registers
        if not isinstance(function, ast.Attribute) or function.attr != _REGISTER:
            return False
        root = function.value
        while isinstance(root, ast.Attribute):
            root = root.value
        return isinstance(root, ast.Name) and root.id in self.holders


def _imported(node: ast.AST) -> Iterator[tuple[str, str | None, str]]:
    """Of Carillon's packages: from which, what, and what it is called here."""
    if isinstance(node, ast.ImportFrom) and node.module in _PACKAGES and not node.level:
        yield from ((str(node.module), each.name, each.asname or each.name) for each in node.names)
    if isinstance(node, ast.Import):
        for each in node.names:
            if each.name in _PACKAGES:
                yield each.name, None, each.asname or each.name.partition(".")[0]


def _is_called_handler(function: ast.expr) -> bool:
    """It may be ours, handed on by another file."""
    return (isinstance(function, ast.Name) and function.id == _REGISTER) or (
        isinstance(function, ast.Attribute) and function.attr == _REGISTER
    )


def _first_text(call: ast.Call) -> str | None:
    given = [*call.args, *(each.value for each in call.keywords if each.arg == "name")]
    first = given[0] if given else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
