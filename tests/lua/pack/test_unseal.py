"""hf_pack_unseal."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.store.valkey import keys
from tests.lua.pack.test_remove import ARCHIVE, A, is_kept


async def test_the_parts_of_an_archive_expire(store: Store) -> None:
    """Once; repeated, the call changes nothing, and of no archive it is about nothing."""
    tag = keys.archive_tag(store.prefix, ARCHIVE)
    await store.packs._call.write("hf_pack_unseal", tag, "60000")
    await store.packs.put(A, "acme")
    for keep_ms in ("60000", "1"):
        await store.packs._call.write("hf_pack_unseal", tag, keep_ms)
    assert not await is_kept(store)
    assert 50_000 < int(await store.client.call(["PTTL", f"{tag}:blob"])) <= 60_000
