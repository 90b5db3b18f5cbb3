"""hf_memory_remove."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.lifecycle import Dump

SPACE = ("users", "ann")


def left(dump: Dump) -> set[str]:
    """The keys that are left, without the memory of calls."""
    return {key for key in dump() if not key.endswith(":meta") and ":claim:" not in key}


async def test_nothing_is_left_of_an_item(store: Store, dump: Dump) -> None:
    """Its namespace goes with the last item; another call finds none."""
    empty = left(dump)
    await store.memories.put("acme", SPACE, "a", b"1", ttl_ms=1_000)
    await store.memories.put("acme", SPACE, "b", b"1")
    assert await store.memories.remove("acme", SPACE, "a")
    assert await store.memories.namespaces("acme") == [SPACE]
    assert await store.memories.remove("acme", SPACE, "b")
    assert not await store.memories.remove("acme", SPACE, "b")
    assert left(dump) == empty


async def test_a_repeated_call_leaves_what_was_written_since(store: Store, dump: Dump) -> None:
    """Its reply was lost: it gets the same answer, and another caller's item stays."""
    await store.memories.put("acme", SPACE, "a", b"1")
    field = "users.ann\0a"
    call = ("hf_memory_remove", store.tag_of("acme|users.ann"), "acme", field, "token")
    assert await store.caller.write(*call) == [b"removed"]
    await store.memories.put("acme", SPACE, "a", b"2")
    before = dump()
    assert await store.caller.write(*call) == [b"removed"]
    assert dump() == before


async def test_older_processes_send_no_token(store: Store) -> None:
    """Each of their calls is one of its own."""
    call = ("hf_memory_remove", store.tag_of("acme|users.ann"), "acme", "users.ann\0a")
    for _ in range(2):
        await store.memories.put("acme", SPACE, "a", b"1")
        assert await store.caller.write(*call) == [b"removed"]
    assert await store.caller.write(*call) == [b"absent"]
