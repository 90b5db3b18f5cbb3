"""Only the holder of a writer lease writes: L rows (what must hold), W rows (weaknesses)."""

from __future__ import annotations

import asyncio
import math

import pytest

from holdfast.errors import (
    BackendFailed,
    Fenced,
    Held,
    InvalidInput,
    InvalidRecord,
    LostRace,
    OutcomeUnknown,
    StaleLease,
)
from holdfast.fencing import FencedManifest, Leases, LeaseState, Token, WriterLease, paths
from holdfast.fencing.memory import MemoryObjects
from holdfast.model.writer_leases import LARGEST, Version
from holdfast.testing.polling import wait_for
from tests.support.leases import KEY, LEGACY, ask, write_lease
from tests.support.objects import FakeTimes, Fault, FaultyObjects

# Tokens


async def test_l1_w1_tokens_rise_across_release_loss_and_rollback() -> None:
    """A lease that was lost or restored from an old copy starts above the manifest's token."""
    objects = MemoryObjects()
    leases = Leases(objects)
    tokens = []
    for _ in range(3):
        grant = await leases.acquire(KEY, ask())
        tokens.append(grant.token)
        async with WriterLease(objects, "other"):
            pass
        await leases.release(grant)
    async with WriterLease(objects, KEY, holder="a") as lease:
        await FencedManifest(objects, KEY).open(lease)
        tokens.append(lease.token)
    await objects.delete(paths.lease(KEY))
    tokens.append((await leases.acquire(KEY, ask())).token)
    assert tokens == [Token(1, generation) for generation in range(1, 6)]


async def test_l18_the_term_survives_the_loss_of_the_lease() -> None:
    """The manifest keeps the highest term that ever wrote."""
    objects = MemoryObjects()
    async with WriterLease(objects, KEY, holder="a", term=5) as lease:
        await FencedManifest(objects, KEY).open(lease)
    await objects.delete(paths.lease(KEY))
    with pytest.raises(Fenced) as fenced:
        await Leases(objects).acquire(KEY, ask("b", term=4))
    assert fenced.value.context["current_term"] == 5
    assert (await Leases(objects).acquire(KEY, ask("b"))).token == Token(5, 2)


async def test_w18_generations_end_with_an_error_not_silently() -> None:
    """The largest exact integer is the last generation."""
    objects = MemoryObjects()
    await write_lease(objects, {**LEGACY, "generation": LARGEST, "released": True})
    with pytest.raises(InvalidRecord):
        await Leases(objects).acquire(KEY, ask())


# Who writes


async def test_l2_w2_w14_a_writer_that_lost_its_lease_commits_nothing() -> None:
    """It may upload for minutes; the commit is where it fails, by token and not by clock."""
    objects, times = MemoryObjects(), FakeTimes()
    old = WriterLease(objects, KEY, holder="a", times=times)
    await old.acquire()
    writer = await FencedManifest(objects, KEY).open(old)
    name = await writer.put(b"long upload")
    async with WriterLease(objects, KEY, holder="b", term=2, preempt=True) as new:
        await FencedManifest(objects, KEY).open(new)
    assert old.authority_ms > 0
    with pytest.raises(Fenced):
        await writer.commit(add={name: {}})
    found = await FencedManifest(objects, KEY).read()
    assert found is not None
    assert (found.token, found.objects) == (Token(2, 2), {})
    await old.release()


async def test_an_equal_token_of_another_incarnation_is_fenced() -> None:
    """A token that two processes got by a restored lease object writes only for the first."""
    objects = MemoryObjects()
    first = await Leases(objects).acquire(KEY, ask("a"))

    class Holder:
        token = first.token
        holder = "a"

        def __init__(self, incarnation: str) -> None:
            self.incarnation = incarnation

        def check(self) -> None:
            pass

    await FencedManifest(objects, KEY).open(Holder("a-1"))
    with pytest.raises(Fenced):
        await FencedManifest(objects, KEY).open(Holder("a-2"))


