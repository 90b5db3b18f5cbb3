"""Routes of deployments are read once, and again when a deployment changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from holdfast.engine import Engine, route_table
from holdfast.engine.opened_endpoints import OpenedEndpoints
from holdfast.engine.route_table import RouteTable
from holdfast.errors import AmbiguousDeployment, DeploymentNotFound, EndpointNotFound
from holdfast.model.deployments import DeploymentRef, NewDeployment
from holdfast.model.endpoints import NewEndpoint
from holdfast.testing.polling import wait_for

ENV, TENANT = "local", "default"


class Counted:
    """Counts the calls of a method."""

    def __init__(self, method: Any) -> None:
        self._method = method
        self.calls = 0

    async def __call__(self, *args: Any) -> Any:
        """Call it."""
        self.calls += 1
        return await self._method(*args)


@pytest.fixture
async def table(engine: Engine) -> AsyncIterator[RouteTable]:
    found = RouteTable(engine.store)
    yield found
    await found.close()


async def create(engine: Engine, name: str, *hosts: str, tenant: str = TENANT) -> DeploymentRef:
    new = NewDeployment(env=ENV, id=name, tenant=tenant, app="bot", hosts=hosts)
    return (await engine.deployments.create(new))[0].ref


async def test_routes_are_read_once_until_they_change(
    engine: Engine, table: RouteTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = await create(engine, "shop", "a.example")
    reads = Counted(engine.store.deployments.page)
    monkeypatch.setattr(engine.store.deployments, "page", reads)
    for _ in range(5):
        assert await table.find(ENV, TENANT, "a.example", "/") == "shop"
    assert reads.calls == 1

    async def finds(expected: str | None) -> bool:
        try:
            return await table.find(ENV, TENANT, "b.example", "/") == expected
        except DeploymentNotFound:
            return expected is None

    assert await finds(None)
    await create(engine, "other", "b.example")
    await wait_for(lambda: finds("other"))
    await engine.deployments.delete(DeploymentRef(env=ENV, id="other", tenant=TENANT))
    await wait_for(lambda: finds(None))
    assert await table.find(ENV, TENANT, "a.example", "/") == shop.id


async def test_tenants_have_their_own_routes(engine: Engine, table: RouteTable) -> None:
    await create(engine, "ours", "a.example")
    await create(engine, "theirs", "a.example", tenant="theirs")
    assert await table.find(ENV, TENANT, "a.example", "/") == "ours"
    assert await table.find(ENV, "theirs", "a.example", "/") == "theirs"
    with pytest.raises(DeploymentNotFound):
        await table.find(ENV, "nobody", "a.example", "/")


async def test_a_long_list_is_read_to_its_end(
    engine: Engine, table: RouteTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(route_table, "_PAGE", 2)
    for number in range(5):
        await create(engine, f"d{number}", f"h{number}.example")
    for number in range(5):
        assert await table.find(ENV, TENANT, f"h{number}.example", "/") == f"d{number}"
    await create(engine, "twin", "h4.example")
    monkeypatch.setattr(route_table, "FRESH_S", 0.0)
    with pytest.raises(AmbiguousDeployment):
        await table.find(ENV, TENANT, "h4.example", "/")


async def test_an_endpoint_is_read_once_for_all_who_ask(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it does not exist, and if the first one no longer waits."""
    await engine.endpoints.put(
        NewEndpoint(id="inbox", provider="http", conversation="bot", secrets={"token": "t"})
    )
    opened = OpenedEndpoints(engine.endpoints)
    reads = Counted(engine.endpoints.open)
    monkeypatch.setattr(engine.endpoints, "open", reads)
    asking = [asyncio.ensure_future(opened.get(ENV, "inbox")) for _ in range(20)]
    await asyncio.sleep(0)
    asking[0].cancel()
    found = await asyncio.gather(*asking, return_exceptions=True)
    assert {one.endpoint.id for one in found[1:] if not isinstance(one, BaseException)} == {"inbox"}
    assert reads.calls == 1
    missing = await asyncio.gather(
        *(opened.get(ENV, "nobody") for _ in range(20)), return_exceptions=True
    )
    assert {type(one) for one in missing} == {EndpointNotFound}
    assert reads.calls == 2
