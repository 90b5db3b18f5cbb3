"""What queues guarantee under concurrency (traps Q1 to Q34 of the reference).

Most are tested beside the function that could fall into them, on one server and on a cluster:

Q1 Q19   test_queue_settle: a superseded handle is stale, only an ack may come late
Q2 Q33   test_queue_settle: foreign and forged handles; test_queue_read: every hand-out has a handle
Q4 Q5    test_queue_claim: idle counts from the last hand-out, a claim stays in its group
Q7 Q8    test_queue_settle: hand-outs never exceed the budget; test_queue_read: a crash loop ends
Q9 Q10   test_queue_settle: a dead-letter queue never gives up; test_queue_describe: the last drops
Q11      tests/integration/queues/test_crashes
Q12 Q14  test_queue_define: dead letters go no further, the mode never changes
Q13      test_queue_commit: an ack, its pushes and its executions happen together
Q15 Q16  test_queue_read: a message goes when every group is done; test_queue_group: starts
Q17 Q18  test_queue_read: groups are independent; test_queue_settle: the same verb again
Q20      test_queue_stats, test_queue_pending: an expired lock is not in flight
Q22 Q23  tests/integration/queues/test_waiting
Q24 Q27  test_queue_read: one message of a key is in flight, both ends and by priority
Q25 Q28  test_queue_push: known ids, conflicts, a full queue; test_queue_read: caps
Q29 Q30  test_queue_purge, test_queue_take
Q34      tests/property/queue_machine: counts are the model's after every call
"""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from holdfast.engine import Engine
from holdfast.errors import StoreReadOnly
from holdfast.model.deliveries import Delivery
from holdfast.model.queues import QueueSettings
from holdfast.store.store import Store, StoreSettings
from holdfast.store.valkey.call import Caller
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.urls import StoreUrl
from holdfast.testing.clock import Clock
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import start_server
from tests.support.queues import codes, counts, payloads, push, read, read_one, settle


async def test_many_readers_and_claimers_share_no_message(engine: Engine) -> None:
    """Q3, Q4, Q6: all verbs pass one point, so each message has one live handle."""
    await engine.queues.define("q", max_attempts=100)
    await push(engine, *[b"%d" % n for n in range(200)])

    async def one(number: int) -> list[Delivery]:
        if number % 3 == 0:
            claimed = await engine.queues.claim("q", consumer=f"c{number}", min_idle_ms=1, count=10)
            return claimed.deliveries
        side = "left" if number % 2 else "right"
        return await read(engine, 10, consumer=f"c{number}", side=side)

    found = [d for batch in await asyncio.gather(*(one(n) for n in range(30))) for d in batch]
    assert max(Counter(d.message.id for d in found).values()) == 1
    assert await counts(engine) == {"in_flight": 200}


async def test_caps_and_sizes_hold_under_concurrency(engine: Engine) -> None:
    """Q28: checked where the message is handed out or stored, so nothing overshoots."""
    await engine.queues.define("q", max_size=20, max_in_flight=7)
    await asyncio.gather(*(push(engine, *[b"1"] * 5) for _ in range(10)))
    assert (await engine.queues.stats("q")).stored == 20
    batches = await asyncio.gather(*(read(engine, 3, consumer=f"c{n}") for n in range(10)))
    assert sum(map(len, batches)) == 7


async def test_a_clock_that_steps_back_changes_no_order_and_frees_no_lock(
    engine: Engine, clock: Clock
) -> None:
    """Q21, Q26: positions only rise, and deadlines are on the same clock as now."""
    await engine.queues.define("q", lock_ms=1_000)
    await push(engine, b"1")
    start = clock.now_ms
    await clock.set(start - 3_600_000)
    await push(engine, b"2")
    assert await payloads(engine) == [b"1", b"2"]
    await clock.advance(999)
    assert await payloads(engine) == []
    await clock.set(start)
    await push(engine, b"3")
    assert await payloads(engine) == [b"1", b"2", b"3"]


async def test_ids_are_not_positions_and_are_never_reused(engine: Engine) -> None:
    """Q26, Q29: after a purge new messages have ids, positions and handles of their own."""
    await engine.queues.define("q")
    first = await push(engine, b"1", b"2")
    held = await read_one(engine)
    await engine.queues.purge("q")
    second = await push(engine, b"3", b"4")
    assert not set(first) & set(second)
    assert await payloads(engine) == [b"3", b"4"]
    assert await codes(settle(engine, "ack", held)) == ["stale_delivery"]


