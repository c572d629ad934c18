from __future__ import annotations

import pytest

from tests.unit.worker.workshop import Workshop


@pytest.fixture
def shop() -> Workshop:
    return Workshop()
