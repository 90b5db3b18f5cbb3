"""hf_pack_seal."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.lua.pack.test_chunk import TAG
from tests.support.lifecycle import Dump


async def test_all_parts_must_be_there(store: Store, dump: Dump) -> None:
    """A part that has expired, or was never written, is noticed by the size."""
    tag = f"{store.prefix}:{TAG}"
    await store.caller.write("hf_pack_chunk", tag, "1", b"cd", "60000")
    before = dump()
    assert await store.caller.write("hf_pack_seal", tag, "2", "4") == [b"missing"]
    assert dump() == before
    await store.caller.write("hf_pack_chunk", tag, "0", b"ab", "60000")
    assert await store.caller.write("hf_pack_seal", tag, "2", "4") == [b"sealed"]
    assert await store.caller.write("hf_pack_seal", tag, "2", "4") == [b"sealed"]