async def test_a_replica_decides_nothing() -> None:
    """Q31: every function that changes a queue is refused there, with a code of its own."""
    with start_server() as primary, start_server() as replica:
        urls = [StoreUrl(addresses=(("127.0.0.1", s.port),)) for s in (primary, replica)]
        client = await Client.connect(urls[0], timeout_ms=5_000)
        # As after a failover: it was a primary when it was connected to.
        reader = await Client.connect(urls[1], timeout_ms=5_000)
        store = Store(client, urls[0], StoreSettings())
        await store.boot()
        engine = Engine(store)
        await engine.queues.define("q")
        await push(engine, b"1")
        (held,) = await read(engine)
        with replica.raw() as raw:
            raw.execute_command("REPLICAOF", "127.0.0.1", primary.port)

            async def synced() -> bool:
                return bool(raw.exists(f"{store.queue_tag('q')}:messages"))

            await wait_for(synced)
            before = sorted(raw.keys("*"))
            caller = Caller(reader, timeout_ms=200, loader=store.loader)
            tag = store.queue_tag("q")
            calls = {
                "hf_queue_push": ("r", b"\x81\xa2id\xa1x", b"1"),
                "hf_queue_read": ("", "r", "c", "1", "left"),
                "hf_queue_settle": ("ack", held.handle, "", ""),
                "hf_queue_purge": ("r",),
                "hf_queue_tick": ("10",),
            }
            for function, args in calls.items():
                with pytest.raises(StoreReadOnly) as caught:
                    await caller.write(function, tag, *args)
                assert caught.value.code == "store_read_only"
            assert sorted(raw.keys("*")) == before
            await reader.close()
        await engine.close()
        await client.close()


@pytest.mark.parametrize("mode", ["work", "fanout"])
async def test_a_call_costs_the_same_whatever_is_stored(single_store: Store, mode: str) -> None:
    """Q32: the number of commands inside a call does not grow with messages or groups."""
    engine = Engine(single_store)
    await engine.queues.define("q", mode=mode)
    if mode == "fanout":
        for n in range(3):
            await engine.queues.add_group("q", f"g{n}")
    group = "g0" if mode == "fanout" else None

    async def commands() -> int:
        text = (await single_store.client.call(["INFO", "commandstats"])).decode()
        lines = [line for line in text.splitlines() if line.startswith("cmdstat_")]
        return sum(int(line.split("calls=")[1].split(",")[0]) for line in lines)

    async def round_trip() -> int:
        before = await commands()
        await push(engine, b"1", key="k")
        held = await read_one(engine, group=group)
        await settle(engine, "nack", held, delay_ms=0)
        await settle(engine, "ack", await read_one(engine, group=group))
        return await commands() - before

    await round_trip()
    small = await round_trip()
    for _ in range(5):
        await push(engine, *[b"1"] * 1_000)
    if mode == "fanout":
        for n in range(3, 50):
            await engine.queues.add_group("q", f"g{n}")
    large = await round_trip()
    assert large <= small + 3


@pytest.mark.parametrize("listed", [True, False])
async def test_a_queue_that_is_defined_while_it_is_deleted_is_listed(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, listed: bool
) -> None:
    """Whichever call reaches the list last; the ticker visits only queues that are listed."""
    await engine.queues.define("q")
    enlist, define = engine.store.queues.enlist, engine.store.queues.define
    # The other call begins and ends just before this one reaches the list, or the queue.
    if listed:

        async def late_enlist(name: str, *, listed: bool = True) -> None:
            monkeypatch.undo()
            await engine.queues.define(name)
            await enlist(name, listed=listed)

        monkeypatch.setattr(engine.store.queues, "enlist", late_enlist)
        await engine.queues.delete("q")
    else:

        async def late_define(name: str, settings: QueueSettings) -> bool:
            monkeypatch.undo()
            await engine.queues.delete(name)
            return await define(name, settings)

        monkeypatch.setattr(engine.store.queues, "define", late_define)
        await engine.queues.define("q")
    assert [queue.name for queue in await engine.queues.list()] == ["q"]
