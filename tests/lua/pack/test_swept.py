"""hf_pack_swept. tests/lua/pack/test_remove.py tells what a sweep does with it."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.lua.pack.test_remove import ARCHIVE, A
from tests.lua.pack.test_unused import unused


async def test_an_archive_leaves_the_list_if_its_parts_are_as_they_must_be(store: Store) -> None:
    """Otherwise the sweep is asked again, and the archive stays listed."""
    await store.packs.put(A, "acme")
    caller, place = store.packs._call, store.global_tag
    await caller.write("hf_pack_remove", place, "acme", A.digest)
    assert await caller.write("hf_pack_swept", place, ARCHIVE, "1") == [b"again"]
    assert await unused(store) == [(ARCHIVE.encode(), 0)]
    for _ in range(2):
        assert await caller.write("hf_pack_swept", place, ARCHIVE, "0") == [b"done"]
        assert await unused(store) == []
