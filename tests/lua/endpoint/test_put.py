"""hf_endpoint_put."""

from __future__ import annotations

import pytest

from holdfast.errors import EndpointConflict, EnvNotFound, TooManyEndpoints
from holdfast.model import bounds
from holdfast.model.endpoints import EndpointRef
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.endpoints import new
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, refused


async def test_an_endpoint_is_as_it_was_put(store: Store, clock: Clock, dump: Dump) -> None:
    """A second put replaces all of it but the time of its creation."""
    first, created = await store.endpoints.put(new(settings={"url": "https://e.org"}, rate=7))
    assert created
    await clock.advance(1_000)
    put, created = await store.endpoints.put(new(conversation=None, deployment="shop"))
    assert not created
    found = await store.endpoints.get(EndpointRef(id="inbox"))
    assert put == found
    assert (found.conversation, found.deployment, found.settings) == (None, "shop", {})
    assert (found.created_at, found.updated_at) == (first.created_at, clock.now)
    assert violations(dump()) == []


async def test_the_same_again_changes_nothing(store: Store, dump: Dump) -> None:
    await store.endpoints.put(new())
    before = dump()
    assert (await store.endpoints.put(new()))[1] is False
    assert dump() == before


async def test_an_id_belongs_to_one_tenant(store: Store, dump: Dump) -> None:
    """As it is part of an address; in another env it is another endpoint."""
    await store.endpoints.put(new(tenant="acme"))
    call = store.endpoints.put(new(tenant="other"))
    await refused(call, EndpointConflict, dump, id="inbox", env="local")
    call = store.endpoints.put(new(tenant="other", env="prod"))
    await refused(call, EnvNotFound, dump, env="prod")


async def test_an_env_has_a_bounded_number(
    store: Store, dump: Dump, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "ENDPOINTS", 1)
    await store.endpoints.put(new())
    call = store.endpoints.put(new("more"))
    await refused(call, TooManyEndpoints, dump, env="local", limit=1)
    await store.endpoints.put(new(rate=3))