async def test_l3_w3_wall_clocks_decide_nothing() -> None:
    """A contender whose clock is an hour ahead still waits on its own running clock."""
    objects = MemoryObjects()
    await Leases(objects, FakeTimes()).acquire(KEY, ask())
    ahead = FakeTimes(wall_ms=1_700_003_600_000)
    contender = Leases(objects, ahead)
    with pytest.raises(Held):
        await contender.acquire(KEY, ask("b"))
    ahead.offset_ms += 86_400_000
    with pytest.raises(Held):
        await contender.acquire(KEY, ask("b"))


async def test_l4_w4_l10_authority_ends_by_itself() -> None:
    """No refresh and nobody who notices: the deadline passes and writing stops."""
    times = FakeTimes()
    objects = MemoryObjects()
    lease = WriterLease(objects, KEY, ttl_ms=1_000, margin_ms=200, times=times)
    grant = await lease._leases.acquire(KEY, lease._ask)
    lease._grant, lease._state = grant, LeaseState.HELD
    writer = await FencedManifest(objects, KEY, times).open(lease)
    times.now_ms += 799
    lease.check()
    times.now_ms += 1
    with pytest.raises(StaleLease):
        lease.check()
    with pytest.raises(StaleLease):
        await writer.put(b"x")
    with pytest.raises(StaleLease):
        await writer.commit(facts={"x": 1})


async def test_the_deadline_counts_from_before_the_request() -> None:
    """A slow answer uses up the time of the lease."""
    times = FakeTimes()
    objects = FaultyObjects()

    def slow(verb: str, _key: str) -> None:
        times.now_ms += 300 if verb == "put" else 0

    objects.before = slow
    grant = await Leases(objects, times).acquire(KEY, ask())
    assert grant.deadline_ms - times.now_ms == 1_000 - 100 - 300


# Answers that are lost


@pytest.mark.parametrize("operation", ["acquire", "refresh", "release"])
async def test_l6_w6_a_lost_answer_is_found_by_its_nonce(operation: str) -> None:
    """The write happened, its answer did not arrive: it counts."""
    objects = FaultyObjects()
    leases = Leases(objects)
    if operation == "acquire":
        objects.faults.append(Fault("put", "after"))
        assert (await leases.acquire(KEY, ask())).token == Token(1, 1)
        return
    grant = await leases.acquire(KEY, ask())
    objects.faults.append(Fault("put", "after"))
    if operation == "refresh":
        assert (await leases.refresh(grant)).token == grant.token
    else:
        await leases.release(grant)
        assert (await leases.acquire(KEY, ask("b"))).token == Token(1, 2)


async def test_l6_a_refusal_that_is_due_to_our_own_write_is_no_refusal() -> None:
    """A transport that repeats a request gets a conflict with its own success."""

    class Repeating(FaultyObjects):
        async def put_if_absent(self, key: str, body: bytes) -> object:  # type: ignore[override]
            await self.inner.put_if_absent(key, body)
            return await self.inner.put_if_absent(key, body)

    objects = Repeating()
    assert (await Leases(objects).acquire(KEY, ask())).token == Token(1, 1)  # type: ignore[arg-type]


async def test_w6_an_orphaned_acquisition_is_taken_back_at_once() -> None:
    """The write and the look after it both got no answer: the same process tries again."""
    objects = FaultyObjects()
    leases = Leases(objects)
    objects.faults += [Fault("put", "after"), Fault("get", "before", after=2)]
    with pytest.raises(BackendFailed):
        await leases.acquire(KEY, ask())
    assert (await leases.acquire(KEY, ask())).token == Token(1, 2)


async def test_a_failed_refresh_that_came_through_does_not_end_the_lease() -> None:
    """The version moved by our own hand; the next refresh goes on from there."""
    objects = FaultyObjects()
    leases = Leases(objects)
    grant = await leases.acquire(KEY, ask())
    objects.faults += [Fault("put", "after"), Fault("get", "before")]
    with pytest.raises(BackendFailed):
        await leases.refresh(grant)
    assert (await leases.refresh(grant)).token == grant.token


