"""verify: every index is recomputed from the records of a live store, and repaired."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from holdfast.engine import Engine
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.store.verify.checking import family_of, scope_of, violations
from holdfast.store.verify.reading import Item, Partition
from holdfast.store.verify.view import Read
from holdfast.store.verify.walking import Found, Walk
from holdfast.testing.clock import Clock
from tests.support import full_store, queues
from tests.support.briefs import plant
from tests.support.lifecycle import Dump, claim_in, claim_one, create_one, state_of
from tests.support.limits import claim_one_limited, make_quota

Contents = dict[str, Any]

#: Where any score is right, or the order is all that a score says: what is there is compared.
_ANY_SCORE = {
    *("timers", "turns", "wait", "revruns", "revwaits", "outgoing", "lined", "bonds"),
    *("later", "retry", "seen_until"),
}
#: Indexes that know something which is nowhere else: where a message is, and since when.
_KNOWING = {"bodies", "later", "flight", "retry", "late", "tries", "handles", "seen_until"}


@pytest.fixture
async def filled(engine: Engine, clock: Clock) -> Store:
    await full_store.fill(engine, clock)
    return engine.store


async def verify(store: Store, *, fix: bool = False) -> list[Found]:
    return await Walk(store, fix=fix).run()


async def test_steps_in_a_brief_are_counted(store: Store) -> None:
    """They are read as the hash that they stand for."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.checkpoint(claim.id, claim.lease, "s", b"1")
    assert await verify(store) == []
    key = f"{store.tag_of(claim.id)}:x:{claim.id}"
    brief = await store.client.call(["GET", key])
    assert b" +1 " in brief
    # Outside the brief, where its head says that they are, there are none.
    await store.client.call(["SET", key, brief.split(b"\ns\n")[0].replace(b" +1 ", b" 1 ")])
    (found,) = await verify(store)
    assert "has the steps []" in found.drift.text


def family_and_index(key: str) -> tuple[str, str | None]:
    """Return the family of a key, and what type of index it is."""
    tag, _, name = key.partition("}:")
    family = family_of(scope_of(tag + "}"), name)
    computed = family is not None and not family.things
    return name.partition(":")[0], family.index if family and computed else None


def indexes(dump: Contents) -> dict[str, tuple[str, Any]]:
    """Return the indexes of a dump that are computed from others: their types and contents."""
    found = ((key, family_and_index(key)[1], value) for key, value in dump.items())
    return {key: (kind, value) for key, kind, value in found if kind is not None}


def shape(dump: Contents) -> Contents:
    """Return a dump without scores that may be any, and without the order of sets."""
    shaped = {}
    for key, value in dump.items():
        name, kind = family_and_index(key)
        shaped[key] = sorted(value) if name in _ANY_SCORE or kind == "set" else value
    return shaped


async def test_a_sound_store_has_no_drift(filled: Store, dump: Dump) -> None:
    """Neither the walk nor the same rules on a dump find anything; nothing is changed."""
    before = dump()
    assert violations(before) == []
    walk = Walk(filled, fix=True)
    assert await walk.run() == []
    assert walk.keys >= len(before)
    assert walk.entries > 100
    assert dump() == before


async def test_what_went_since_it_was_listed_is_no_drift(filled: Store, dump: Dump) -> None:
    """As executions do whose retention ends during a walk."""
    listed = [key.partition("}:") for key in dump()]
    await filled.client.on_primaries(("FLUSHALL",))
    for tag, _, key in listed:
        assert await Partition(filled.caller, tag + "}").check([Item(key)]) == {}, key


async def test_all_indexes_are_built_again_from_the_records(filled: Store, dump: Dump) -> None:
    """Every entry that records call for is missed when it is gone, and written as it was."""
    before = dump()
    for key in indexes(before):
        if family_and_index(key)[0] not in _KNOWING:
            await filled.client.call(("DEL", key))
    found = await verify(filled)
    assert len([one for one in found if one.drift.kind == "missing"]) > 40
    assert all(one.repaired for one in await verify(filled, fix=True))
    assert await verify(filled) == []
    assert shape(dump()) == shape(before)


