"""hf_secret_remove."""

from __future__ import annotations

from holdfast.model.secrets import SecretRef
from holdfast.store.store import Store
from tests.support.lifecycle import Dump

REF = SecretRef(name="api_key", tenant="acme", env="prod")


async def test_nothing_of_a_secret_is_left(store: Store, dump: Dump) -> None:
    """A second call finds nothing to remove."""
    before = dump()
    await store.secrets.set(REF, "k1", b"x")
    assert await store.secrets.remove(REF)
    assert dump() == before
    assert not await store.secrets.remove(REF)
