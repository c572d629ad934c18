from __future__ import annotations

import pytest

from tests.contract.stores import Stores, dynamo_stores, memory_stores


@pytest.fixture(params=["memory", pytest.param("dynamodb", marks=pytest.mark.emulator)])
def stores(request: pytest.FixtureRequest) -> Stores:
    """Empty stores, in memory and in DynamoDB: what one does, the other must do."""
    if request.param == "memory":
        return memory_stores()
    return dynamo_stores(request.getfixturevalue("dynamodb"), request.getfixturevalue("tables"))
