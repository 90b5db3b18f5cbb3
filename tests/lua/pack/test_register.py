"""hf_pack_register."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.deployments import digest, key, upload
from tests.support.lifecycle import Dump


async def test_a_pack_is_as_it_was_uploaded(store: Store, clock: Clock) -> None:
    """With who signed it, and when it came."""
    pack, created = await store.packs.put(upload(signers=(key("a"),)), "acme")
    assert created
    assert (pack.digest, pack.id, pack.version, pack.tenant) == (
        digest("a"),
        "shop",
        "1.0.0",
        "acme",
    )
    assert (pack.size, pack.signers, pack.uploaded_at) == (100, (key("a"),), clock.now)


async def test_the_same_again_changes_nothing(store: Store, dump: Dump, clock: Clock) -> None:
    """Nor does an archive of the same pack with fewer signatures."""
    first, _ = await store.packs.put(upload(signers=(key("a"),)), "acme")
    await clock.advance(1_000)
    before = dump()
    for signers in ((key("a"),), ()):
        assert await store.packs.put(upload(signers=signers), "acme") == (first, False)
    assert dump() == before


async def test_more_signatures_replace_fewer(store: Store) -> None:
    """So a pack can be signed after it was uploaded."""
    await store.packs.put(upload(), "acme")
    signed = upload(archive=b"signed", signers=(key("a"),))
    pack, created = await store.packs.put(signed, "acme")
    assert (created, pack.signers, pack.size) == (False, (key("a"),), 6)
