"""hf_pack_reseal."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.store.valkey import keys
from tests.lua.pack.test_remove import ARCHIVE, A, is_kept
from tests.support.lifecycle import Dump


async def test_an_archive_whose_parts_were_to_expire_stays(store: Store, dump: Dump) -> None:
    """Also when the call is repeated; one that stays anyway is left alone."""
    tag = keys.archive_tag(store.prefix, ARCHIVE)
    await store.packs.put(A, "acme")
    await store.packs._call.write("hf_pack_reseal", tag)
    assert await is_kept(store)
    before = dump()
    await store.packs._call.write("hf_pack_unseal", tag, "60000")
    assert not await is_kept(store)
    for _ in range(2):
        await store.packs._call.write("hf_pack_reseal", tag)
        assert await is_kept(store)
        assert dump() == before
    assert await store.client.call(["PTTL", f"{tag}:blob"]) == -1
