"""Handlers of the deployment's own: both hosts of the worker have them, and are told where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App

from infra.app import compose
from infra.bundle import ROOT
from tests.infra.synthesis import TOLD, Synthesis, context, synthesise

FUNCTION = "functions.worker.lambda_host.handler"
OWN = ROOT / "tests" / "own_handlers"
SETTING = {"folder": "tests/own_handlers", "modules": ["letters"]}


@pytest.fixture(scope="module")
def own() -> Synthesis:
    return synthesise("prod", handlers=SETTING)


def told(synthesis: Synthesis) -> tuple[dict[str, str], dict[str, str]]:
    """What the function and the task are told of handlers."""
    function = synthesis.function(FUNCTION)["Environment"]["Variables"]
    task = {each["Name"]: each["Value"] for each in synthesis.container("worker")["Environment"]}
    return (
        {name: value for name, value in function.items() if "HANDLERS" in name},
        {name: value for name, value in task.items() if "HANDLERS" in name},
    )


def image_of_worker(**settings: object) -> tuple[str, dict[str, Any]]:
    """Its hash, and what is built."""
    app = App(context=context("prod", settings={**TOLD, **settings}))
    service = compose(app).service
    manifest = json.loads((Path(app.synth().directory) / f"{service.artifact_id}.assets.json").read_text())
    [found] = [
        (digest, image["source"])
        for digest, image in manifest["dockerImages"].items()
        if image["source"]["dockerFile"] == "functions/worker/Dockerfile"
    ]
    return found


def test_both_hosts_are_told_the_modules_and_their_folder(own: Synthesis, prod: Synthesis) -> None:
    assert told(own) == (
        {"CARILLON_HANDLERS": "letters", "CARILLON_HANDLERS_FOLDER": "handlers"},
        {"CARILLON_HANDLERS": "letters", "CARILLON_HANDLERS_FOLDER": "/opt/handlers"},
    )
    assert told(prod) == ({}, {})


def test_the_image_is_given_the_folder_and_is_another_one_when_a_file_in_it_changes(tmp_path: Path) -> None:
    usual, without = image_of_worker()
    (tmp_path / "letters.py").write_text("A = 1\n")
    setting = {"folder": str(tmp_path), "modules": ["letters"]}
    first, given = image_of_worker(handlers=setting)
    (tmp_path / "letters.py").write_text("A = 2\n")
    second, _ = image_of_worker(handlers=setting)

    assert "dockerBuildContexts" not in without
    assert given["dockerBuildContexts"] == {"handlers": str(tmp_path)}
    assert len({usual, first, second}) == 3


def test_a_worker_of_the_local_stack_finds_them_in_their_own_folder() -> None:
    _, task = told(synthesise("local", handlers=SETTING))

    assert task["CARILLON_HANDLERS_FOLDER"] == str(OWN)
