"""hf_key_create: keys are stored by their digest, once."""

from __future__ import annotations

import pytest

from holdfast.errors import TooManyKeys
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.moments import from_ms
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS, Clock
from tests.support.access import store_key
from tests.support.lifecycle import Dump


async def test_a_key_has_what_was_given(store: Store) -> None:
    """And the time of its creation; it is neither used nor revoked."""
    key = await store_key(
        store, tenant="acme", roles=frozenset({Role.WORKER, Role.SUBMITTER}), ttl_ms=1_000
    )
    assert (key.id, key.name, key.tenant, key.digest) == ("k1", "name", "acme", "d" * 64)
    assert key.roles == {Role.WORKER, Role.SUBMITTER}
    assert key.created_at == from_ms(START_MS)
    assert key.expires_at == from_ms(START_MS + 1_000)
    assert (key.revoked_at, key.last_used_at) == (None, None)


async def test_a_key_without_a_tenant_or_an_end(store: Store) -> None:
    """Both may be absent."""
    key = await store_key(store)
    assert (key.tenant, key.expires_at) == (None, None)


async def test_a_repeated_creation_changes_nothing(store: Store, clock: Clock, dump: Dump) -> None:
    """Later, and with other values, the first counts."""
    first = await store_key(store, ttl_ms=5_000)
    before = dump()
    await clock.advance(1_000)
    assert await store_key(store, name="other", ttl_ms=9_000) == first
    after = dump()
    assert {k: v for k, v in after.items() if ":clock" not in k} == {
        k: v for k, v in before.items() if ":clock" not in k
    }


async def test_a_revoked_key_is_not_revived(store: Store) -> None:
    """Whoever has it cannot bring it back."""
    await store_key(store)
    await store.api_keys.revoke("k1", None)
    assert (await store_key(store)).revoked_at is not None


async def test_there_is_a_most(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repeated one is still answered."""
    monkeypatch.setattr(bounds, "API_KEYS", 2)
    await store_key(store, "k1")
    await store_key(store, "k2")
    with pytest.raises(TooManyKeys):
        await store_key(store, "k3")
    assert (await store_key(store, "k2")).id == "k2"


async def test_a_key_is_forgotten_a_month_after_its_end(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Nothing of it is left."""
    await store_key(store, ttl_ms=1_000)
    await store_key(store, "k2")
    await clock.advance_and_tick(1_000 + 29 * 86_400_000)
    assert len(await store.api_keys.list()) == 2
    await clock.advance_and_tick(2 * 86_400_000)
    assert [key.id for key in await store.api_keys.list()] == ["k2"]
    assert not [key for key in dump() if "access:k1" in key]