async def test_w5_trouble_is_jeopardy_and_only_a_definite_answer_ends_it() -> None:
    """Writing goes on in jeopardy, and the lease recovers."""
    objects = FaultyObjects()
    async with WriterLease(objects, KEY, ttl_ms=1_000) as lease:
        objects.faults += [Fault("put", "unsent")] * 3
        await wait_for(lambda: _is(lease, LeaseState.JEOPARDY))
        assert lease.view().last_error is not None
        lease.check()
        await wait_for(lambda: _is(lease, LeaseState.HELD))
        lease.check()
        other = Leases(objects)
        await other.acquire(KEY, ask("b", term=2, preempt=True))
        await wait_for(lambda: _is(lease, LeaseState.LOST))
        with pytest.raises(Fenced):
            lease.check()
        await asyncio.wait_for(lease.wait_ended(), 5)


async def _is(lease: WriterLease, state: LeaseState) -> bool:
    return lease.state is state


async def test_a_refresh_that_hangs_is_jeopardy() -> None:
    """L10: a request without an end does not keep the lease."""

    class Hanging(FaultyObjects):
        hang = False

        async def put_if_version(self, key: str, body: bytes, version: object) -> object:  # type: ignore[override]
            if self.hang:
                await asyncio.Event().wait()
            return await super().put_if_version(key, body, version)  # type: ignore[arg-type]

    objects = Hanging()
    lease = WriterLease(objects, KEY, ttl_ms=1_000, margin_ms=400)  # type: ignore[arg-type]
    async with lease:
        objects.hang = True
        await wait_for(lambda: _is(lease, LeaseState.JEOPARDY))
        await wait_for(lambda: _no_authority(lease))
        with pytest.raises(StaleLease):
            lease.check()
        objects.hang = False
        await wait_for(lambda: _is(lease, LeaseState.HELD))
        lease.check()


async def _no_authority(lease: WriterLease) -> bool:
    return lease.authority_ms == 0


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_commit_with_an_unclear_answer_happens_once(when: str) -> None:
    """It is sent again until it is clear, and the nonce tells."""
    objects = FaultyObjects()
    async with WriterLease(objects, KEY) as lease:
        writer = await FencedManifest(objects, KEY).open(lease)
        name = await writer.put(b"1")
        objects.faults.append(Fault("put", when))
        snapshot = await writer.commit(add={name: {}})
        assert snapshot.sequence == 1
        found = await FencedManifest(objects, KEY).read()
        assert found is not None
        assert (found.sequence, found.nonce) == (1, snapshot.nonce)


async def test_a_commit_whose_fate_stays_unclear_says_so() -> None:
    """Time ran out between the request and its answer: open again and look."""
    times = FakeTimes()
    objects = FaultyObjects()
    lease = WriterLease(objects, KEY, ttl_ms=1_000, times=times)
    lease._grant = await lease._leases.acquire(KEY, lease._ask)
    lease._state = LeaseState.HELD
    manifest = FencedManifest(objects, KEY, times)
    writer = await manifest.open(lease)
    objects.faults += [Fault("put", "before")] * 50
    with pytest.raises(OutcomeUnknown):
        await writer.commit(facts={"x": 1})
    with pytest.raises(LostRace):
        await writer.commit(facts={"x": 2})


# Identity


async def test_l8_w9_w11_the_same_name_is_not_the_same_holder() -> None:
    """Two containers of one name exclude each other; only its incarnation re-enters."""
    leases = Leases(MemoryObjects())
    first = await leases.acquire(KEY, ask("host", "1"))
    with pytest.raises(Held):
        await leases.acquire(KEY, ask("host", "2"))
    again = await leases.acquire(KEY, ask("host", "1"))
    assert again.token > first.token


