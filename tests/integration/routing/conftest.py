"""One contract for pins: in memory, on one server, on a cluster."""

from __future__ import annotations

import pytest

from holdfast.store.valkey.client import Client
from tests.conftest import make_store
from tests.support.pinning import PinWorld


@pytest.fixture(params=["memory", "single", "cluster"])
def pin_client(request: pytest.FixtureRequest) -> Client | None:
    if request.param == "memory":
        return None
    client: Client = request.getfixturevalue(f"{request.param}_client")
    return client


@pytest.fixture
async def world(pin_client: Client | None) -> PinWorld:
    if pin_client is None:
        return PinWorld()
    return PinWorld(await make_store(pin_client, 16 if pin_client.cluster else 1))
