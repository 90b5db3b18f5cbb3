"""Claiming over partitions: all is found, partitions take turns, idle ones are left alone."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial

import pytest

from holdfast.engine import payloads
from holdfast.engine.claimer import Claimer
from holdfast.engine.engine import Engine, open_engine
from holdfast.errors import StoreFault
from holdfast.model.executions import Claim, NewExecution, Submitted
from holdfast.model.graphs import Edge
from holdfast.model.partitions import partition_of
from holdfast.model.states import State
from holdfast.store.valkey.wire import Command
from holdfast.testing.polling import wait_for
from tests.support.fault_injection import before_calls
from tests.support.invariants import violations
from tests.support.lifecycle import Dump


async def _submit(engine: Engine, count: int, **fields: object) -> list[str]:
    items = [NewExecution.from_fields({"kind": "work", **fields}) for _ in range(count)]
    answers = await engine.submit_many(items)
    return [answer.id for answer in answers if isinstance(answer, Submitted)]


@contextlib.contextmanager
def asking(engine: Engine) -> Iterator[list[str | bytes]]:
    """Yield the tags of the partitions that claims of worker `w` ask."""
    asked: list[str | bytes] = []

    async def note(command: Command) -> None:
        # Services of the engine claim, too.
        if command[1] == "hf_execution_claim_many" and command[5] == "w":
            asked.append(command[3])

    with before_calls(engine.store.client, note):
        yield asked


async def test_all_work_of_all_partitions_is_found(engine: Engine) -> None:
    """Each execution is handed out once, whatever the size of a claim."""
    ids = await _submit(engine, 200)
    found: list[str] = []
    async with engine.executions.claimer(worker="w") as claimer:
        while claims := await claimer.claim(17, 30_000):
            assert len(claims) <= 17
            found += [claim.id for claim in claims]
    assert sorted(found) == sorted(ids)


async def test_a_claim_is_filled_from_several_partitions(engine: Engine) -> None:
    """A worker with many slots gets them filled in one call."""
    ids = await _submit(engine, 60)
    async with engine.executions.claimer(worker="w") as claimer:
        claims = await claimer.claim(100, 30_000)
    assert {claim.id for claim in claims} == set(ids)


async def test_partitions_take_turns(engine: Engine) -> None:
    """No partition is asked twice while another has work."""
    ids = await _submit(engine, 300)
    partitions = engine.store.partitions
    held = Counter(partition_of(i, partitions) for i in ids)
    rounds = min(held.values())
    async with engine.executions.claimer(worker="w") as claimer:
        order = [
            partition_of(claim.id, partitions)
            for _ in range(rounds * partitions)
            for claim in await claimer.claim(1, 30_000)
        ]
    for start in range(0, len(order), partitions):
        assert len(set(order[start : start + partitions])) == partitions


async def test_two_claimers_never_get_the_same_execution(engine: Engine) -> None:
    """Claims at the same moment are disjoint."""
    ids = await _submit(engine, 120)
    async with (
        engine.executions.claimer(worker="w1") as first,
        engine.executions.claimer(worker="w2") as second,
        engine.executions.claimer(worker="w3") as third,
    ):
        claims = await asyncio.gather(*(c.claim(60, 30_000) for c in (first, second, third)))
    found = [claim.id for part in claims for claim in part]
    assert sorted(found) == sorted(ids)


async def test_an_idle_claimer_asks_only_the_partition_that_has_work(live: Engine) -> None:
    """A wake-up costs one call, not one for each partition."""
    async with live.executions.claimer(worker="w") as claimer:
        assert isinstance(claimer, Claimer)
        waiting = asyncio.ensure_future(claimer.claim(1, 30_000, wait_ms=5_000))

        async def asleep() -> bool:
            return not claimer._hopeful

        await wait_for(asleep)
        with asking(live) as asked:
            made = await live.submit("work")
            await waiting
    assert asked == [live.store.tag_of(made.id)]


async def test_one_wake_up_makes_one_of_several_claims_ask(live: Engine) -> None:
    """The claims of one worker do not all ask for work that one of them can take."""
    async with live.executions.claimer(worker="w") as claimer:
        assert isinstance(claimer, Claimer)
        claims = [asyncio.ensure_future(claimer.claim(2, 30_000, wait_ms=5_000)) for _ in range(4)]

        async def asleep() -> bool:
            return not claimer._hopeful

        await wait_for(asleep)
        with asking(live) as asked:
            made = await live.submit("work")
            await asyncio.wait(claims, return_when=asyncio.FIRST_COMPLETED)
        claimer.stop()
        await asyncio.gather(*claims)
    assert asked == [live.store.tag_of(made.id)]


async def test_claims_of_one_worker_ask_a_full_partition_at_once(real_url: str) -> None:
    """While there is plenty of work, the store looks for more as the worker starts the last."""
    under_way = 0

    async def wait_for_others(command: Command) -> None:
        nonlocal under_way
        if command[1] == "hf_execution_claim_many" and command[5] == "w":
            under_way += 1
            await wait_for(all_ask)

    async def all_ask() -> bool:
        return under_way == 3

    async with open_engine(f"{real_url}&partitions=1") as live:
        await _submit(live, 40)
        async with live.executions.claimer(worker="w") as claimer:
            assert len(await claimer.claim(10, 30_000)) == 10
            with before_calls(live.store.client, wait_for_others):
                claims = await asyncio.gather(*(claimer.claim(10, 30_000) for _ in range(3)))
    assert [len(some) for some in claims] == [10, 10, 10]


async def test_work_announced_during_a_claim_is_asked_for(real_url: str) -> None:
    """An announcement that overtakes the answer of a claim is not taken for an earlier one."""
    asked = 0
    announcements: list[Callable[[], None]] = []

    async def announce(command: Command) -> None:
        nonlocal asked
        if command[1] == "hf_execution_claim_many" and command[5] == "w":
            asked += 1
            while announcements:
                announcements.pop()()

    async with open_engine(f"{real_url}&partitions=1") as live:
        await _submit(live, 10)
        async with live.executions.claimer(worker="w") as claimer:
            assert isinstance(claimer, Claimer)
            (channel,) = claimer._channels
            # As many as it wanted, so that it takes the partition for full.
            assert len(await claimer.claim(10, 30_000)) == 10
            announcements.append(partial(claimer._on_wake, channel, "work"))
            with before_calls(live.store.client, announce):
                assert await claimer.claim(1, 30_000, wait_ms=100) == []
    assert asked == 2


async def test_other_kinds_do_not_wake_a_claimer(live: Engine) -> None:
    """The work of another app on its lane costs it no call."""
    async with live.executions.claimer(worker="w", kinds=["ours"]) as claimer:
        assert isinstance(claimer, Claimer)
        waiting = asyncio.ensure_future(claimer.claim(1, 30_000, wait_ms=5_000))

        async def asleep() -> bool:
            return not claimer._hopeful

        await wait_for(asleep)
        with asking(live) as asked:
            for _ in range(5):
                await live.submit("theirs")
            made = await live.submit("ours")
            (claim,) = await waiting
    assert claim.id == made.id
    assert asked == [live.store.tag_of(made.id)]


async def test_a_claimer_gets_only_what_it_serves(engine: Engine) -> None:
    """Lanes, capabilities and tenant all restrict it."""
    wanted = await _submit(engine, 5, lane="bulk", requires=["gpu"], tenant="acme")
    await _submit(engine, 5, lane="other", requires=["gpu"], tenant="acme")
    await _submit(engine, 5, lane="bulk", requires=["eu", "gpu"], tenant="acme")
    await _submit(engine, 5, lane="bulk", requires=["gpu"], tenant="acne")
    async with engine.claimer(
        worker="w", lanes=["bulk"], capabilities=["gpu", "fast"], tenant="acme"
    ) as claimer:
        claims = await claimer.claim(100, 30_000)
    assert {claim.id for claim in claims} == set(wanted)


async def test_a_claim_carries_all_that_a_worker_needs(engine: Engine) -> None:
    """Input, tags and terms come with the lease, so that no second call is needed."""
    made = await engine.submit(
        "mail",
        input=b"body",
        tags={"team": "a"},
        requires=["gpu"],
        priority=3,
        deadline_ms=60_000,
        attempt_timeout_ms=10_000,
    )
    async with engine.executions.claimer(worker="w", capabilities=["gpu"]) as claimer:
        (claim,) = await claimer.claim(1, 30_000)
    known = await engine.describe(made.id)
    assert (claim.id, claim.kind, claim.input, claim.tags) == (
        made.id,
        "mail",
        b"body",
        {"team": "a"},
    )
    assert (claim.priority, claim.requires, claim.steps) == (3, ("gpu",), {})
    assert claim.expires_at == known.lease_expires_at
    assert claim.deadline_at == known.deadline_at
    assert claim.timeout_at == known.timeout_at
    assert claim.created_at == known.created_at
    assert (claim.lease.epoch, claim.lease.attempt) == (known.epoch, known.attempts - 1)


async def test_a_broken_partition_does_not_cost_the_claims_of_the_others(real_url: str) -> None:
    """Leases that were opened are handed out, even if a later partition fails."""
    async with open_engine(f"{real_url}&partitions=16") as live:
        store = live.store
        ids = await _submit(live, 100)
        *_, last = store.tags()
        await store.client.call(["DEL", f"{last}:routes:default"])
        await store.client.call(["SET", f"{last}:routes:default", "broken"])
        claims: list[Claim] = []
        async with live.executions.claimer(worker="w") as claimer:
            for _ in range(2):
                with contextlib.suppress(StoreFault):
                    claims += await claimer.claim(1_000, 30_000)
        assert {claim.id for claim in claims} == {i for i in ids if store.tag_of(i) != last}


async def _upstream_done(engine: Engine, payload: bytes) -> str:
    """Make a graph whose second member waits to be claimed; returns its id."""
    upstream, member = NewExecution(kind="work"), NewExecution(kind="work", input=payload)
    edge = Edge(source="a", target="b", input="x")
    made = await engine.graphs.submit({"a": upstream, "b": member}, [edge])
    async with engine.executions.claimer(worker="w") as claimer:
        (claim,) = await claimer.claim(1, 30_000)
    await engine.complete(claim.id, claim.lease, b"1")
    return f"{made.id}~b"


async def test_an_input_nested_too_deep_does_not_cost_the_other_claims(engine: Engine) -> None:
    """Its task gets it as it is, and fails as any that gets an input of the wrong form."""
    deep = b'{"y":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    member = await _upstream_done(engine, deep)
    (other,) = await _submit(engine, 1)
    async with engine.executions.claimer(worker="w") as claimer:
        found = {claim.id: claim.input for claim in await claimer.claim(10, 30_000)}
    assert found == {member: deep, other: b"null"}


async def test_an_unknown_error_about_one_claim_does_not_cost_the_others(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is tried again later, and the log has the traceback."""

    def broken(*_args: object) -> bytes:
        raise ArithmeticError("broken")

    monkeypatch.setattr(payloads, "merge", broken)
    member = await _upstream_done(engine, b"null")
    (other,) = await _submit(engine, 1)
    async with engine.executions.claimer(worker="w") as claimer:
        assert [claim.id for claim in await claimer.claim(10, 30_000)] == [other]
    assert (await engine.describe(member)).state is State.DELAYED
    (record,) = [one for one in caplog.records if member in one.message]
    assert record.exc_info is not None