async def test_l9_w10_every_caller_finds_the_same_object() -> None:
    """There is one resolver of keys."""
    objects = MemoryObjects()
    async with WriterLease(objects, KEY, holder="a"):
        with pytest.raises(Held):
            await Leases(objects).acquire(KEY, ask("b"))
    assert [entry.key async for entry in objects.list("")] == [f"leases/{KEY}.lease.json"]


@pytest.mark.parametrize("key", ["", "/", "a//b", "../b", "a/..", ".", "x.lease.json/b", "a/", 7])
async def test_w17_keys_cannot_leave_their_place(key: object) -> None:
    """Names with dots only and empty names are refused."""
    with pytest.raises(InvalidInput):
        await Leases(MemoryObjects()).acquire(key, ask())  # type: ignore[arg-type]


async def test_w17_strange_characters_are_encoded() -> None:
    """So no two keys share a place."""
    objects = MemoryObjects()
    for key in ("a b", "a\\b", "ü", "a=20b"):
        await Leases(objects).acquire(key, ask())
    places = {entry.key async for entry in objects.list("")}
    assert places == {f"leases/{key}.lease.json" for key in ("a=20b", "a=5cb", "=c3=bc", "a=3d20b")}


@pytest.mark.parametrize(
    "fields", [{"ttl_ms": 999}, {"ttl_ms": 1_000, "margin_ms": 501}, {"wait_s": -1}]
)
def test_w12_a_lease_that_cannot_be_kept_is_refused(fields: dict[str, int]) -> None:
    """The margin leaves time for several refreshes."""
    with pytest.raises(InvalidInput):
        WriterLease(MemoryObjects(), KEY, **fields)  # type: ignore[arg-type]


async def test_l19_a_refresh_compares_token_and_incarnation() -> None:
    """An older grant of the same process extends nothing."""
    leases = Leases(MemoryObjects())
    first = await leases.acquire(KEY, ask())
    second = await leases.acquire(KEY, ask())
    with pytest.raises(StaleLease):
        await leases.refresh(first)
    higher = await leases.acquire(KEY, ask("b", term=3, preempt=True))
    with pytest.raises(Fenced) as fenced:
        await leases.refresh(second)
    assert fenced.value.context["current_term"] == 3
    await leases.refresh(higher)


# Taking over and giving up


async def test_the_term_fences_before_anything_else() -> None:
    """Even a released lease is not for a term that is behind."""
    leases = Leases(MemoryObjects())
    grant = await leases.acquire(KEY, ask(term=5))
    await leases.release(grant)
    with pytest.raises(Fenced):
        await leases.acquire(KEY, ask("b", term=4))
    assert (await leases.acquire(KEY, ask("b", term=5))).token == Token(5, 2)


async def test_w16_only_a_strictly_higher_term_preempts() -> None:
    """Not the same, not without asking for it."""
    leases = Leases(MemoryObjects())
    await leases.acquire(KEY, ask(term=2))
    for fields in ({"term": 2, "preempt": True}, {"term": 3}):
        with pytest.raises(Held):
            await leases.acquire(KEY, ask("b", **fields))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        await leases.acquire(KEY, ask("b", preempt=True))
    taken = await leases.acquire(KEY, ask("b", term=3, preempt=True))
    assert taken.token == Token(3, 2)
    assert [past.ended for past in taken.record.holders] == ["preempted"]


async def test_a_hand_over_leaves_no_gap() -> None:
    """The successor takes it at once; others, the former holder too, wait as if it were held."""
    times = FakeTimes()
    leases = Leases(MemoryObjects(), times)
    grant = await leases.acquire(KEY, ask("a"))
    await leases.hand_over(grant, "b")
    for other in ("a", "c"):
        with pytest.raises(Held) as held:
            await leases.acquire(KEY, ask(other))
        assert held.value.context["successor"] == "b"
    with pytest.raises(StaleLease):
        await leases.refresh(grant)
    taken = await leases.acquire(KEY, ask("b"))
    assert (taken.token, taken.record.holders[-1].ended) == (Token(1, 2), "handed_over")


