"""hf_stream_append_all."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.errors import ExecutionNotFound, StaleLease
from holdfast.model.executions import Failure, Lease
from holdfast.model.frames import Appended, NewFrame, Summary
from holdfast.model.ids import new_id
from holdfast.model.moments import from_ms
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import (
    WAYS_TO_LOSE,
    Dump,
    claim_in,
    claim_one,
    complete_one,
    create_together,
    lose_lease,
    refused,
)
from tests.support.streaming import append, read_all, running, said, text

AT_ONCE = RetryPolicy(max_attempts=5, backoff=Backoff(kind="fixed", initial_ms=0))
FAILURE = Failure(type="E", message="m")


async def test_frames_are_numbered_in_order(store: Store, clock: Clock) -> None:
    """From 1, over all batches; each has the time of the store."""
    claim = await running(store)
    assert await append(store, claim, "a", "b") == Appended(first=1, last=2, version=0)
    await clock.advance(7)
    assert await append(store, claim, "c") == Appended(first=3, last=3, version=0)
    found = await read_all(store, claim.id)
    assert [(frame.id, frame.text) for frame in found] == [(1, "a"), (2, "b"), (3, "c")]
    assert [frame.at for frame in found] == [from_ms(clock.now_ms - 7)] * 2 + [clock.now]


@pytest.mark.parametrize("payload", [b"", b"\x00\xff", b"y" * 65_536])
async def test_a_payload_comes_back_byte_for_byte(store: Store, payload: bytes) -> None:
    """Type and encoding too."""
    claim = await running(store)
    frames = [
        NewFrame(type="bytes", payload=payload),
        NewFrame(type="bytes", payload=payload, encoding="gzip", live=True),
    ]
    await store.streams.append(claim.id, claim.lease, frames, key=new_id())
    first, second = await read_all(store, claim.id)
    assert (first.type, first.payload, first.encoding, first.live) == (
        "bytes",
        payload,
        None,
        False,
    )
    assert (second.payload, second.encoding, second.live) == (payload, "gzip", True)


async def test_an_attempt_opens_with_a_frame_of_its_own(store: Store) -> None:
    """Every attempt but the first; what it repeats can be told from what was said before."""
    claim = await running(store, retry=AT_ONCE)
    await append(store, claim, "a")
    await store.executions.fail(claim.id, claim.lease, FAILURE)
    claim = await claim_one(store, claim.id)
    assert await append(store, claim, "b") == Appended(first=3, last=3, version=0)
    assert await said(store, claim.id) == [
        (1, 0, "text", "a"),
        (2, 1, "attempt", '{"attempt":1,"kind":"retry"}'),
        (3, 1, "text", "b"),
    ]


async def test_the_frame_of_an_attempt_is_there_when_it_is_claimed(store: Store) -> None:
    """Once something was streamed; also of attempts that stream nothing."""
    claim = await running(store, retry=AT_ONCE)
    await append(store, claim, "a")
    for _ in range(2):
        await store.executions.fail(claim.id, claim.lease, FAILURE)
        claim = await claim_one(store, claim.id)
    kinds = [(frame.attempt, frame.type) for frame in await read_all(store, claim.id)]
    assert kinds == [(0, "text"), (1, "attempt"), (2, "attempt")]


async def test_the_first_frame_of_a_late_attempt_says_which_it_is(store: Store) -> None:
    """Nothing was streamed before, so nothing is known of earlier attempts."""
    claim = await running(store, retry=AT_ONCE)
    for _ in range(2):
        await store.executions.fail(claim.id, claim.lease, FAILURE)
        claim = await claim_one(store, claim.id)
    await append(store, claim, "a")
    assert [(f[1], f[2]) for f in await said(store, claim.id)] == [(2, "attempt"), (2, "text")]


async def test_an_execution_that_streams_nothing_has_no_stream(store: Store, dump: Dump) -> None:
    """Not a key, not a field."""
    execution_id = await complete_one(store)
    assert not [key for key in dump() if f":{execution_id}" in key and ":x:" not in key]
    assert b"streamed" not in next(v for k, v in dump().items() if k.endswith(f":x:{execution_id}"))  # type: ignore[operator]


async def test_a_replay_goes_on_with_the_numbers(store: Store) -> None:
    """Frames of earlier runs are kept, the next run is marked."""
    claim = await running(store)
    await append(store, claim, "a")
    await store.executions.complete(claim.id, claim.lease, b"1")
    await store.executions.replay(claim.id, keep_steps=False, from_step="", reason="")
    claim = await claim_one(store, claim.id)
    await append(store, claim, "b")
    assert await said(store, claim.id) == [
        (1, 0, "text", "a"),
        (2, 1, "attempt", '{"attempt":1,"kind":"replay"}'),
        (3, 1, "text", "b"),
    ]


async def test_an_attempt_that_goes_on_is_not_marked(store: Store) -> None:
    """A delay keeps the attempt."""
    claim = await running(store)
    await append(store, claim, "a")
    await store.executions.delay(claim.id, claim.lease, 0)
    claim = await claim_one(store, claim.id)
    await append(store, claim, "b")
    assert await said(store, claim.id) == [(1, 0, "text", "a"), (2, 0, "text", "b")]


async def test_a_place_is_written_once_in_an_attempt(store: Store) -> None:
    """A run that goes on says again what it said; a new attempt says all of it."""
    claim = await running(store, retry=AT_ONCE)
    frames = [text("a", place=1), text("b", place=2), text("in a step"), text("c", place=3)]
    send = store.streams.append
    await send(claim.id, claim.lease, frames[:3], key=new_id())
    await store.executions.delay(claim.id, claim.lease, 0)
    claim = await claim_one(store, claim.id)
    answer = await send(claim.id, claim.lease, [*frames[:2], frames[3]], key=new_id())
    assert answer == Appended(first=4, last=4, version=0)
    assert await send(claim.id, claim.lease, frames[:2], key=new_id()) == Appended(
        first=5, last=4, version=0
    )
    assert [f[3] for f in await said(store, claim.id)] == ["a", "b", "in a step", "c"]
    await store.executions.fail(claim.id, claim.lease, FAILURE)
    claim = await claim_one(store, claim.id)
    await send(claim.id, claim.lease, frames[:1], key=new_id())
    assert [f[3] for f in await said(store, claim.id)][-1] == "a"


async def test_a_repeated_batch_gets_its_first_answer(store: Store, dump: Dump) -> None:
    """At once, after more frames, and when the lease is gone."""
    claim = await running(store)
    first = await append(store, claim, "a", "b", key="k")
    for _ in range(2):
        before = dump()
        assert await append(store, claim, "a", "b", key="k") == first
        assert dump() == before
        await append(store, claim, "c")
    await store.executions.complete(claim.id, claim.lease, b"1")
    before = dump()
    assert await append(store, claim, "a", "b", key="k") == first
    assert dump() == before


async def test_keys_of_batches_belong_to_their_execution(store: Store) -> None:
    """Another execution may use the same."""
    one, other = await running(store), await running(store)
    for claim in (one, other):
        await append(store, claim, "a", key="k")
        assert [f[3] for f in await said(store, claim.id)] == ["a"]


@pytest.mark.parametrize("how", WAYS_TO_LOSE)
async def test_only_the_holder_of_the_lease_appends(
    store: Store, clock: Clock, dump: Dump, how: str
) -> None:
    """Whoever lost the lease is told so, and nothing changes."""
    lost = await lose_lease(store, clock, how)
    call = store.streams.append(lost.id, lost.lease, [text("a")], key=new_id())
    await refused(call, lost.error, dump, **lost.context)


async def test_a_patch_comes_with_its_document(store: Store) -> None:
    """The document is the caller's; its version counts the patches."""
    claim = await running(store)
    patch = NewFrame(type="summary", payload=b'{"a":1}')
    answer = await store.streams.append(
        claim.id,
        claim.lease,
        [patch, text("a"), patch],
        key=new_id(),
        patched=Summary(document=b'{"a":1}', version=0),
    )
    assert answer == Appended(first=1, last=3, version=2)
    assert await store.streams.summary(claim.id) == Summary(document=b'{"a":1}', version=2)


