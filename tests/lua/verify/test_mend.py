"""hf_verify_mend."""

from __future__ import annotations

import pytest

from holdfast.errors import StoreFault
from holdfast.store.store import Store
from holdfast.store.verify.reading import Partition
from holdfast.store.verify.view import Read
from tests.support.lifecycle import Dump

READ: Read = ("v", "x:a", b"")


async def digest_of(store: Store) -> str:
    return (await Partition(store.caller, store.tag_of("a")).read([READ]))[1]


async def mend(store: Store, digest: str, *repairs: str) -> bytes:
    args: tuple[str | bytes, ...] = (digest, "1", *READ, *repairs)
    (answer,) = await store.caller.write("hf_verify_mend", store.tag_of("a"), *args)
    return bytes(answer)


async def test_repairs_are_written_together(store: Store, dump: Dump) -> None:
    """If nothing that was read has changed."""
    before = dump()
    digest = await digest_of(store)
    repairs = ("4", "ZADD", "timers", "5", "x:a", "3", "SADD", "tenants", "t")
    assert await mend(store, digest, *repairs) == b"mended"
    tag = store.tag_of("a")
    assert dump() == {**before, f"{tag}:timers": {b"x:a": 5.0}, f"{tag}:tenants": [b"t"]}
    assert await mend(store, digest, *repairs) == b"mended"


async def test_every_kind_of_repair(store: Store, dump: Dump) -> None:
    """What one command adds another removes."""
    before = dump()
    digest = await digest_of(store)
    for added, removed in (
        (("4", "ZADD", "timers", "5", "x:a"), ("3", "ZREM", "timers", "x:a")),
        (("3", "SADD", "tenants", "t"), ("3", "SREM", "tenants", "t")),
        (("4", "HSET", "feeds", "t", "5"), ("3", "HDEL", "feeds", "t")),
        (("4", "HSET", "feeds", "t", "5"), ("2", "UNLINK", "feeds")),
    ):
        assert await mend(store, digest, *added) == b"mended"
        assert dump() != before
        assert await mend(store, digest, *removed) == b"mended"
        assert dump() == before


async def test_nothing_is_repaired_that_has_changed(store: Store, dump: Dump) -> None:
    """The caller looks again."""
    digest = await digest_of(store)
    await store.client.call(("HSET", f"{store.tag_of('a')}:x:a", "state", "waiting"))
    before = dump()
    assert await mend(store, digest, "3", "SADD", "tenants", "t") == b"changed"
    assert dump() == before


async def test_only_repairs_are_allowed(store: Store) -> None:
    with pytest.raises(StoreFault, match="no repair uses FLUSHALL"):
        await mend(store, await digest_of(store), "2", "FLUSHALL", "x")
