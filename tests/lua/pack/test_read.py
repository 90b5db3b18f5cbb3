"""hf_pack_read."""

from __future__ import annotations

import pytest

from holdfast.errors import PackNotFound, StoreFault
from holdfast.model.packs import digest_of
from holdfast.store.packs import PART_BYTES
from holdfast.store.store import Store
from tests.support.deployments import digest, upload


async def test_an_archive_comes_back_byte_for_byte(store: Store) -> None:
    """From as many parts as it takes."""
    archive = bytes(range(256)) * (PART_BYTES // 256 * 2) + b"rest"
    pack, _ = await store.packs.put(upload(archive=archive), "default")
    assert pack.archive == digest_of(archive)
    assert await store.packs.archive(pack.archive) == archive


async def test_an_archive_that_is_not_there(store: Store) -> None:
    """Nor one that was never sealed."""
    tag = f"{store.prefix}:{{k:{digest('b')}}}"
    await store.caller.write("hf_pack_chunk", tag, "0", b"ab", "60000")
    for letter in ("a", "b"):
        with pytest.raises(PackNotFound):
            await store.packs.archive(digest(letter))


async def test_a_damaged_archive_is_noticed(store: Store) -> None:
    """Its digest is its name."""
    pack, _ = await store.packs.put(upload(), "default")
    tag = f"{store.prefix}:{{k:{pack.archive}}}"
    await store.client.call(["HSET", f"{tag}:blob", "0", b"x" * 100])
    with pytest.raises(StoreFault, match="damaged"):
        await store.packs.archive(pack.archive)
