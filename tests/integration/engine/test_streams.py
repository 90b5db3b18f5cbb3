"""Streams through the engine: appending, the held document, reading live."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from holdfast.engine import Engine
from holdfast.engine import tails as tails_module
from holdfast.engine.tails import Tail
from holdfast.errors import (
    ExecutionNotFound,
    InvalidInput,
    OutcomeUnknown,
    StaleLease,
    TooLarge,
    TooManyTails,
)
from holdfast.model import bounds
from holdfast.model.executions import Claim, Failure, Lease
from holdfast.model.frames import Frame, NewFrame
from holdfast.model.states import State
from holdfast.testing.clock import Clock
from holdfast.testing.polling import wait_for
from tests.support.lifecycle import Dump, claim_one
from tests.support.streaming import running, text


async def start(engine: Engine, **fields: Any) -> Claim:
    """Submit an execution and claim it."""
    made = await engine.submit("work", **fields)
    return await claim_one(engine.store, made.id)


async def say(engine: Engine, claim: Claim, *words: str, **fields: Any) -> None:
    """Append text."""
    await engine.streams.append(claim.id, claim.lease, [text(w, **fields) for w in words])


async def collect(tail: Tail) -> list[Frame]:
    """Read a tail to its end."""
    return [frame async for frame in tail]


def words(frames: list[Frame]) -> str:
    """What was said in text."""
    return "".join(frame.text for frame in frames if frame.type == "text")


@pytest.fixture
async def other(engine: Engine) -> AsyncIterator[Engine]:
    """The engine of another process."""
    other = Engine(engine.store)
    yield other
    await other.close()


# Appending


@pytest.mark.parametrize(
    ("frames", "error"),
    [
        ([], InvalidInput),
        ([text("x")] * (bounds.FRAMES_IN_BATCH + 1), InvalidInput),
        (["x"], InvalidInput),
        ([text("x" * bounds.FRAME_BYTES)] * 65, TooLarge),
        ([text("x"), NewFrame(type="summary", payload=b"{}", place=1)], InvalidInput),
        ([NewFrame(type="summary", payload=b"[]")], InvalidInput),
    ],
)
async def test_a_batch_that_cannot_be_is_refused_whole(
    engine: Engine, dump: Dump, frames: Any, error: type[Exception]
) -> None:
    """Nothing of it is written."""
    claim = await start(engine)
    before = dump()
    with pytest.raises(error):
        await engine.streams.append(claim.id, claim.lease, frames)
    assert dump() == before


@pytest.mark.parametrize(
    "fields",
    [
        {"execution_id": "a b"},
        {"lease": "x"},
        {"key": ""},
        {"key": "x" * (bounds.BATCH_KEY_CHARS + 1)},
    ],
)
async def test_arguments_are_checked(engine: Engine, fields: dict[str, Any]) -> None:
    """Before anything is sent."""
    given: dict[str, Any] = {"execution_id": "x", "lease": Lease("l", 1, 0), "frames": [text("a")]}
    with pytest.raises(InvalidInput):
        await engine.streams.append(**{**given, **fields})


async def test_reading_is_checked(engine: Engine) -> None:
    """Numbers of frames and limits."""
    for fields in ({"after": -1}, {"after": "1"}, {"limit": 0}, {"limit": 1001}):
        with pytest.raises(InvalidInput):
            await engine.streams.read("x", **fields)
    with pytest.raises(InvalidInput):
        await engine.streams.tail("x", after=-1)
    with pytest.raises(ExecutionNotFound):
        await engine.streams.tail("nobody")


async def test_patches_build_a_document(engine: Engine) -> None:
    """In order, across batches, with other frames between them."""
    claim = await start(engine)

    def patch(body: bytes) -> NewFrame:
        return NewFrame(type="summary", payload=body)

    assert (await engine.streams.summary(claim.id)).json() == {}
    frames = [patch(b'{"todo":["a"],"n":{"x":1}}'), text("t"), patch(b'{"n":{"y":2}}')]
    assert (await engine.streams.append(claim.id, claim.lease, frames)).version == 2
    await engine.streams.append(claim.id, claim.lease, [patch(b'{"todo":[],"n":{"x":null}}')])
    found = await engine.streams.summary(claim.id)
    assert (found.document, found.version) == (b'{"todo":[],"n":{"y":2}}', 3)


async def test_patches_of_parallel_calls_are_all_merged(engine: Engine) -> None:
    """A holder with several calls under way loses none of them."""
    claim = await start(engine)
    patches = [NewFrame(type="summary", payload=f'{{"k{n}":{n}}}'.encode()) for n in range(20)]
    await asyncio.gather(
        *(engine.streams.append(claim.id, claim.lease, [patch]) for patch in patches)
    )
    found = await engine.streams.summary(claim.id)
    assert (found.json(), found.version) == ({f"k{n}": n for n in range(20)}, 20)


# Reading live


async def test_a_tail_gives_frames_as_they_come_and_the_end(engine: Engine) -> None:
    """What was there, what is appended, and at last how it ended."""
    claim = await start(engine)
    await say(engine, claim, "a", "b")
    tail = await engine.streams.tail(claim.id)
    assert words(list(await tail.next(5))) == "ab"
    await say(engine, claim, "c", live=True)
    assert words(list(await tail.next(5))) == "c"
    await engine.complete(claim.id, claim.lease, b"1")
    (end,) = await tail.next(5)
    assert (end.type, end.state, end.id) == ("end", State.COMPLETED, 3)
    assert (await tail.next(5), tail.done) == ((), True)
    assert engine.streams.tails.counts() == {}


async def test_an_end_follows_within_moments(live: Engine) -> None:
    """Told, not found by looking."""
    made = await live.submit("work")
    async with live.claimer(worker="w") as claimer:
        (claim,) = await claimer.claim(1, 30_000, 5_000)
    tail = await live.streams.tail(made.id)
    reading = asyncio.ensure_future(collect(tail))
    await say(live, claim, "a")
    started = asyncio.get_running_loop().time()
    await live.fail(made.id, claim.lease, Failure(type="E", message="broken"))
    found = await asyncio.wait_for(reading, 5)
    assert asyncio.get_running_loop().time() - started < tails_module.POLL_S / 5
    assert words(found) == "a"
    assert found[-1].json() == {"state": "failed", "error": {"type": "E", "message": "broken"}}


async def test_a_tail_of_an_ended_execution_gives_all_and_ends(engine: Engine) -> None:
    """Also when there is more than one read brings."""
    claim = await start(engine)
    for batch in range(3):
        await say(engine, claim, *(f"{batch}.{n} " for n in range(400)))
    await engine.complete(claim.id, claim.lease, b"1")
    found = await collect(await engine.streams.tail(claim.id))
    assert [frame.id for frame in found] == [*range(1, 1201), 1200]
    assert [frame.type for frame in found[-2:]] == ["text", "end"]
    (end,) = await collect(await engine.streams.tail(claim.id, after=1200))
    assert end.state is State.COMPLETED


async def test_a_tail_goes_on_after_a_frame(engine: Engine) -> None:
    """Nothing twice, nothing left out, wherever it begins."""
    claim = await start(engine)
    await say(engine, claim, *(str(n) for n in range(10)))
    tails = [await engine.streams.tail(claim.id, after=n) for n in (0, 4, 10, 12)]
    reading = [asyncio.ensure_future(collect(tail)) for tail in tails]
    await say(engine, claim, *"abc")
    await engine.complete(claim.id, claim.lease, b"1")
    found = [words(frames) for frames in await asyncio.gather(*reading)]
    assert found == ["0123456789abc", "456789abc", "abc", "c"]


async def test_tails_of_one_stream_share_its_reads(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred readers cost the store as much as one."""
    claim = await start(engine)
    tails = [await engine.streams.tail(claim.id) for _ in range(100)]
    reading = [asyncio.ensure_future(collect(tail)) for tail in tails]
    calls: list[str] = []
    ask = engine.store.streams.tail

    async def counted(*args: Any) -> Any:
        calls.append("tail")
        return await ask(*args)

    async def never(*args: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(engine.store.streams, "tail", counted)
    monkeypatch.setattr(engine.store.streams, "read", never)
    for n in range(5):
        await say(engine, claim, str(n))
    await engine.complete(claim.id, claim.lease, b"1")
    assert {words(frames) for frames in await asyncio.gather(*reading)} == {"01234"}
    assert len(calls) <= 7


async def test_a_slow_reader_catches_up_by_itself(engine: Engine) -> None:
    """It holds up nobody, and misses nothing that is still there."""
    claim = await start(engine)
    slow, fast = [await engine.streams.tail(claim.id) for _ in range(2)]
    reading = asyncio.ensure_future(collect(fast))
    for batch in range(4):
        await say(engine, claim, *(f"{batch}.{n} " for n in range(500)))
    await engine.complete(claim.id, claim.lease, b"1")
    assert len(await reading) == 2001
    found = await collect(slow)
    assert [frame.id for frame in found] == [*range(1, 2001), 2000]


async def test_a_reader_that_is_behind_what_was_dropped_goes_on_with_what_is_there(
    engine: Engine,
) -> None:
    """The numbers show that something is missing."""
    await engine.streams.set_bounds(frames=10)
    claim = await start(engine)
    slow = await engine.streams.tail(claim.id)
    for batch in range(3):
        await say(engine, claim, *(f"{batch}.{n} " for n in range(600)))
    await engine.complete(claim.id, claim.lease, b"1")

    async def has_ended() -> bool:
        return slow._feed.end is not None

    await wait_for(has_ended)
    found = await collect(slow)
    ids = [frame.id for frame in found]
    assert ids == sorted(ids)
    assert ids[-2:] == [1800, 1800]
    assert found[-1].type == "end"


async def test_a_tail_spans_attempts(engine: Engine, clock: Clock) -> None:
    """The worker dies, another takes over: the boundary is a frame, the tail goes on."""
    made = await engine.submit("work")
    claim = await claim_one(engine.store, made.id, lease_ms=1_000)
    tail = await engine.streams.tail(made.id)
    reading = asyncio.ensure_future(collect(tail))
    await say(engine, claim, "half an ans")
    await clock.advance_and_tick(1_000)
    with pytest.raises(StaleLease):
        await say(engine, claim, "wer")
    claim = await claim_one(engine.store, made.id)
    await say(engine, claim, "the answer")
    await engine.complete(made.id, claim.lease, b"1")
    found = [(frame.attempt, frame.type) for frame in await reading]
    assert found == [(0, "text"), (1, "attempt"), (1, "text"), (1, "end")]


async def test_a_lost_message_is_made_up_for(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failover loses messages; the slow look finds frames and ends."""
    monkeypatch.setattr(tails_module, "POLL_S", 0.05)
    monkeypatch.setattr(engine.streams.tails, "_on_message", lambda _: None)
    engine.streams.tails._mailbox._handle = lambda _: None
    claim = await start(engine)
    tail = await engine.streams.tail(claim.id)
    reading = asyncio.ensure_future(collect(tail))
    await say(engine, claim, "a")
    await engine.complete(claim.id, claim.lease, b"1")
    assert words(await asyncio.wait_for(reading, 10)) == "a"


async def test_an_execution_that_is_removed_ends_its_tails(engine: Engine, clock: Clock) -> None:
    """With an error that says so."""
    claim = await start(engine, retention_ms=0)
    tail = await engine.streams.tail(claim.id)
    engine.streams.tails._mailbox._handle = lambda _: None
    await engine.complete(claim.id, claim.lease, b"1")
    await clock.advance_and_tick(1)
    tail._feed.nudge()
    with pytest.raises(ExecutionNotFound):
        await tail.next(5)
    assert engine.streams.tails.counts() == {}


async def test_no_frame_within_the_time_is_none(engine: Engine) -> None:
    """So that a server can say that it is still there."""
    claim = await start(engine)
    tail = await engine.streams.tail(claim.id)
    assert await tail.next(0.01) == ()
    assert not tail.done
    await say(engine, claim, "a")
    assert words(list(await tail.next(5))) == "a"
    tail.close()
    assert engine.streams.tails.counts() == {}


async def test_two_processes_read_the_same_stream(engine: Engine, other: Engine) -> None:
    """Each is told by itself."""
    claim = await start(engine)
    reading = [
        asyncio.ensure_future(collect(await one.streams.tail(claim.id))) for one in (engine, other)
    ]
    await say(engine, claim, "a")
    await engine.complete(claim.id, claim.lease, b"1")
    assert [words(frames) for frames in await asyncio.gather(*reading)] == ["a", "a"]


async def test_a_replay_can_be_read_again(engine: Engine) -> None:
    """A tail ended with the first run; the next one goes on after its frames."""
    claim = await start(engine)
    await say(engine, claim, "a")
    await engine.complete(claim.id, claim.lease, b"1")
    first = await collect(await engine.streams.tail(claim.id))
    await engine.replay(claim.id)
    tail = await engine.streams.tail(claim.id, after=first[-1].id)
    claim = await claim_one(engine.store, claim.id)
    await say(engine, claim, "b")
    await engine.complete(claim.id, claim.lease, b"1")
    assert [frame.type for frame in await collect(tail)] == ["attempt", "text", "end"]


async def test_readers_are_found_by_an_opening_under_way(engine: Engine) -> None:
    """Many at once make one feed."""
    claim = await start(engine)
    tails = await asyncio.gather(*(engine.streams.tail(claim.id) for _ in range(20)))
    assert len({id(tail._feed) for tail in tails}) == 1
    for tail in tails:
        tail.close()
    assert engine.streams.tails._feeds == {}


# How many


async def test_a_tenant_has_so_many_tails_at_most(engine: Engine) -> None:
    """The next is refused, with a hint; one that is closed makes room. Others are not affected."""
    await engine.streams.set_tails(3, tenant="acme")
    claims = [await start(engine, tenant="acme") for _ in range(2)]
    stranger = await start(engine, tenant="other")
    tails = [await engine.streams.tail(claims[n % 2].id) for n in range(3)]
    with pytest.raises(TooManyTails) as refused:
        await engine.streams.tail(claims[0].id)
    assert refused.value.code == "too_many_tails"
    assert refused.value.context == {"tenant": "acme", "retry_after_ms": 1_000}
    assert await engine.streams.tail(stranger.id)
    tails[0].close()
    assert await engine.streams.tail(claims[0].id)
    assert engine.streams.tails.counts() == {"acme": 3, "other": 1}


async def test_a_tenant_has_at_least_fifty_by_default(engine: Engine) -> None:
    """As the API promises."""
    claim = await start(engine)
    for _ in range(tails_module.TAILS_PER_TENANT):
        await engine.streams.tail(claim.id)
    assert tails_module.TAILS_PER_TENANT >= 50
    with pytest.raises(TooManyTails):
        await engine.streams.tail(claim.id)


async def test_a_refused_reader_leaves_nothing_behind(engine: Engine) -> None:
    """No feed that nobody reads."""
    await engine.streams.set_tails(0)
    claim = await start(engine)
    with pytest.raises(TooManyTails):
        await engine.streams.tail(claim.id)
    assert engine.streams.tails._feeds == {}
    await engine.streams.set_tails(None)
    assert await engine.streams.tail(claim.id)


async def test_a_full_process_is_shared_between_tenants(engine: Engine) -> None:
    """The tenant with the most makes room for others, and is told to come back."""
    engine.streams.tails.most = 4
    greedy, modest = await start(engine, tenant="greedy"), await start(engine, tenant="modest")
    first, *rest = [await engine.streams.tail(greedy.id) for _ in range(4)]
    with pytest.raises(TooManyTails):
        await engine.streams.tail(greedy.id)
    assert await engine.streams.tail(modest.id)
    (hint,) = await first.next(5)
    assert (hint.type, hint.json()) == ("retry", {"after_ms": 1_000})
    assert await engine.streams.tail(modest.id)
    with pytest.raises(TooManyTails):
        await engine.streams.tail(modest.id)
    assert engine.streams.tails.counts() == {"greedy": 2, "modest": 2}
    assert [tail.done for tail in rest] == [False] * 3


async def test_a_process_that_stops_lets_its_readers_go(engine: Engine, other: Engine) -> None:
    """They get what is there and a hint, and can go on elsewhere where they were."""
    claim = await start(engine)
    await say(engine, claim, "a")
    tails = [await engine.streams.tail(claim.id) for _ in range(3)]
    assert words(list(await tails[0].next(5))) == "a"
    engine.streams.drain()
    found = [await asyncio.wait_for(collect(tail), 5) for tail in tails]
    assert [[frame.type for frame in frames] for frames in found] == [
        ["retry"],
        ["text", "retry"],
        ["text", "retry"],
    ]
    with pytest.raises(TooManyTails):
        await engine.streams.tail(claim.id)
    await say(engine, claim, "b")
    await engine.complete(claim.id, claim.lease, b"1")
    last = found[0][-1].id
    assert words(await collect(await other.streams.tail(claim.id, after=last))) == "b"


@pytest.mark.parametrize(
    "fields",
    [{"frames": 0}, {"size": 1}, {"age_ms": 0}, {"tenant": "a b"}, {"frames": "1"}],
)
async def test_bounds_are_checked(engine: Engine, fields: dict[str, Any]) -> None:
    """Before they are written anywhere."""
    with pytest.raises(InvalidInput):
        await engine.streams.set_bounds(**fields)


async def test_an_append_of_unknown_outcome_can_be_repeated(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same key the frames are there once."""
    claim = await running(engine.store)
    ask = engine.store.streams.append
    lost = True

    async def lose(*args: Any, **kwargs: Any) -> Any:
        nonlocal lost
        answer = await ask(*args, **kwargs)
        if lost:
            lost = False
            raise OutcomeUnknown("the reply was lost")
        return answer

    monkeypatch.setattr(engine.store.streams, "append", lose)
    with pytest.raises(OutcomeUnknown):
        await engine.streams.append(claim.id, claim.lease, [text("a")], key="k")
    await engine.streams.append(claim.id, claim.lease, [text("a")], key="k")
    page = await engine.streams.read(claim.id)
    assert [frame.text for frame in page.frames] == ["a"]


async def test_a_tail_that_comes_while_another_has_just_opened_lets_it_finish(
    engine: Engine,
) -> None:
    """It waits without keeping the event loop from the one that it waits for."""
    execution_id = (await engine.submit("k")).id
    tails = engine.streams.tails
    loop = asyncio.get_running_loop()
    opened = loop.create_future()
    opened.set_result(None)
    tails._opening[execution_id] = opened
    loop.call_soon(tails._opening.clear)
    (await engine.streams.tail(execution_id)).close()
