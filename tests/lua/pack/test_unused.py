"""hf_pack_unused. tests/lua/pack/test_remove.py tells what a sweep does with it."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.lua.pack.test_remove import ARCHIVE, A


async def unused(store: Store) -> list[tuple[bytes, int]]:
    """Return what a sweep would look at."""
    rows = await store.packs._call.read("hf_pack_unused", store.global_tag, "10")
    return [(archive, used) for archive, used in rows]


async def test_an_archive_is_listed_when_nothing_uses_it(store: Store) -> None:
    """One that is in use again says so, until a sweep is done with it."""
    await store.packs.put(A, "acme")
    assert await unused(store) == []
    remove = ("hf_pack_remove", store.global_tag, "acme", A.digest)
    await store.packs._call.write(*remove)
    assert await unused(store) == [(ARCHIVE.encode(), 0)]
    await store.packs.put(A, "acme")
    assert await unused(store) in ([], [(ARCHIVE.encode(), 1)])