async def test_a_patch_of_an_older_document_is_not_written(store: Store, dump: Dump) -> None:
    """The caller gets the document that is there."""
    claim = await running(store)
    patch = NewFrame(type="summary", payload=b'{"a":1}')
    old = Summary(document=b'{"a":1}', version=0)
    await store.streams.append(claim.id, claim.lease, [patch], key=new_id(), patched=old)
    before = dump()
    answer = await store.streams.append(claim.id, claim.lease, [patch], key=new_id(), patched=old)
    assert answer == Summary(document=b'{"a":1}', version=1)
    assert dump() == before


async def test_a_patch_that_was_said_changes_no_document(store: Store) -> None:
    """A run that goes on would else undo what it patched later."""
    claim = await running(store)
    said_once = NewFrame(type="summary", payload=b'{"a":1}', place=1)

    async def patch(document: bytes, version: int) -> None:
        patched = Summary(document=document, version=version)
        await store.streams.append(
            claim.id, claim.lease, [said_once], key=new_id(), patched=patched
        )

    await patch(b'{"a":1}', 0)
    await patch(b'{"a":0}', 1)
    assert await store.streams.summary(claim.id) == Summary(document=b'{"a":1}', version=1)


@pytest.mark.parametrize("tenant", [None, "acme"])
async def test_the_oldest_frames_go_first(store: Store, tenant: str | None) -> None:
    """By count: the last ones stay, the numbers go on."""
    owner = "*" if tenant is None else tenant
    await store.streams.configure({f"stream|{owner}|frames": 40})
    claim = await running(store, tenant=tenant or "other")
    for start in range(0, 200, 50):
        await append(store, claim, *(str(n) for n in range(start, start + 50)))
    assert [f[3] for f in await said(store, claim.id)] == [str(n) for n in range(160, 200)]
    assert (await read_all(store, claim.id))[0].id == 161


