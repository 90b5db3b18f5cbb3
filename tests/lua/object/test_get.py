"""hf_object_get."""

from __future__ import annotations

from holdfast.store.store import Store


async def test_an_object_comes_with_its_version(store: Store) -> None:
    """Both from one call, so they belong together; bytes are opaque."""
    version = await store.objects.put("a/b", bytes(range(256)), "")
    assert await store.objects.get("a/b") == (version, bytes(range(256)))


async def test_there_is_none_before_and_after(store: Store) -> None:
    """Absent is an answer."""
    assert await store.objects.get("a") is None
    await store.objects.put("a", b"", "")
    assert (await store.objects.get("a") or ("", None))[1] == b""
    await store.objects.delete("a")
    assert await store.objects.get("a") is None
