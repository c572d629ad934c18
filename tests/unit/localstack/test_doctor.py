from __future__ import annotations

import socket

import pytest

from localstack.toolchain import doctor
from localstack.toolchain.doctor import Finding


def test_a_problem_is_shown_with_the_command_that_fixes_it() -> None:
    assert Finding("curl is there").line() == "ok       curl is there"
    assert Finding("curl is missing", fix="apt install curl").line() == (
        "problem  curl is missing\n         fix: apt install curl"
    )


def test_a_python_that_is_too_old_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.version_info", (3, 7, 9))

    assert [finding.what for finding in doctor.quick_findings() if finding.fix] == ["python3 is 3.7.9, too old"]


def test_a_full_disk_is_a_problem_only_while_something_is_to_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 2**20}))

    assert doctor._disk().what == "1 MB of disk are free, 1500 are needed"
    assert doctor._disk().fix


def test_an_index_that_does_not_answer_is_a_problem_and_its_password_is_not_shown() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        index = f"http://me:secret@127.0.0.1:{unused.getsockname()[1]}/simple"

        finding = doctor._network({"UV_DEFAULT_INDEX": index})

    assert finding.fix
    assert "secret" not in finding.line()


def test_an_index_on_disk_needs_no_network() -> None:
    assert doctor._network({"UV_DEFAULT_INDEX": "file:///srv/simple"}).fix is None


def test_a_taken_port_is_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        monkeypatch.setattr(doctor, "EMULATOR_PORT", server.getsockname()[1])

        assert doctor._port().fix is None
        assert "in use" in doctor._port().what
