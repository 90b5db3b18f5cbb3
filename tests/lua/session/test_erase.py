"""hf_session_erase, and the end of a session's retention."""

from __future__ import annotations

import itertools

import pytest

from holdfast.errors import ExecutionNotFound, SessionNotFound
from holdfast.model.sessions import Effect
from holdfast.model.states import State
from holdfast.store.restrictions import restricted
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_one, refused, state_of
from tests.support.mailbox import Mailbox
from tests.support.sessions import (
    begin,
    deliver,
    entries,
    key_of,
    park,
    reply,
    session,
    session_of,
    turn,
)
from tests.support.waits import record_calls, suspend

DAY_MS = 86_400_000


def left_of(dump: dict[str, object], session_id: str) -> list[str]:
    """The keys that mention a session, and those that list it, but not that it was erased."""
    name = session_id.encode()
    return [
        key
        for key, value in dump.items()
        if (session_id in key and not key.endswith(f":E:{session_id}"))
        or (isinstance(value, dict | set | list) and any(name in bytes(one) for one in value))
    ]


@pytest.mark.parametrize("moment", ["runs", "waits", "approval", "ended", "person"])
async def test_nothing_is_left(
    store: Store, clock: Clock, dump: Dump, mailbox: Mailbox, moment: str
) -> None:
    """Neither of the session nor of its executions: no key, no list, no timer."""
    claim = await begin(store, sender="web", tags={"team": "red"}, deadline_ms=DAY_MS)
    session_id = session_of(claim)
    await store.sessions.read(session_id, process=mailbox.process)
    await turn(store, claim, "x" * 100)
    opened = [reply("say:open", "", open=True)]
    await store.sessions.turn(claim.id, claim.lease, opened, None)
    await store.sessions.state(claim.id, claim.lease, "s", "name", op="set", value=b"1")
    await deliver(store, "two", sender="web")
    tag = store.tag_of(claim.id)
    await store.sessions.outgoing(tag, "f", ["web"], lease_ms=60_000, limit=1)
    await store.sessions.settle(session_id, "f", 2, "dead", lease_ms=0, error="no")
    if moment == "waits":
        await turn(store, claim, wait="receive:1")
        await turn(store, claim, wait="receive:2", timeout_ms=1_000)
    elif moment == "approval":
        await suspend(store, claim, "gate")
    elif moment == "ended":
        await store.executions.complete(claim.id, claim.lease, b"null")
    elif moment == "person":
        await store.sessions.handover(session_id, "eve")
    assert violations(dump(), clock.now_ms) == []
    await store.sessions.erase(session_id)
    assert left_of(dump(), session_id) == []
    assert violations(dump(), clock.now_ms) == []
    with pytest.raises(ExecutionNotFound):
        await store.queries.describe(claim.id)


