"""Records of writer leases: damaged ones, listings, garbage."""

from __future__ import annotations

import pytest

from holdfast.errors import (
    BackendFailed,
    Held,
    InvalidInput,
    InvalidRecord,
    LostRace,
    VersionConflict,
)
from holdfast.fencing import FencedManifest, Leases, Token, WriterLease, paths
from holdfast.fencing.memory import MemoryObjects
from tests.support.leases import KEY, LEGACY, ask, write_lease
from tests.support.objects import FakeTimes, Fault, FaultyObjects

# Records


async def test_a_legacy_record_is_read_and_continued() -> None:
    """Without a term it is on term 1; its numbers may be doubles; its holder is nobody of ours."""
    objects, times = MemoryObjects(), FakeTimes()
    await write_lease(objects, LEGACY)
    leases = Leases(objects, times)
    found = await leases.read(KEY)
    assert found is not None
    assert (found.record.token, found.record.ttl_ms) == (Token(1, 7), 60_000)
    with pytest.raises(Held):
        await leases.acquire(KEY, ask("old-writer"))
    times.now_ms += 60_100
    taken = await leases.acquire(KEY, ask("b"))
    assert taken.token == Token(1, 8)
    assert taken.record.holders[0].holder_id == "old-writer"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        {"holder_id": "a"},
        {**LEGACY, "generation": -1},
        {**LEGACY, "generation": "7"},
        {**LEGACY, "generation": 7.5},
        {**LEGACY, "generation": True},
        {**LEGACY, "term": 0},
        {**LEGACY, "released": "yes"},
        {**LEGACY, "holders": [{"x": 1}]},
    ],
)
async def test_l12_a_damaged_lease_is_refused_never_taken_for_absent(body: object) -> None:
    """Every operation refuses; an operator repairs it with a floor."""
    objects = MemoryObjects()
    await write_lease(objects, body)
    leases = Leases(objects)
    with pytest.raises(InvalidRecord):
        await leases.acquire(KEY, ask())
    repaired = await leases.repair(KEY, Token(2, 9))
    assert repaired.released
    assert (await leases.acquire(KEY, ask())).token == Token(2, 10)
    with pytest.raises(VersionConflict):
        await leases.repair(KEY, Token(1, 1))


async def test_a_damaged_manifest_is_refused_by_everybody() -> None:
    """Readers, writers and contenders: nobody takes it for an empty one."""
    objects = MemoryObjects()
    await objects.put_if_absent(paths.manifest(KEY), b'{"format": 1}')
    with pytest.raises(InvalidRecord):
        await FencedManifest(objects, KEY).read()
    with pytest.raises(InvalidRecord):
        await Leases(objects).acquire(KEY, ask())


async def test_w7_w8_an_operation_is_one_read_and_one_write() -> None:
    """The version comes with the body, and a winner does not look again."""
    objects = FaultyObjects()
    leases = Leases(objects)
    grant = await leases.acquire(KEY, ask())
    assert [verb for verb, _ in objects.calls] == ["get", "get", "put"]
    objects.calls.clear()
    await leases.release(await leases.refresh(grant))
    assert [verb for verb, _ in objects.calls] == ["put", "put"]


async def test_the_record_remembers_its_last_holders() -> None:
    """For those who ask afterwards what happened."""
    leases = Leases(MemoryObjects())
    for number in range(12):
        await leases.release(await leases.acquire(KEY, ask(f"h{number}")))
    last = await leases.acquire(KEY, ask("now"))
    names = [past.holder_id for past in last.record.holders]
    assert names == [f"h{number}" for number in range(4, 12)]
    assert {past.ended for past in last.record.holders} == {"released"}


# Listing and garbage


async def test_l13_a_listing_that_fails_is_no_empty_listing() -> None:
    """Neither at its start nor in the middle."""
    for after in (0, 1):
        objects = FaultyObjects()
        async with WriterLease(objects, KEY, holder="a") as lease:
            writer = await FencedManifest(objects, KEY).open(lease)
            for _ in range(3):
                await writer.put(b"x")
            objects.faults.append(Fault("list", "after", after=after))
            with pytest.raises(BackendFailed):
                await writer.collect()


async def test_l14_readers_follow_the_manifest_not_the_listing() -> None:
    """Newer objects that nobody committed do not exist."""
    objects = MemoryObjects()
    manifest = FencedManifest(objects, KEY)
    async with WriterLease(objects, KEY) as lease:
        writer = await manifest.open(lease)
        real = await writer.put(b"real")
        await writer.commit(add={real: {"rows": 1}})
        await writer.put(b"newer, uncommitted")
    found = await manifest.read()
    assert found is not None
    assert dict(found.objects) == {real: {"rows": 1}}


async def test_l17_collection_spares_what_may_still_become_real() -> None:
    """Uncommitted objects of our own token stay; those of earlier tokens and dropped ones go."""
    objects = MemoryObjects()
    manifest = FencedManifest(objects, KEY)
    async with WriterLease(objects, KEY) as first:
        writer = await manifest.open(first)
        kept, old, stray = [await writer.put(body) for body in (b"kept", b"old", b"stray")]
        await writer.commit(add={kept: {}, old: {}})
    await objects.put_if_absent(f"objects/{KEY}/somebody's file", b"")
    async with WriterLease(objects, KEY) as second:
        writer = await manifest.open(second)
        coming = await writer.put(b"coming")
        await writer.commit(drop=[old])
        assert sorted(await writer.collect()) == sorted([old, stray])
        await writer.commit(add={coming: {}})
        assert writer.snapshot.dropped == ()
        with pytest.raises(InvalidInput):
            await writer.commit(drop=[old])
        # A stalled writer creates its object again: nobody reads it, and it is found again.
        await objects.put_if_absent(stray, b"stray")
        assert await writer.collect() == [stray]
    left = [entry.key async for entry in objects.list(f"objects/{KEY}/")]
    assert sorted(left) == sorted([kept, coming, f"objects/{KEY}/somebody's file"])


async def test_collection_spares_the_objects_of_keys_that_start_with_this_one() -> None:
    """The data objects of `a/b` are listed under those of `a`, but another manifest names them."""
    objects = MemoryObjects()
    inner, outer = f"{KEY}/inner", KEY
    async with WriterLease(objects, inner) as lease:
        writer = await FencedManifest(objects, inner).open(lease)
        real = await writer.put(b"real")
        await writer.commit(add={real: {}})
    for _ in range(2):
        async with WriterLease(objects, outer) as lease:
            writer = await FencedManifest(objects, outer).open(lease)
            assert await writer.collect() == []
    assert await FencedManifest(objects, inner).get(real) == b"real"


async def test_a_dropped_object_never_becomes_real_again() -> None:
    """Its name may be deleted at any time."""
    objects = MemoryObjects()
    async with WriterLease(objects, KEY) as lease:
        writer = await FencedManifest(objects, KEY).open(lease)
        name = await writer.put(b"x")
        await writer.commit(add={name: {}})
        await writer.commit(drop=[name])
        with pytest.raises(InvalidInput):
            await writer.commit(add={name: {}})


async def test_two_writers_of_one_lease_cannot_both_commit() -> None:
    """The one that opened last goes on; the other is told."""
    objects = MemoryObjects()
    manifest = FencedManifest(objects, KEY)
    async with WriterLease(objects, KEY) as lease:
        first, second = await manifest.open(lease), await manifest.open(lease)
        await second.commit(facts={"by": "second"})
        with pytest.raises(LostRace):
            await first.commit(facts={"by": "first"})
        await second.commit(facts={"more": True})
