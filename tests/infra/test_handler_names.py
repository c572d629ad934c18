"""The API is told which handlers there are: read from their text, and left out where that does not say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from carillon.handlers import registry
from functions.worker import examples
from infra.settings.handler_names import names_in
from infra.settings.handlers import Handlers, variables_of_names
from tests.infra.synthesis import Synthesis, synthesise

API = "functions.api.app.handler"
VARIABLE = "CARILLON_HANDLER_NAMES"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from carillon.handlers import Context, handler\n@handler('a')\ndef f(c, p): ...\n", {"a"}),
        ("from carillon import handler as job\n@job(name='b')\ndef f(c, p): ...\n", {"b"}),
        ("import carillon.handlers\n@carillon.handlers.handler('c')\ndef f(c, p): ...\n", {"c"}),
        ("from carillon import handlers as h\nh.handler('d')(print)\nh.registry.handler('e')(print)\n", {"d", "e"}),
        ("from carillon.handlers import registry\nregistry.handler('f')(print)\n", {"f"}),
        ("from helper import handler\n@handler('g')\ndef f(c, p): ...\n", {"g"}),
        ("from carillon.handlers import Context\nA = 1\n", set()),
        ("import logging\nlogging.handler(3)\n", set()),
        ("from carillon.handlers import handler\nfor n in 'ab':\n    handler(n)(print)\n", None),
        ("from carillon.handlers import handler\nPREFIX = 'x'\n@handler(f'{PREFIX}.y')\ndef f(c, p): ...\n", None),
        ("from carillon.handlers import handler\n", None),
        ("from carillon.handlers import *\n@handler('h')\ndef f(c, p): ...\n", None),
        ("from carillon.handlers import handler\nthis is no Python\n", None),
    ],
)
def test_names_are_read_from_the_text_of_a_module_or_are_unknown(
    tmp_path: Path, text: str, names: set[str] | None
) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "module.py").write_text(text)
    assert names_in(tmp_path) == names


def test_what_the_api_is_told_is_what_the_workers_have() -> None:
    own = Handlers(folder="tests/own_handlers", modules=("letters",))
    built_in = {name for name in registry.names if registry.get(name).__module__ == examples.__name__}

    assert set(json.loads(variables_of_names(None)[VARIABLE])) == built_in
    assert set(json.loads(variables_of_names(own)[VARIABLE])) == {*built_in, "letter"}


def test_names_that_are_not_known_or_too_long_for_a_function_are_not_told(tmp_path: Path) -> None:
    module = tmp_path / "mine.py"
    module.write_text("from carillon.handlers import handler\nhandler(input())(print)\n")
    own = Handlers(folder=str(tmp_path), modules=("mine",))
    assert variables_of_names(own) == {}
    lines = "".join(f"handler('report-number-{number:04}')(print)\n" for number in range(100))
    module.write_text("from carillon.handlers import handler\n" + lines)
    assert variables_of_names(own) == {}


def test_only_the_api_is_told_the_names(prod: Synthesis) -> None:
    told = synthesise("prod", handlers={"folder": "tests/own_handlers", "modules": ["letters"]})

    names = told.function(API)["Environment"]["Variables"][VARIABLE]
    assert "letter" in json.loads(names)
    assert json.loads(prod.function(API)["Environment"]["Variables"][VARIABLE]) == ["echo", "fail", "sleep"]