async def test_a_closed_claimer_listens_no_more(engine: Engine) -> None:
    """Its channels are given back, those that another one shares stay."""
    handlers = engine.store.subscriptions._handlers
    async with engine.executions.claimer(worker="w1", lanes=["a", "b"]):
        async with engine.executions.claimer(worker="w2", lanes=["b"]):
            pass
        assert len(handlers) == 2 * engine.store.partitions
    assert not handlers


async def test_a_repeated_claim_gets_its_leases_from_all_partitions(engine: Engine) -> None:
    """Whichever partition the repetition begins with; with a limit of 0 it gets nothing else."""
    await _submit(engine, 60)
    async with engine.executions.claimer(worker="w") as claimer:
        first = await claimer.claim(20, 30_000, request="r")
        for limit in (0, 20):
            again = await claimer.claim(limit, 30_000, request="r", again=True)
            assert sorted(one.id for one in again) == sorted(one.id for one in first)
    others = await _claim_all(engine)
    assert len(others) == 40
    async with engine.executions.claimer(worker="w") as claimer:
        calls = (claimer.claim(0, 30_000, ms, request="unknown", again=True) for ms in (0, 60_000))
        async with asyncio.timeout(10):
            assert await asyncio.gather(*calls) == [[], []]


@pytest.mark.parametrize("tenants", [("a",), ("a", "b")])
async def test_a_repetition_with_a_lower_limit_claims_no_more_than_that(
    engine: Engine, dump: Dump, tenants: tuple[str, ...]
) -> None:
    """Even if it does not say that it is one, and there is work in every partition."""
    for tenant in tenants:
        await _submit(engine, 200, tenant=tenant)
    found = []
    for limit in (60, 1):
        async with engine.executions.claimer(worker="w") as claimer:
            claims = await claimer.claim(limit, 30_000, request="r")
            found.append({claim.id for claim in claims})
    assert len(found[1] - found[0]) <= 1
    assert violations(dump()) == []


async def test_a_broken_partition_does_not_cost_a_worker_its_other_leases(real_url: str) -> None:
    """Its heartbeats renew those of all other partitions."""
    async with open_engine(f"{real_url}&partitions=16") as engine:
        for _ in range(50):
            await engine.submit("work")
        async with engine.claimer(worker="w") as claimer:
            claims = await claimer.claim(50, 30_000)
        tag = engine.store.tag_of(claims[0].id)
        await engine.store.client.call(["DEL", f"{tag}:timers"])
        await engine.store.client.call(["SET", f"{tag}:timers", "broken"])
        beats = engine.beats(timeout_s=5)
        held = [(claim.id, claim.lease) for claim in claims]
        answers = await asyncio.to_thread(beats.renew, held, 60_000)
        await asyncio.to_thread(beats.close)
        for claim, answer in zip(claims, answers, strict=True):
            is_renewed = isinstance(answer, datetime)
            assert is_renewed == (engine.store.tag_of(claim.id) != tag)


async def _claim_all(engine: Engine) -> list[Claim]:
    async with engine.executions.claimer(worker="other") as claimer:
        return await claimer.claim(100, 30_000)
