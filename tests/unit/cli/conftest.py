from __future__ import annotations

import pytest

from tests.unit.cli.terminal import Terminal


@pytest.fixture
def carillon(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(capsys, monkeypatch)
