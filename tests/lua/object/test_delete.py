"""hf_object_delete."""

from __future__ import annotations

from holdfast.errors import VersionConflict
from holdfast.store.store import Store
from tests.support.lifecycle import Dump, refused


async def test_nothing_of_an_object_remains(store: Store, dump: Dump) -> None:
    """Neither its body nor its name in the list; deleting it twice is fine."""
    empty = dump()
    await store.objects.put("k", b"1", "")
    await store.objects.delete("k")
    await store.objects.delete("k")
    assert dump() == empty


async def test_a_deletion_may_name_the_version(store: Store, dump: Dump) -> None:
    """Another version stays."""
    first = await store.objects.put("k", b"1", "")
    second = await store.objects.put("k", b"2", first)
    await refused(store.objects.delete("k", first), VersionConflict, dump, key="k")
    await store.objects.delete("k", second)
    await refused(store.objects.delete("k", second), VersionConflict, dump, key="k")
