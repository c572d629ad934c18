from __future__ import annotations

import ast
import hashlib
import io
import zipfile
from typing import TYPE_CHECKING

import pytest

from localstack.toolchain import stamps, uv
from localstack.toolchain.index_client import IndexUnreachable, fetch_file, without_credentials
from localstack.toolchain.paths import ROOT
from localstack.toolchain.pip_settings import PipSettings, read_pip_settings
from localstack.toolchain.problem import SetupProblem
from localstack.toolchain.uv_settings import locked_index, mirror_of, uv_environment

if TYPE_CHECKING:
    from pathlib import Path

MIRROR = "https://mirror.example/simple"


def pip_conf(home: Path, text: str) -> dict[str, str]:
    """A machine with this pip.conf and no other."""
    path = home / ".config" / "pip" / "pip.conf"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return {"HOME": str(home), "XDG_CONFIG_DIRS": str(home / "none")}


def test_settings_of_pip_come_from_its_file(tmp_path: Path) -> None:
    environ = pip_conf(
        tmp_path, f"[global]\nindex-url = {MIRROR}\nextra-index-url = https://a/\n  https://b/\ncert = /ca.pem\n"
    )

    assert read_pip_settings(environ) == PipSettings(MIRROR, ("https://a/", "https://b/"), "/ca.pem")


def test_a_variable_of_pip_wins_over_its_file(tmp_path: Path) -> None:
    environ = {**pip_conf(tmp_path, "[global]\nindex-url = https://old/\n"), "PIP_INDEX_URL": MIRROR}

    assert read_pip_settings(environ).index_url == MIRROR


def test_pip_can_be_told_to_read_no_file(tmp_path: Path) -> None:
    environ = {**pip_conf(tmp_path, "[global]\nindex-url = https://old/\n"), "PIP_CONFIG_FILE": "/dev/null"}

    assert read_pip_settings(environ) == PipSettings()


def test_uv_takes_what_pip_was_told(tmp_path: Path) -> None:
    environ = uv_environment(pip_conf(tmp_path, f"[global]\nindex-url = {MIRROR}\ncert = /ca.pem\n"))

    assert environ["UV_DEFAULT_INDEX"] == MIRROR
    assert environ["SSL_CERT_FILE"] == "/ca.pem"
    assert mirror_of(environ) == MIRROR


def test_settings_of_uv_are_left_alone(tmp_path: Path) -> None:
    machine = pip_conf(tmp_path, "[global]\nindex-url = https://old/\nextra-index-url = https://a/\n")
    environ = uv_environment({**machine, "UV_DEFAULT_INDEX": MIRROR})

    assert environ["UV_DEFAULT_INDEX"] == MIRROR
    assert "UV_INDEX" not in environ


@pytest.mark.parametrize(
    "text", [f'index-url = "{MIRROR}"\n', f'[[index]]\nname = "corp"\nurl = "{MIRROR}"\ndefault = true\n']
)
def test_the_index_of_uv_toml_is_seen(tmp_path: Path, text: str) -> None:
    (tmp_path / ".config" / "uv").mkdir(parents=True)
    (tmp_path / ".config" / "uv" / "uv.toml").write_text(text)
    environ = uv_environment({"HOME": str(tmp_path), "PIP_INDEX_URL": "https://old/"})

    assert mirror_of(environ) == MIRROR
    assert "UV_DEFAULT_INDEX" not in environ


def test_the_index_of_the_lock_is_no_mirror() -> None:
    assert mirror_of({}) is None
    assert mirror_of({"UV_DEFAULT_INDEX": locked_index() + "/"}) is None


def test_credentials_are_not_shown() -> None:
    assert without_credentials("https://me:secret@mirror.example/simple") == MIRROR


def wheel_of_uv(directory: Path, binary: bytes) -> tuple[str, bytes]:
    """An index on disk with one wheel; its address and the wheel."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"uv-{uv.VERSION}.data/scripts/uv", binary)
    folder = directory / "simple" / "uv"
    folder.mkdir(parents=True)
    filename = f"uv-{uv.VERSION}-py3-none-here.whl"
    (folder / filename).write_bytes(packed.getvalue())
    (folder / "index.html").write_text(f'<a data-x="1" href="{filename}#sha256=00">{filename}</a>')
    return (directory / "simple").as_uri(), packed.getvalue()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[dict[str, str], bytes]:
    """A machine without uv, whose index has one for it."""
    index, wheel = wheel_of_uv(tmp_path, b"#!/bin/sh\n")
    monkeypatch.setattr(uv, "OWN", tmp_path / "own" / "uv")
    monkeypatch.setattr("platform.machine", lambda: "here")
    monkeypatch.setattr("sys.platform", "linux")
    return {"UV_DEFAULT_INDEX": index, "PATH": str(tmp_path)}, wheel


def test_uv_is_taken_from_the_index_when_path_has_none(
    machine: tuple[dict[str, str], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    environ, wheel = machine
    monkeypatch.setitem(uv.WHEELS, ("linux", "here"), ("here", hashlib.sha256(wheel).hexdigest()))

    installed = uv.ensure_uv(environ)

    assert installed.read_bytes() == b"#!/bin/sh\n"
    assert installed.stat().st_mode & 0o111
    assert uv.find_uv(environ) == installed


def test_a_uv_that_is_not_the_pinned_one_is_refused(
    machine: tuple[dict[str, str], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    environ, _ = machine
    monkeypatch.setitem(uv.WHEELS, ("linux", "here"), ("here", "0" * 64))

    with pytest.raises(SetupProblem, match="not the pinned one"):
        uv.ensure_uv(environ)

    assert uv.find_uv(environ) is None


def test_an_old_uv_on_path_is_not_used(machine: tuple[dict[str, str], bytes], tmp_path: Path) -> None:
    environ, _ = machine
    fake = tmp_path / "uv"
    fake.write_text("#!/bin/sh\necho 'uv 0.12.9 (here)'\n")
    fake.chmod(0o755)
    assert uv.find_uv(environ) is None

    fake.write_text("#!/bin/sh\necho 'uv 0.13.0 (here)'\n")
    assert uv.find_uv(environ) == fake


def test_a_file_the_index_lacks_is_named(tmp_path: Path) -> None:
    index, _ = wheel_of_uv(tmp_path, b"")

    with pytest.raises(IndexUnreachable, match=r"has no other\.whl"):
        fetch_file(index, "uv", "other.whl", {})


def test_a_step_is_done_again_when_its_reason_or_its_result_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "STAMPS", tmp_path / "stamps")
    made = tmp_path / "made"
    made.touch()
    stamps.mark_done("step", "for this")

    assert stamps.is_done("step", "for this", made=made)
    assert not stamps.is_done("step", "for that", made=made)
    made.unlink()
    assert not stamps.is_done("step", "for this", made=made)


@pytest.mark.parametrize(
    "path",
    [ROOT / "localstack/bootstrap.py", *sorted((ROOT / "localstack/toolchain").glob("*.py"))],
    ids=lambda p: p.name,
)
def test_what_runs_before_anything_is_installed_speaks_python_3_8(path: Path) -> None:
    source = path.read_text()

    ast.parse(source, feature_version=(3, 8))
    assert "from __future__ import annotations" in source or "import" not in source