async def test_bounds_that_are_narrowed_are_reached_little_by_little(store: Store) -> None:
    """No call drops more than some thousands, so none takes long."""
    claim = await running(store)
    for _ in range(5):
        await append(store, claim, *("x" for _ in range(1000)))
    await store.streams.configure({"stream|*|frames": 10})
    await append(store, claim, "y")
    assert len(await read_all(store, claim.id)) == 5001 - 3200
    await append(store, claim, "z")
    assert [f[3] for f in await said(store, claim.id)] == [*("x" * 8), "y", "z"]


async def test_a_stream_is_bounded_by_its_bytes(store: Store) -> None:
    """The sum of payloads stays within them, exactly."""
    await store.streams.configure({"stream|*|bytes": 100})
    claim = await running(store)
    for n in range(10):
        await append(store, claim, str(n) * 30)
    assert [f[3][0] for f in await said(store, claim.id)] == ["7", "8", "9"]
    await append(store, claim, "x" * 70)
    assert [f[3][0] for f in await said(store, claim.id)] == ["9", "x"]


async def test_a_stream_is_bounded_by_age(store: Store, clock: Clock) -> None:
    """Frames that are too old go when the next ones come."""
    await store.streams.configure({"stream|*|age": 10_000})
    claim = await running(store, attempt_timeout_ms=None)
    for n in range(4):
        await append(store, claim, str(n))
        await clock.advance(4_000)
    assert [f[3] for f in await said(store, claim.id)] == ["1", "2", "3"]