async def test_entries_of_nothing_are_removed(filled: Store, dump: Dump) -> None:
    """One is planted in every index."""
    before = dump()
    commands: dict[str, Callable[[str, bytes], tuple[str | bytes, ...]]] = {
        "zset": lambda key, member: ("ZADD", key, "1", member),
        "set": lambda key, member: ("SADD", key, member),
        "hash": lambda key, member: ("HSET", key, member, "gone"),
    }
    planted = indexes(before)
    for key, (kind, value) in planted.items():
        await filled.client.call(commands[kind](key, _stranger(key, next(iter(value)))))
    found = await verify(filled, fix=True)
    assert {one.drift.kind for one in found} == {"extra"}
    assert {one.tag + ":" + one.drift.about.removeprefix("index ") for one in found} == set(planted)
    assert shape(dump()) == shape(before)


def _stranger(key: str, member: bytes) -> bytes:
    """Return a member that looks like another one, of something that is not there."""
    if key.endswith("}:timers") and b":" in member:
        return member[:2] + b"gone"
    if ":lines:" in key:
        return member.rpartition(b"\0")[0] + b"\0gone"
    if key.endswith("}:timers"):
        return b"nothing"
    return b"default|gone" if b"|" in member else b"gone"


async def test_wrong_scores_are_corrected(filled: Store, dump: Dump) -> None:
    """Of every sorted set whose order means something."""
    before = dump()
    for key, (kind, value) in indexes(before).items():
        if kind == "zset":
            for member, score in value.items():
                await filled.client.call(("ZADD", key, f"{score + 1:.17g}", member))
    found = await verify(filled, fix=True)
    # A message behind a cursor counts otherwise, until its place is right again.
    assert {one.drift.kind for one in found} <= {"wrong", "count"}
    assert shape(dump()) == shape(before)


async def test_counts_owners_and_leases(filled: Store, dump: Dump) -> None:
    """Counters, keys without an owner, slots that nobody uses, and leases that would not end."""
    before = dump()
    by_family = {key.partition("}:")[2].partition(":")[0]: key for key in before}
    running = await claim_one(filled, await create_one(filled, lane="once"), lanes=["once"])
    home, gone = filled.tag_of(running.id), await create_one(filled, kind="gone")
    plants: list[tuple[str, ...]] = [
        ("HSET", by_family["graph"], "open", "7"),
        ("HSET", f"{filled.budget_tag('money')}:budget:money", "r|tokens", "99"),
        ("HSET", by_family["state_meta"], "bytes", "1"),
        ("HSET", f"{filled.queue_tag('work')}:tally:default", "acked", "3"),
        ("HINCRBY", f"{filled.queue_tag('work')}:consumers:default", "c1", "5"),
        ("ZREM", f"{home}:timers", f"x:{running.id}"),
        ("HSET", f"{filled.quota_tag('slots')}:held:slots", gone, "1"),
        ("SET", f"{home}:i:nobody", "input"),
    ]
    for command in plants:
        await filled.client.call(command)
    found = await verify(filled)
    kinds = sorted(one.drift.kind for one in found)
    assert kinds == ["count"] * 5 + ["extra", "missing", "orphan"]
    assert all(one.repaired for one in await verify(filled, fix=True))
    assert await verify(filled) == []
    # What is wrong within a record is reported, and left alone.
    await plant(filled, running.id, "hold", "pause")
    left = await verify(filled, fix=True)
    assert {(one.drift.kind, one.repaired) for one in left} == {("record", False)}


async def test_a_store_under_load_has_no_drift(engine: Engine, clock: Clock) -> None:
    """Everything changes while it is verified, and each look is of one moment."""
    await full_store.fill(engine, clock)
    stop = asyncio.Event()

    async def work() -> None:
        while not stop.is_set():
            done = await create_one(engine.store, kind="load", tags={"a": "b"}, lane="load")
            for tag in {engine.store.tag_of(done)}:
                for claim in await claim_in(engine.store, tag, lanes=["load"], limit=10):
                    await engine.store.executions.complete(claim.id, claim.lease, b"done")
            await queues.push(engine, b"x", queue="work", key="k")
            for delivery in await queues.read(engine, 3, queue="work", consumer="c9"):
                await queues.settle(engine, "ack", delivery, queue="work")

    workers = [asyncio.create_task(work()) for _ in range(2)]
    assert await verify(engine.store) == []
    stop.set()
    await asyncio.gather(*workers)


