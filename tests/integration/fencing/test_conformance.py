# ruff: noqa: D102 - the methods are those of the protocol
"""What every object store must do: the same tests for memory, folder, Valkey and S3."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from holdfast.errors import BackendUnfit, Fenced, Held, StaleLease, VersionConflict
from holdfast.fencing import (
    FencedManifest,
    FolderObjects,
    Leases,
    ObjectStore,
    Token,
    WriterLease,
    paths,
    probe,
)
from holdfast.fencing.memory import MemoryObjects
from holdfast.fencing.objects import DeletesByVersion, Entry
from holdfast.model.writer_leases import Version
from tests.support.leases import ask
from tests.support.objects import FakeTimes


async def test_an_object_is_created_once(objects: ObjectStore) -> None:
    """The second creation is refused and changes nothing."""
    version = await objects.put_if_absent("a/b.json", b"1")
    with pytest.raises(VersionConflict):
        await objects.put_if_absent("a/b.json", b"2")
    found = await objects.get("a/b.json")
    assert found is not None
    assert (found.body, found.version) == (b"1", version)


async def test_what_is_not_there_is_none(objects: ObjectStore) -> None:
    """Absent is an answer, not an error, and only for what is certainly absent."""
    assert await objects.get("nothing") is None
    assert await objects.get_range("nothing", 0, 5) is None
    assert [entry async for entry in objects.list("nothing/")] == []
    await objects.delete("nothing")
    with pytest.raises(VersionConflict):
        await objects.put_if_version("nothing", b"1", await _some_version(objects))


async def _some_version(objects: ObjectStore) -> Version:
    return await objects.put_if_absent("some", b"some")


async def test_only_the_expected_version_is_replaced(objects: ObjectStore) -> None:
    """A version is good for one replacement."""
    first = await objects.put_if_absent("k", b"1")
    second = await objects.put_if_version("k", b"2", first)
    assert second != first
    with pytest.raises(VersionConflict):
        await objects.put_if_version("k", b"3", first)
    assert (await objects.put_if_version("k", b"3", second)) not in (first, second)


async def test_a_part_of_an_object(objects: ObjectStore) -> None:
    """Readers fetch what they need."""
    await objects.put_if_absent("k", bytes(range(200)))
    assert await objects.get_range("k", 10, 5) == bytes(range(10, 15))


async def test_an_empty_and_a_large_object(objects: ObjectStore) -> None:
    """Sizes do not matter."""
    for number, body in enumerate((b"", b"x" * (6 << 20))):
        await objects.put_if_absent(f"k{number}", body)
        found = await objects.get(f"k{number}")
        assert found is not None
        assert found.body == body


async def test_a_listing_has_names_and_sizes_in_order(objects: ObjectStore) -> None:
    """Only those that start with the prefix."""
    for name in ("x/b", "x/a", "x/c/d", "xa", "y"):
        await objects.put_if_absent(name, b"12")
    found = [entry async for entry in objects.list("x/")]
    assert found == [Entry("x/a", 2), Entry("x/b", 2), Entry("x/c/d", 2)]
    await objects.delete("x/a")
    assert [entry.key async for entry in objects.list("x/")] == ["x/b", "x/c/d"]


async def test_a_deletion_may_depend_on_the_version(objects: ObjectStore) -> None:
    """Where it can be conditional, it is."""
    if not isinstance(objects, DeletesByVersion):
        pytest.skip("this kind deletes without conditions, and nothing relies on them")
    first = await objects.put_if_absent("k", b"1")
    second = await objects.put_if_version("k", b"2", first)
    with pytest.raises(VersionConflict):
        await objects.delete_if_version("k", first)
    await objects.delete_if_version("k", second)
    assert await objects.get("k") is None


async def test_of_many_writers_at_once_one_wins(objects: ObjectStore) -> None:
    """Creation and replacement are atomic."""

    async def count(calls: Sequence[asyncio.Future[Version]]) -> int:
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(a, str | VersionConflict) for a in answers), answers
        return sum(isinstance(answer, str) for answer in answers)

    bodies = [str(n).encode() for n in range(12)]
    creations = [asyncio.ensure_future(objects.put_if_absent("k", body)) for body in bodies]
    assert await count(creations) == 1
    found = await objects.get("k")
    assert found is not None
    swaps = [
        asyncio.ensure_future(objects.put_if_version("k", body + b"x", found.version))
        for body in bodies
    ]
    assert await count(swaps) == 1


async def test_the_probe_accepts_it_and_leaves_nothing(objects: ObjectStore) -> None:
    """All of these stores can fence."""
    await probe.probe(objects)
    assert [entry async for entry in objects.list("")] == []


async def test_the_life_of_a_lease(objects: ObjectStore) -> None:
    """Acquire, held, refresh, release, acquire by another: tokens rise, nothing is deleted."""
    leases = Leases(objects)
    first = await leases.acquire("reports/main", ask("a"))
    assert first.token == Token(1, 1)
    with pytest.raises(Held) as held:
        await leases.acquire("reports/main", ask("b"))
    assert held.value.context["holder"] == "a"
    refreshed = await leases.refresh(first)
    assert (refreshed.token, refreshed.version != first.version) == (first.token, True)
    await leases.release(refreshed)
    second = await leases.acquire("reports/main", ask("b"))
    assert second.token == Token(1, 2)
    with pytest.raises(StaleLease):
        await leases.refresh(refreshed)
    assert [entry.key async for entry in objects.list("leases/")] == [paths.lease("reports/main")]


async def test_a_silent_holder_is_replaced_after_its_patience(objects: ObjectStore) -> None:
    """A contender that has seen one version for ttl + margin takes over, no earlier."""
    times = FakeTimes()
    await Leases(objects, times).acquire("k", ask("a"))
    contender = Leases(objects, times)
    for left in (1_100, 1):
        with pytest.raises(Held) as held:
            await contender.acquire("k", ask("b"))
        assert held.value.context["wait_ms"] == left
        times.now_ms += 1_099 if left > 1 else 1
    assert (await contender.acquire("k", ask("b"))).token == Token(1, 2)


async def test_a_manifest_refuses_an_older_writer(objects: ObjectStore) -> None:
    """A paused writer that wakes after a take-over changes nothing."""
    manifest = FencedManifest(objects, "k")
    async with WriterLease(objects, "k", holder="a") as old:
        writer = await manifest.open(old)
        kept = await writer.put(b"kept")
        await writer.commit(add={kept: {}}, facts={"by": "a"})
        stray = await writer.put(b"stray")
        async with WriterLease(objects, "k", holder="b", term=2, preempt=True) as new:
            successor = await manifest.open(new)
            with pytest.raises(Fenced):
                await writer.commit(add={stray: {}})
            assert await successor.collect() == [stray]
            snapshot = await manifest.read()
            assert snapshot is not None
            assert (snapshot.objects, snapshot.facts, snapshot.token) == (
                {kept: {}},
                {"by": "a"},
                Token(2, 2),
            )
            assert await manifest.get(kept) == b"kept"


class Broken(MemoryObjects):
    """A store that ignores one kind of condition."""

    def __init__(self, promise: str) -> None:
        super().__init__()
        self._promise = promise

    async def put_if_absent(self, key: str, body: bytes) -> Version:
        if self._promise == "create_twice":
            return self._write(key, body)
        return await super().put_if_absent(key, body)

    async def put_if_version(self, key: str, body: bytes, version: Version) -> Version:
        known = key in self._objects
        if self._promise == "replace_absent" and not known:
            return self._write(key, body)
        if self._promise == "replace_wrong_version" and known:
            return self._write(key, body)
        if self._promise == "versions":
            self._check(key, version)
            self._objects[key] = type(self._objects[key])(body, version)
            return version
        return await super().put_if_version(key, body, version)

    async def delete_if_version(self, key: str, version: Version) -> None:
        if self._promise == "delete_wrong_version":
            await self.delete(key)
        else:
            await super().delete_if_version(key, version)

    async def delete(self, key: str) -> None:
        if self._promise != "delete":
            await super().delete(key)


@pytest.mark.parametrize(
    "promise",
    [
        *("create_twice", "replace_absent", "replace_wrong_version", "versions"),
        *("delete_wrong_version",),
    ],
)
async def test_the_probe_finds_each_broken_promise(promise: str) -> None:
    """L7: a store that ignores a condition is refused before anybody relies on it."""
    with pytest.raises(BackendUnfit) as unfit:
        await probe.probe(Broken(promise))
    assert unfit.value.context["check"] == promise
    with pytest.raises(BackendUnfit):
        await WriterLease(Broken(promise), "k").acquire()


async def test_a_folder_gives_equal_bytes_different_versions(tmp_path: object) -> None:
    """L5: a version never comes back, so an old one never fits again."""
    objects = FolderObjects(str(tmp_path))
    first = await objects.put_if_absent("k", b"same")
    second = await objects.put_if_version("k", b"other", first)
    third = await objects.put_if_version("k", b"same", second)
    assert len({first, second, third}) == 3