async def test_live_frames_last_for_seconds(store: Store, clock: Clock) -> None:
    """What was sent in the last ten seconds is there, however much that is."""
    claim = await running(store)
    await append(store, claim, "lasting")
    await append(store, claim, *(f"l{n}" for n in range(100)), live=True)
    await clock.advance(6_000)
    await append(store, claim, *(f"m{n}" for n in range(3)), live=True)
    await clock.advance(3_999)
    await append(store, claim, "n", live=True)
    assert len(await said(store, claim.id)) == 105
    await clock.advance(1)
    await append(store, claim, "o", live=True)
    assert [f[3] for f in await said(store, claim.id)] == ["lasting", "m0", "m1", "m2", "n", "o"]


async def test_live_and_lasting_frames_come_in_one_order(store: Store) -> None:
    """They share their numbers."""
    claim = await running(store)
    for n in range(100):
        await append(store, claim, str(n), live=n % 3 == 0)
    found = await said(store, claim.id)
    assert [f[0] for f in found] == list(range(1, 101))
    assert [f[3] for f in found] == [str(n) for n in range(100)]


async def test_a_live_log_that_has_expired_begins_anew(store: Store, dump: Dump) -> None:
    """Its size is counted from what is there."""
    claim = await running(store)
    await append(store, claim, "x" * 60_000, live=True)
    (live,) = (key for key in dump() if f":live:{claim.id}" in key)
    await store.client.call(["DEL", live])
    for _ in range(17):
        await append(store, claim, "y" * 60_000, live=True)
    # Seventeen fit into a MiB; were the lost one counted, sixteen would.
    assert len(await read_all(store, claim.id)) == 17
    await append(store, claim, "y" * 60_000, live=True)
    assert len(await read_all(store, claim.id)) == 17


async def test_all_of_a_stream_goes_with_its_execution(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Retention removes frames, the document and who reads."""
    claim = await running(store, retention_ms=1_000)
    await append(store, claim, "a")
    await append(store, claim, "b", live=True)
    patched = Summary(document=b"{}", version=0)
    patch = NewFrame(type="summary", payload=b"{}")
    await store.streams.append(claim.id, claim.lease, [patch], key=new_id(), patched=patched)
    await store.streams.tail(claim.id, "p", 0, 10)
    await store.executions.complete(claim.id, claim.lease, b"1")
    await clock.advance_and_tick(1_000)
    left = [key for key in dump() if claim.id in key and ":batch:" not in key]
    assert left == []


async def test_each_batch_of_a_call_is_answered_on_its_own(store: Store) -> None:
    """Two streams, a batch that is repeated, a stale holder and an unknown execution."""
    ids = await create_together(store, {}, {})
    held = {claim.id: claim.lease for claim in await claim_in(store, store.tag_of(ids[0]), limit=2)}
    stale = Lease(id="other", epoch=1, attempt=0)
    calls = [
        store.streams.append(ids[0], held[ids[0]], [text("a"), text("b")], key="k"),
        store.streams.append(ids[1], held[ids[1]], [text("c")], key="k"),
        store.streams.append(ids[0], held[ids[0]], [text("a"), text("b")], key="k"),
        store.streams.append(ids[0], stale, [text("d")], key="l"),
        store.streams.append(f"{ids[0]}x", stale, [text("e")], key="l"),
    ]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    both = Appended(first=1, last=2, version=0)
    assert answers[:3] == [both, Appended(first=1, last=1, version=0), both]
    assert [type(answer) for answer in answers[3:]] == [StaleLease, ExecutionNotFound]
    assert [await said(store, name) for name in ids] == [
        [(1, 0, "text", "a"), (2, 0, "text", "b")],
        [(1, 0, "text", "c")],
    ]


async def test_an_execution_that_streamed_ends_as_a_plain_one(store: Store) -> None:
    """A stream is nothing that its end must act on."""
    claim = await running(store)
    await append(store, claim, "a")
    record = f"{store.tag_of(claim.id)}:x:{claim.id}"
    assert await store.client.call(["HGET", record, "plain"]) == b"1"
