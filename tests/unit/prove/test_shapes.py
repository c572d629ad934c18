"""The proof names everything that the adapters of DynamoDB may send, and every error that they tell apart."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from infra.prove.shapes import ADAPTERS, Shapes, shapes_in
from infra.prove.tables import TEXTS, named_shapes


def test_the_proof_names_what_the_adapters_have_and_nothing_else() -> None:
    assert named_shapes() == shapes_in().names


def test_every_text_that_adapters_put_together_can_be_told() -> None:
    assert TEXTS.keys() == shapes_in().texts


@pytest.mark.parametrize(
    ("module", "added", "expected"),
    [
        ("conditions", 'JOB_IS_ODD = "#revision = :odd"', "JOB_IS_ODD"),
        ("conditions", 'FENCE_OF_JOB = ("revision", "state")', "FENCE_OF_JOB"),
        ("job_store", 'OPERATION = "jobs.rename"', "jobs.rename"),
        ("owner_listing", 'SHAPE = dict(list_name="late")', "list.late"),
        ("run_store", "def _odd(name: str) -> str:\n    return f'#{name} > :{name}'", "run_store._odd"),
        ("run_store", "def _all() -> str:\n    return 'UPDATE \"runs\" SET a = ?'", "run_store._all"),
        ("statements", '_LATE = {"LateItem"}', "LateItem"),
    ],
)
def test_a_shape_that_an_adapter_gains_is_found(tmp_path: Path, module: str, added: str, expected: str) -> None:
    changed = _with_line(tmp_path, module, added)
    assert changed.names - shapes_in().names == {expected}


def _with_line(folder: Path, module: str, added: str) -> Shapes:
    copy = shutil.copytree(ADAPTERS, folder / "dynamodb")
    path = copy / f"{module}.py"
    path.write_text(f"{path.read_text()}\n{added}\n")
    return shapes_in(copy)