async def test_a_session_with_many_executions_is_erased_piece_by_piece(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """A call removes a hundred, and the first one what no group has received."""
    for n in range(101):
        claim = await begin(store, str(n))
        await store.executions.complete(claim.id, claim.lease, b"null")
    claim = await begin(store)
    assert (await deliver(store)).effect is Effect.BUFFERED
    session_id = session_of(claim)
    tag = store.tag_of(session_id)
    assert await store.caller.write("hf_session_erase", tag, session_id) == [1]
    assert (await session(store, session_id)).buffered == 0
    assert violations(dump(), clock.now_ms) == []
    assert await store.caller.write("hf_session_erase", tag, session_id) == [0]
    assert left_of(dump(), session_id) == []


async def test_a_repeated_call_gets_the_first_answer(store: Store, dump: Dump) -> None:
    """Of the same tenant; to others there was never such a session."""
    session_id = (await deliver(store, tenant="acme")).session
    calls = record_calls(store)
    await store.sessions.erase(session_id)
    before = dump()
    assert await calls.again() == [0]
    await store.sessions.erase(session_id)
    with restricted("acme", [session_id]):
        await store.sessions.erase(session_id)
    with restricted("other", [session_id]):
        await refused(store.sessions.erase(session_id), SessionNotFound, dump, id=session_id)
    with pytest.raises(SessionNotFound):
        await session(store, session_id)
    assert dump() == before


async def test_the_next_message_begins_anew(store: Store, clock: Clock, dump: Dump) -> None:
    """The same key is the same id, but nothing is known of before; others are untouched."""
    claim = await begin(store, id="m1")
    await deliver(store, user="bob")
    await store.sessions.erase(session_of(claim))
    delivered = await deliver(store, id="m1")
    assert (delivered.number, delivered.effect, delivered.duplicate) == (1, Effect.STARTED, False)
    assert delivered.execution == claim.id
    assert violations(dump(), clock.now_ms) == []


async def test_an_unknown_session(store: Store, dump: Dump) -> None:
    """There is nothing to erase."""
    await refused(store.sessions.erase("snobody"), SessionNotFound, dump, id="snobody")


# Retention


async def test_a_session_is_kept_for_thirty_days(store: Store, clock: Clock, dump: Dump) -> None:
    """After its last entry, when nothing runs."""
    claim = await begin(store)
    session_id = session_of(claim)
    await store.executions.complete(claim.id, claim.lease, b"null")
    await clock.advance_and_tick(29 * DAY_MS)
    await store.sessions.say(session_id, "k", "eve", b"{}")
    await clock.advance_and_tick(29 * DAY_MS)
    assert len(await entries(store, session_id)) == 2
    assert violations(dump(), clock.now_ms) == []
    await clock.advance_and_tick(DAY_MS)
    assert left_of(dump(), session_id) == []
    assert violations(dump(), clock.now_ms) == []


async def test_a_conversation_that_waits_keeps_its_session(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """For years, without a timer; from its end on the time counts."""
    await store.lanes.set_retention("default", {"session": 60_000})
    claim = await park(store)
    session_id = session_of(claim)
    await clock.advance_and_tick(400 * DAY_MS)
    assert (await session(store, session_id)).execution == claim.id
    await deliver(store, "two")
    again = await claim_one(store, claim.id)
    await store.executions.complete(again.id, again.lease, b"null")
    delivered = await deliver(store, "three")
    await clock.advance_and_tick(60_000)
    assert (await session(store, session_id)).execution == delivered.execution
    await store.sessions.finish(session_id, "")
    assert violations(dump(), clock.now_ms) == []
    await clock.advance_and_tick(60_000)
    with pytest.raises(SessionNotFound):
        await session(store, session_id)
    assert violations(dump(), clock.now_ms) == []


async def test_executions_may_outlive_their_session(store: Store, clock: Clock, dump: Dump) -> None:
    """A new session of the same key takes other numbers."""
    await store.lanes.set_retention("default", {"session": 60_000})
    claim = await begin(store)
    await store.executions.complete(claim.id, claim.lease, b"null")
    await clock.advance_and_tick(60_000)
    assert await state_of(store, claim.id) is State.COMPLETED
    await refused(
        store.executions.replay(claim.id, keep_steps=True, from_step="", reason=""),
        SessionNotFound,
        dump,
        id=session_of(claim),
    )
    delivered = await deliver(store, "again")
    assert delivered.execution == f"{delivered.session}~2"
    assert (await entries(store, delivered.session))[0].execution == delivered.execution
    assert violations(dump(), clock.now_ms) == []


@pytest.mark.parametrize("number", [100, 500])
async def test_an_execution_of_long_ago_may_outlive_its_session(
    store: Store, clock: Clock, number: int
) -> None:
    """Many came after it, and all of them are gone."""
    await store.lanes.set_retention("default", {"session": 60_000})
    claim = await begin(store)
    await store.executions.complete(claim.id, claim.lease, b"null")
    key = f"{store.tag_of(claim.id)}:S:{session_of(claim)}"
    await store.client.call(("HSET", key, "n", str(number)))
    await clock.advance_and_tick(60_000)
    assert await state_of(store, claim.id) is State.COMPLETED
    delivered = await deliver(store, "again")
    assert delivered.execution == f"{delivered.session}~{number + 1}"


async def test_an_execution_that_waits_for_the_archive_outlives_its_session(
    store: Store, clock: Clock
) -> None:
    """Nobody knows for how long, so its number is kept for a month."""
    await store.archives.set_url("file:///nowhere")
    await store.lanes.set_retention("default", {"session": 60_000, "completed": 1_000})
    claim = await begin(store)
    await store.executions.complete(claim.id, claim.lease, b"null")
    await clock.advance_and_tick(60_000)
    assert await state_of(store, claim.id) is State.COMPLETED
    numbers = f"{store.tag_of(claim.id)}:N:{session_of(claim)}"
    assert 30 * DAY_MS < await store.client.call(("PTTL", numbers)) <= 31 * DAY_MS


async def test_the_number_of_a_long_session_is_kept_for_the_longest_retention(
    store: Store, clock: Clock
) -> None:
    """One of its first executions may be kept for as long."""
    retention = {"session": 60_000, "failed": 40 * DAY_MS}
    await store.lanes.set_retention("default", retention)
    claim = await begin(store)
    await store.executions.complete(claim.id, claim.lease, b"null")
    tag = store.tag_of(claim.id)
    await store.client.call(("HSET", f"{tag}:S:{session_of(claim)}", "n", "500"))
    await clock.advance_and_tick(60_000)
    numbers = f"{tag}:N:{session_of(claim)}"
    assert 40 * DAY_MS < await store.client.call(("PTTL", numbers)) <= 41 * DAY_MS


async def test_erasing_a_new_session_removes_executions_of_the_one_before(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Those that outlived it, also if its first one is gone: the numbers continue after them."""
    await store.lanes.set_retention("default", {"session": 60_000, "completed": 120_000})
    first = await begin(store)
    await store.executions.complete(first.id, first.lease, b"null")
    await clock.advance_and_tick(50_000)
    second = await begin(store, "two")
    await store.executions.complete(second.id, second.lease, b"null")
    await clock.advance_and_tick(70_000)
    assert await state_of(store, second.id) is State.COMPLETED
    for execution in (session_of(first), first.id):
        assert not any(key.endswith(f":{execution}") for key in dump() if ":N:" not in key)
    delivered = await deliver(store, "three")
    assert delivered.execution == f"{delivered.session}~3"
    assert violations(dump(), clock.now_ms) == []
    await store.sessions.erase(delivered.session)
    assert left_of(dump(), delivered.session) == []
    assert violations(dump(), clock.now_ms) == []
    assert (await deliver(store, "four")).execution == first.id


async def test_a_session_that_outlives_its_executions_leaves_nothing(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """No number is kept for a new session of the same key."""
    await store.lanes.set_retention("default", {"session": 60_000, "completed": 30_000})
    claim = await begin(store)
    await store.executions.complete(claim.id, claim.lease, b"null")
    await clock.advance_and_tick(30_000)
    await clock.advance_and_tick(30_000)
    assert left_of(dump(), session_of(claim)) == []
    assert (await deliver(store, "again")).execution == claim.id


async def test_one_tick_does_not_look_for_the_executions_of_many_sessions(
    store: Store, clock: Clock
) -> None:
    """Those that had many: the rest is due at once."""
    await store.lanes.set_retention("default", {"session": 60_000})
    tag = store.tag_of(key_of("u0").id)
    users = (user for n in range(1_000) if store.tag_of(key_of(user := f"u{n}").id) == tag)
    for user in itertools.islice(users, 7):
        delivered = await deliver(store, user=user)
        await store.sessions.finish(delivered.session, "")
        await store.client.call(["HSET", f"{tag}:S:{delivered.session}", "n", "100"])
    await clock.advance(60_000)
    assert await store.timers.tick(tag, 100) == (5, 0)
    assert (await store.timers.tick(tag, 100))[0] == 2
