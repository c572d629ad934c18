from __future__ import annotations

from pathlib import Path

import pytest

from localstack.toolchain import microburst, stamps
from localstack.toolchain.problem import SetupProblem

INSTALLS = """#!/bin/sh
echo "$@" >> {folder}/asked
mkdir -p {folder}/venv/bin && touch {folder}/venv/bin/microburst
"""
FAILS = "#!/bin/sh\necho 'no route to host' >&2\nexit 2\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(stamps, "STAMPS", tmp_path / "stamps")
    monkeypatch.setattr(microburst, "VENV", tmp_path / "venv")
    monkeypatch.setattr(microburst, "PROGRAM", tmp_path / "venv" / "bin" / "microburst")
    return tmp_path


def fake_uv(folder: Path, script: str) -> Path:
    uv = folder / "uv"
    uv.write_text(script.format(folder=folder))
    uv.chmod(0o755)
    return uv


def test_it_is_installed_once_apart_from_the_project_and_by_its_hashes(folder: Path) -> None:
    uv = fake_uv(folder, INSTALLS)
    assert microburst.ensure_microburst(uv, {"PATH": "/usr/bin:/bin"}) == folder / "venv" / "bin" / "microburst"
    microburst.ensure_microburst(uv, {"PATH": "/usr/bin:/bin"})

    first, second = (folder / "asked").read_text().splitlines()
    assert first == f"venv --clear {folder}/venv"
    assert "--require-hashes" in second
    assert second.endswith("localstack/microburst.txt")


def test_a_failure_says_what_uv_said_and_is_tried_again(folder: Path) -> None:
    with pytest.raises(SetupProblem, match="no route to host"):
        microburst.ensure_microburst(fake_uv(folder, FAILS), {"PATH": "/usr/bin:/bin"})

    microburst.ensure_microburst(fake_uv(folder, INSTALLS), {"PATH": "/usr/bin:/bin"})
    assert (folder / "asked").exists()
