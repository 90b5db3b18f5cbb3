"""hf_key_revoke: once, and only by those who may."""

from __future__ import annotations

import pytest

from holdfast.errors import KeyNotFound
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.access import store_key
from tests.support.lifecycle import Dump


async def test_the_first_revocation_counts(store: Store, clock: Clock) -> None:
    """Repeated, it answers with the first time."""
    await store_key(store)
    first = await store.api_keys.revoke("k1", None)
    assert first == clock.now
    await clock.advance(1_000)
    assert await store.api_keys.revoke("k1", None) == first
    found = await store.api_keys.find("k1")
    assert found.key is not None
    assert found.key.revoked_at == first
    assert not found.key.is_valid(clock.now)


@pytest.mark.parametrize("tenant", ["other", "acme"])
async def test_a_tenant_revokes_its_own(store: Store, tenant: str) -> None:
    """A key of somebody else looks as if it were not there."""
    await store_key(store, tenant="acme")
    if tenant == "acme":
        await store.api_keys.revoke("k1", tenant)
    else:
        with pytest.raises(KeyNotFound):
            await store.api_keys.revoke("k1", tenant)


async def test_an_unknown_key_cannot_be_revoked(store: Store) -> None:
    """The refusal names it."""
    with pytest.raises(KeyNotFound, match="k9"):
        await store.api_keys.revoke("k9", None)


async def test_a_revoked_key_is_forgotten_after_a_month(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Also one that would have lived for ever."""
    await store_key(store)
    await store_key(store, "k2")
    await store.api_keys.revoke("k1", None)
    await clock.advance_and_tick(31 * 86_400_000)
    assert "k1" not in str(dump())
    assert [key.id for key in await store.api_keys.list()] == ["k2"]


async def test_the_last_key_is_never_forgotten(store: Store, clock: Clock) -> None:
    """A store that had keys must not become one that is open to everybody."""
    await store_key(store)
    await store.api_keys.revoke("k1", None)
    for _ in range(3):
        await clock.advance_and_tick(31 * 86_400_000)
        assert (await store.api_keys.find("")).count == 1
    await store_key(store, "k2")
    await clock.advance_and_tick(31 * 86_400_000)
    assert [key.id for key in await store.api_keys.list()] == ["k2"]
