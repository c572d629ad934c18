"""What the adapters of DynamoDB may send, and which errors they tell apart, read from their source.

An operation is the name under which a call is made (`runs.finish`). A condition is a constant of `conditions.py`. A
text is a function that puts an expression or a statement together. A code is an error that `faults.py` knows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shared.adapters import dynamodb
from shared.adapters.aws import faults

ADAPTERS = Path(dynamodb.__path__[0])
FAULTS = Path(faults.__file__)
_CONDITIONS, _STATEMENTS = "conditions", "statements"
_OPERATION = re.compile(r"(?:jobs|runs|entries|fleet|access|receipts|backups)\.[a-z_]+")
#: Lists of an owner are read under the name of what they list.
_LIST_NAME = "list_name"
#: Of an expression or a statement: an attribute's placeholder with what is done to it, or a keyword with a blank.
_EXPRESSION = re.compile(r"#\w+ ?(?:[=<>]|BETWEEN)|attribute_(?:not_)?exists\(|INSERT INTO|UPDATE \"|IS MISSING|^SET ")


@dataclass(frozen=True, slots=True)
class Shapes:
    operations: frozenset[str]
    #: By name; of one that lists attributes, these.
    conditions: dict[str, str | tuple[str, ...]]
    texts: frozenset[str]
    codes: frozenset[str]

    @property
    def names(self) -> frozenset[str]:
        return self.operations | self.conditions.keys() | self.texts | self.codes


def shapes_in(folder: Path = ADAPTERS, faults_file: Path = FAULTS) -> Shapes:
    trees = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.py"))}
    operations = {name for tree in trees.values() for name in _operations(tree)}
    texts = {f"{module}.{name}" for module, tree in trees.items() for name in _functions_of(tree)}
    codes = {*_codes(ast.parse(faults_file.read_text(encoding="utf-8"))), *_codes(trees[_STATEMENTS])}
    return Shapes(frozenset(operations), dict(_constants(trees[_CONDITIONS])), frozenset(texts), frozenset(codes))


def _operations(tree: ast.Module) -> Iterator[str]:
    yield from (text for text in _strings(tree, skips=frozenset()) if _OPERATION.fullmatch(text))
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == _LIST_NAME:
            yield f"list.{ast.literal_eval(node.value)}"


def _constants(tree: ast.Module) -> Iterator[tuple[str, str | tuple[str, ...]]]:
    known: dict[str, str | tuple[str, ...]] = {}
    for node in tree.body:
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)):
            continue
        name = node.targets[0].id
        if name.startswith("_"):
            continue
        known[name] = _value(node.value, known)
    yield from known.items()


def _value(node: ast.expr, known: dict[str, str | tuple[str, ...]]) -> str | tuple[str, ...]:
    """Of a text, of a tuple of texts, or of a text that is put together from constants above it."""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(known[part.value.id])
            if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name)
            else str(ast.literal_eval(part))
            for part in node.values
        )
    value: str | tuple[str, ...] = ast.literal_eval(node)
    return value


def _functions_of(tree: ast.Module) -> Iterator[str]:
    """Functions that hold a piece of an expression themselves, and not inside a function of their own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(
            _EXPRESSION.search(text) for text in _strings(node, skips=_docstrings(node))
        ):
            yield node.name


def _codes(tree: ast.Module) -> Iterator[str]:
    """What an error's code is compared with: the members of sets of the module, and what stands behind `==`."""
    for node in ast.walk(tree):
        found: list[ast.expr] = []
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Set):
            found = node.value.elts
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq):
            found = node.comparators
        for each in found:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield each.value.removesuffix("Exception")


def _strings(tree: ast.AST, *, skips: frozenset[str]) -> Iterator[str]:
    """With an x for each value of a text that is put together."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in skips:
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)


def _docstrings(tree: ast.AST) -> frozenset[str]:
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef)
    return frozenset(
        node.body[0].value.value
        for node in ast.walk(tree)
        if isinstance(node, holders)
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant)
        and isinstance(node.body[0].value.value, str)
    )
