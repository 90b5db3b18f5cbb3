"""hf_object_put."""

from __future__ import annotations

import pytest

from holdfast.errors import TooLarge, VersionConflict
from holdfast.model import bounds
from holdfast.store.store import Store
from tests.support.lifecycle import Dump, refused


async def test_a_version_is_good_for_one_write(store: Store, dump: Dump) -> None:
    """Creation needs absence, replacement the very version."""
    first = await store.objects.put("k", b"1", "")
    await refused(store.objects.put("k", b"2", ""), VersionConflict, dump, key="k")
    second = await store.objects.put("k", b"2", first)
    await refused(store.objects.put("k", b"3", first), VersionConflict, dump, key="k")
    await refused(store.objects.put("other", b"3", second), VersionConflict, dump, key="other")
    assert await store.objects.get("k") == (second, b"2")


async def test_a_repeated_call_gets_the_same_answer(store: Store, dump: Dump) -> None:
    """The version is minted by the caller, so the store knows the call again."""
    call = ("hf_object_put", store.global_tag, "k", "", "v1", b"1")
    await store.caller.write(*call)
    before = dump()
    await store.caller.write(*call)
    assert dump() == before


async def test_an_object_is_bounded(store: Store, dump: Dump) -> None:
    """Nothing is sent that would hold the server up."""
    before = dump()
    with pytest.raises(TooLarge):
        await store.objects.put("k", b"x" * (bounds.OBJECT_BYTES + 1), "")
    assert dump() == before