async def test_a_queue_with_many_groups_is_counted(engine: Engine) -> None:
    """Each group is checked by itself, so their number does not matter."""
    await engine.queues.define("news", mode="fanout")
    groups = [f"g{number}" for number in range(12)]
    for group in groups:
        await engine.queues.add_group("news", group)
    await queues.push(engine, *[b"1"] * 5, queue="news")
    for group in groups:
        await queues.read(engine, 3, queue="news", group=group)
    assert await verify(engine.store) == []
    tag = engine.store.queue_tag("news")
    await engine.store.client.call(("HINCRBY", f"{tag}:consumers:g11", "c1", "5"))
    (found,) = await verify(engine.store, fix=True)
    assert (found.drift.kind, found.repaired) == ("count", True)
    assert await verify(engine.store) == []


async def test_groups_with_many_deliveries_are_read_in_small_calls(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call names no single deliveries of a group, however many it has."""
    await engine.queues.define("news", mode="fanout")
    for group in ("a", "b", "c"):
        await engine.queues.add_group("news", group)
    await queues.push(engine, *[b"1"] * 300, queue="news", key="k")
    await queues.push(engine, *[b"1"] * 300, queue="news")
    for group in ("a", "b", "c"):
        for _ in range(6):
            await queues.read(engine, 100, queue="news", group=group)
    widths: list[int] = []
    reading = Partition.read

    async def read(partition: Partition, reads: Sequence[Read]) -> Any:
        widths.append(len(reads))
        return await reading(partition, reads)

    monkeypatch.setattr(Partition, "read", read)
    assert await verify(engine.store) == []
    assert max(widths) < 500
    tag = engine.store.queue_tag("news")
    await engine.store.client.call(("HINCRBY", f"{tag}:consumers:b", "c1", "5"))
    (found,) = await verify(engine.store, fix=True)
    assert (found.drift.kind, found.repaired) == ("count", True)


async def test_many_budgets_with_reservations_are_added_up(single_store: Store) -> None:
    """The budgets of all reservations of a partition are read together, with their ancestors."""
    engine = Engine(single_store)
    for number in range(60):
        parent = f"b{number - 1}" if 0 < number < 5 else None
        limits = {"tokens": {"hard": 100}}
        await engine.budgets.create(f"b{number}", limits=limits, parent=parent)
        await engine.budgets.reserve(f"b{number}", {"tokens": 1}, key="k")
    assert await verify(single_store) == []
    tag = single_store.budget_tag("b0")
    await single_store.client.call(("HSET", f"{tag}:budget:b0", "r|tokens", "99"))
    assert all(one.repaired for one in await verify(single_store, fix=True))
    assert await verify(single_store) == []
    await engine.close()


async def test_a_drift_that_changes_all_the_time_is_left(
    single_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its repair never fits what was read; it is reported nevertheless."""
    store = single_store
    made = await create_one(store)
    key = f"{store.tag_of(made)}:tenants"
    await store.client.call(("SADD", key, "stranger"))
    repair = Partition._repair

    async def late(partition: Partition, moment: Any, drifts: Any) -> bool:
        # Everything that was read is of another moment.
        await store.client.call(("SREM", key, "stranger"))
        done = await repair(partition, moment, drifts)
        await store.client.call(("SADD", key, "stranger"))
        return done

    monkeypatch.setattr(Partition, "_repair", late)
    (found,) = await verify(store, fix=True)
    assert (found.drift.kind, found.repaired) == ("extra", False)


@pytest.mark.parametrize("plain", ["1", "2"])
async def test_a_parent_with_bonds_is_no_longer_plain(single_store: Store, plain: str) -> None:
    """Else its short end would leave its children alone."""
    store = single_store
    parent = await claim_one(store, await create_one(store, id="p"))
    await create_one(store, id="p~0.1", on_parent_end="cancel")
    await plant(store, parent.id, "plain", plain)
    record = f"{store.tag_of(parent.id)}:x:{parent.id}"
    assert ["is plain with bonds" in str(one.drift) for one in await verify(store)] == [True]
    await store.client.call(("HDEL", record, "bonds"))
    assert [one.drift.kind for one in await verify(store, fix=True)] == ["wrong"]
    assert await store.client.call(("HMGET", record, "bonds", "plain")) == [b"1", b"0"]


async def test_a_message_whose_turn_it_is_can_be_read_again(engine: Engine) -> None:
    """One with a key that is nowhere, or that stands behind nothing."""
    await engine.queues.define("w")
    tag = engine.store.queue_tag("w")
    first, second = await queues.push(engine, b"1", b"2", queue="w", key="k")
    await engine.store.client.call(("ZREM", f"{tag}:open:default", first))
    assert await verify(engine.store, fix=True) != []
    assert await verify(engine.store) == []
    delivery = await queues.read_one(engine, queue="w")
    assert delivery.message.payload == b"1"
    assert await verify(engine.store) == []
    await queues.settle(engine, "ack", delivery, queue="w")
    score = await engine.store.client.call(("ZSCORE", f"{tag}:open:default", second))
    await engine.store.client.call(("ZREM", f"{tag}:open:default", second))
    await engine.store.client.call(("ZADD", f"{tag}:blocked:default", score, second))
    (found,) = await verify(engine.store, fix=True)
    assert "is the first of its key" in found.drift.text
    assert await verify(engine.store) == []
    assert await queues.payloads(engine, queue="w") == [b"2"]


async def test_a_repaired_parent_with_limits_cancels_its_children(
    engine: Engine, clock: Clock
) -> None:
    """Its record says again that its end concerns others."""
    store = engine.store
    await make_quota(store)
    claim = await claim_one_limited(engine, await create_one(store, id="p", quotas=("q",)))
    await create_one(store, id="p~0.1", on_parent_end="cancel")
    await plant(store, "p", "plain", "2")
    await store.client.call(["HDEL", f"{store.tag_of('p')}:x:p", "bonds"])
    assert all(one.repaired for one in await verify(store, fix=True))
    await engine.complete(claim.id, claim.lease)
    await clock.advance_and_tick(0)
    assert await state_of(store, "p~0.1") is State.CANCELLED


async def test_a_removal_that_is_remembered_is_no_drift(store: Store) -> None:
    """Its answer is kept for a minute, in whatever partition it was."""
    await make_quota(store)
    await store.quotas.delete("q")
    assert await verify(store) == []


async def test_what_nobody_can_read_hides_nothing_else(filled: Store) -> None:
    """Damage by hand or by a disk is reported and left alone; all else is verified and repaired."""
    tag = filled.tag_of(await create_one(filled, id="sound"))
    quota = await make_quota(filled, "damaged")
    held = f"{filled.quota_tag(quota)}:held:{quota}"
    for command in (
        ("SET", f"{tag}:".encode() + b"\xff", "1"),
        ("SET", f"{tag}:x:damaged", "nonsense"),
        ("SET", f"{tag}:c:default|default|work|waiting", "no index"),
        ("HSET", held, b"\xff", "1"),
        ("HSET", held, "gone", "1"),
        ("HSET", held, "sound", "many"),
        ("ZADD", f"{tag}:q:default|work||default", "5", "ghost"),
    ):
        await filled.client.call(command)
    found = await verify(filled)
    fixed = await verify(filled, fix=True)
    assert {one.drift for one in fixed} == {one.drift for one in found}
    texts = {str(one.drift): one.repaired for one in fixed}
    assert texts.pop(
        "index q:default|work||default has the entry ghost, which nothing accounts for"
    )
    assert texts.pop("quota damaged: has the holder gone, which does not run under epoch 1")
    assert not any(texts.values())
    beginnings = (
        "key b'\\xff' is of no known family",
        "key x:damaged cannot be understood",
        "index c:default|default|work|waiting is no zset",
        "index c:default|default|work|waiting lacks the entry sound",
        "quota damaged: has the holder b'\\xff', which cannot be understood",
        "quota damaged: has the holder b'sound', which cannot be understood",
    )
    for beginning in beginnings:
        assert any(text.startswith(beginning) for text in texts), beginning