async def test_a_successor_that_never_comes_blocks_nobody_for_long() -> None:
    """After the usual patience anybody may have it."""
    times = FakeTimes()
    leases = Leases(MemoryObjects(), times)
    await leases.hand_over(await leases.acquire(KEY, ask("a")), "b")
    with pytest.raises(Held):
        await leases.acquire(KEY, ask("c"))
    times.now_ms += 1_100
    assert (await leases.acquire(KEY, ask("c"))).token == Token(1, 2)


async def test_l11_w13_release_is_the_last_step() -> None:
    """While the block still writes, the lease is refreshed; it is released after the block."""
    objects = FaultyObjects()
    async with WriterLease(objects, KEY, holder="a") as lease:
        writer = await FencedManifest(objects, KEY).open(lease)
        await writer.commit(facts={"last": True})
    puts = [key for verb, key in objects.calls if verb == "put" and not key.startswith("probe")]
    assert puts == [paths.lease(KEY), *[paths.manifest(KEY)] * 2, paths.lease(KEY)]
    assert (await Leases(objects).acquire(KEY, ask("b"))).token == Token(1, 2)
    assert lease.state is LeaseState.RELEASED
    with pytest.raises(StaleLease):
        lease.check()


async def test_a_release_that_fails_does_not_hide_the_result_of_the_block() -> None:
    """Others wait until it expires; nobody is harmed."""
    objects = FaultyObjects()
    async with WriterLease(objects, KEY):
        objects.faults.append(Fault("put", "unsent"))
    assert objects.faults == []


async def test_a_process_stands_by_until_the_holder_releases() -> None:
    """Waiting ends soon after the release, long before the lease would have expired."""
    objects = MemoryObjects()
    async with WriterLease(objects, KEY, holder="a", ttl_ms=60_000):
        standby = WriterLease(objects, KEY, holder="b", wait_s=math.inf)
        waiting = asyncio.ensure_future(standby.acquire())
        await asyncio.sleep(0)
        with pytest.raises(Held):
            await WriterLease(objects, KEY, holder="c").acquire()
    assert await asyncio.wait_for(waiting, 5) == Token(1, 2)
    await standby.release()


async def test_being_told_of_a_higher_term_ends_the_lease_without_a_request() -> None:
    """Somebody who knows the cluster's term fences its deposed leader."""
    objects = FaultyObjects()
    async with WriterLease(objects, KEY, term=4) as lease:
        lease.fence(4)
        lease.check()
        before = len(objects.calls)
        lease.fence(5)
        with pytest.raises(Fenced):
            lease.check()
        assert len(objects.calls) == before


async def test_a_contender_that_tries_again_and_again_gets_a_dead_holders_lease() -> None:
    """What one try has seen counts for the next, in the same process, also without waiting."""
    objects, times = MemoryObjects(), FakeTimes()
    await Leases(objects, times).acquire(KEY, ask())

    async def attempt() -> bool:
        try:
            async with WriterLease(objects, KEY, holder="b", times=times):
                return True
        except Held:
            return False

    assert not await attempt()
    times.now_ms += 100_000
    assert await attempt()


class StuckOnce(MemoryObjects):
    """An object storage of which one write of a lease hangs, also when it is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.cancelled = asyncio.Event(), asyncio.Event()

    async def put_if_version(self, key: str, body: bytes, version: Version) -> Version:
        """Replace this version."""
        if key == paths.lease(KEY) and not self.reached.is_set():
            self.reached.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled.set()
                await asyncio.Event().wait()
        return await super().put_if_version(key, body, version)


async def test_a_release_that_is_cancelled_ends_as_cancelled() -> None:
    """Otherwise its caller would continue, and what waits for its end would wait for ever."""
    objects = StuckOnce()
    lease = WriterLease(objects, KEY, holder="a", ttl_ms=60_000, times=FakeTimes())
    await lease.acquire()
    await objects.reached.wait()
    releasing = asyncio.create_task(lease.release())
    await objects.cancelled.wait()
    releasing.cancel()
    await asyncio.wait([releasing])
    assert releasing.cancelled()
