"""Every line of a log says what was done, by a word that queries and the runbook can name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOGGERS = {"_log", "_logger", "logger"}
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
SOURCES = sorted(path for folder in ("functions", "shared") for path in (ROOT / folder).rglob("*.py"))


def lines_without_action(source: str) -> Iterator[int]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in LEVELS:
            continue
        if not isinstance(node.func.value, ast.Name) or node.func.value.id not in LOGGERS:
            continue
        extra = next((each.value for each in node.keywords if each.arg == "extra"), None)
        keys = extra.keys if isinstance(extra, ast.Dict) else []
        if not any(isinstance(key, ast.Constant) and key.value == "action" for key in keys):
            yield node.lineno


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_line_of_a_log_has_an_action(path: Path) -> None:
    assert list(lines_without_action(path.read_text())) == []


@pytest.mark.parametrize(
    "source", ['_logger.info("done")', '_log.warning("odd", extra={"shard": 1})', 'logger.error("bad", extra=given)']
)
def test_a_line_without_is_found(source: str) -> None:
    assert list(lines_without_action(source)) == [1]


def test_some_lines_are_logged_at_all() -> None:
    assert any("extra={" in path.read_text() for path in SOURCES)
