"""hf_secret_reseal."""

from __future__ import annotations

from holdfast.model.secrets import SecretRef
from holdfast.store.store import Store
from holdfast.testing.clock import Clock

REF = SecretRef(name="api_key", tenant="acme", env="prod")


async def test_only_what_was_read_is_replaced(store: Store, clock: Clock) -> None:
    """A secret that was set or removed in the meantime stays as it is."""
    at = await store.secrets.set(REF, "k1", b"one")
    await clock.advance(1_000)
    for _ in range(2):
        await store.secrets.reseal(REF, b"one", "k2", b"uno")
        assert await store.secrets.get(REF) == ("k2", b"uno")
    # Its value did not change, so neither did its time.
    assert (await store.secrets.list("acme", "prod"))[0].updated_at == at
    await store.secrets.set(REF, "k2", b"two")
    await store.secrets.reseal(REF, b"uno", "k3", b"eins")
    assert await store.secrets.get(REF) == ("k2", b"two")
    await store.secrets.remove(REF)
    await store.secrets.reseal(REF, b"two", "k3", b"zwei")
    assert await store.secrets.list("acme", "prod") == []
