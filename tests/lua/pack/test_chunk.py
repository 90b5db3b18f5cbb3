"""hf_pack_chunk."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.deployments import digest
from tests.support.lifecycle import Dump

TAG = f"{{k:{digest('a')}}}"


async def test_parts_expire_until_they_are_sealed(store: Store) -> None:
    """What is never finished does not stay."""
    tag = f"{store.prefix}:{TAG}"
    await store.caller.write("hf_pack_chunk", tag, "0", b"ab", "60000")
    assert 0 < await store.client.call(["PTTL", f"{tag}:blob"]) <= 60_000
    await store.caller.write("hf_pack_seal", tag, "1", "2")
    assert await store.client.call(["PTTL", f"{tag}:blob"]) == -1


async def test_a_sealed_archive_never_changes(store: Store, dump: Dump) -> None:
    """A late part of another try is ignored."""
    tag = f"{store.prefix}:{TAG}"
    await store.caller.write("hf_pack_chunk", tag, "0", b"ab", "60000")
    await store.caller.write("hf_pack_seal", tag, "1", "2")
    before = dump()
    await store.caller.write("hf_pack_chunk", tag, "0", b"xy", "60000")
    assert dump() == before
