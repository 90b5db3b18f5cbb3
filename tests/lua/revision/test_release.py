"""hf_revision_release."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from holdfast.model.executions import Claim, NewExecution
from holdfast.model.revisions import Needs, capability
from holdfast.model.sessions import SessionState, messages_of
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support import sessions
from tests.support.lifecycle import Dump, claim_one, create_one

BLUE = (capability("blue"),)
SORRY = "Please start again."


async def begin(store: Store, **options: Any) -> Claim:
    """Start a session on the revision, and claim its execution."""
    delivered = await sessions.deliver(store, requires=BLUE, **options)
    assert delivered.execution is not None
    return await claim_one(store, delivered.execution, capabilities=BLUE)


async def park(store: Store, **wait: Any) -> Claim:
    """Start a session there that asks and waits."""
    claim = await begin(store)
    await sessions.turn(store, claim, "name?", wait="receive:1", **wait)
    await store.needs.close("default", "blue")
    return claim


async def release(store: Store, execution: str, how: str, *, tenant: str = "default") -> str:
    """Release the revision from an execution."""
    return await store.needs.release(tenant, "blue", execution, how=how, text=SORRY)


async def state_of(store: Store, execution: str) -> tuple[State, str | None]:
    """The state of an execution, and why it ended."""
    found = await store.queries.describe(execution)
    return found.state, found.reason


@pytest.mark.parametrize(("timeout_ms", "left"), [(None, None), (5000, 3000)])
async def test_a_conversation_that_waits_is_asked_to_move(
    store: Store, clock: Clock, timeout_ms: int | None, left: int | None
) -> None:
    """The request is the recorded result of its wait, with the time that was left; once."""
    claim = await park(store, timeout_ms=timeout_ms)
    await clock.advance(2000)
    assert await release(store, claim.id, "move") == "asked"
    assert await release(store, claim.id, "move") == "left"
    again = await claim_one(store, claim.id, capabilities=BLUE)
    (request,) = messages_of(again.steps["receive:1"])
    assert (request.kind, request.payload) == ("move", {"left_ms": left})
    assert again.lease.attempt == claim.lease.attempt
    assert await sessions.lines(store, sessions.session_of(claim)) == ["> hi", "< name?"]


async def test_a_message_that_comes_after_the_request_is_buffered(store: Store) -> None:
    """It is neither lost nor answered by the revision that it leaves."""
    claim = await park(store)
    await release(store, claim.id, "move")
    late = await sessions.deliver(store, "Ann", requires=BLUE)
    assert (late.effect, late.execution) == ("buffered", claim.id)


async def test_a_message_that_comes_before_the_request_is_answered(store: Store) -> None:
    """The turn runs, and is left alone until the grace is over."""
    claim = await park(store)
    assert (await sessions.deliver(store, "Ann", requires=BLUE)).effect == "resumed"
    for how in ("move", "restart"):
        assert await release(store, claim.id, how) == "left"
    assert await store.needs.close("default", "blue") == Needs(running=1)


async def test_a_conversation_that_cannot_move_ends_with_a_message(store: Store) -> None:
    """The next message starts again, on another revision."""
    claim = await park(store)
    session = sessions.session_of(claim)
    assert await release(store, claim.id, "restart") == "ended"
    assert await release(store, claim.id, "restart") == "left"
    assert await sessions.lines(store, session) == ["> hi", "< name?", f"< {SORRY}"]
    assert msgspec.json.decode((await sessions.entries(store, session))[-1].payload) == {
        "text": SORRY,
        "restart": True,
    }
    reason = "the drain of revision blue was overdue"
    assert await state_of(store, claim.id) == (State.CANCELLED, reason)
    assert await store.needs.close("default", "blue") == Needs()
    fresh = await sessions.deliver(store, "Ann", requires=(capability("green"),))
    assert (fresh.effect, fresh.execution) == ("started", f"{session}~2")


async def test_force_ends_a_running_turn_and_answers_what_it_buffered(store: Store) -> None:
    """All messages that were buffered have the same answer, and start nothing on the revision."""
    claim = await begin(store)
    numbers = [(await sessions.deliver(store, text, requires=BLUE)).number for text in "abc"]
    await store.needs.close("default", "blue")
    assert await release(store, claim.id, "force") == "ended"
    session = sessions.session_of(claim)
    found = await sessions.session(store, session)
    assert (found.state, found.turn, found.buffered) == (SessionState.IDLE, numbers[-1], 0)
    *messages, answer = (await sessions.entries(store, session))[1:]
    assert [entry.turn for entry in messages] == [numbers[-1], numbers[-1], None]
    assert {entry.execution for entry in messages} == {claim.id}
    assert (answer.text, answer.turn) == (SORRY, numbers[-1])
    assert await store.needs.close("default", "blue") == Needs()


async def test_a_person_who_answers_is_not_interrupted(store: Store) -> None:
    """A note says that the conversation will not continue."""
    claim = await park(store)
    session = sessions.session_of(claim)
    await store.sessions.handover(session, "bob", "")
    assert await release(store, claim.id, "restart") == "ended"
    last = (await sessions.entries(store, session))[-1]
    assert (last.direction, last.text) == ("note", "the drain of revision blue was overdue")
    assert (await sessions.session(store, session)).person == "bob"


async def test_other_executions_end_when_they_wait_or_after_the_grace(store: Store) -> None:
    """They have nobody to write to."""
    execution = await create_one(store, requires=BLUE)
    # Unless the revision was opened again.
    assert await release(store, execution, "force") == "left"
    await store.needs.close("default", "blue")
    assert await release(store, execution, "move") == "left"
    assert await release(store, execution, "force") == "ended"
    assert (await state_of(store, execution))[0] is State.CANCELLED


async def test_what_does_not_need_the_revision_is_left_alone(store: Store, dump: Dump) -> None:
    """Neither another revision's, nor another tenant's, nor what does not exist."""
    other = await create_one(store, requires=(capability("green"),))
    foreign = await create_one(store, tenant="evil", requires=BLUE)
    before = dump()
    for execution in (other, foreign, "nobody"):
        assert await release(store, execution, "force") == "left"
    assert dump() == before


async def test_executions_of_another_tenant_keep_no_drain_open(store: Store) -> None:
    """Hosts never claim them, so they could keep it open for ever; nor are they refused."""
    await create_one(store, tenant="evil", requires=BLUE)
    assert await store.needs.close("default", "blue") == Needs()
    (made,) = await store.executions.create([NewExecution(kind="k", tenant="evil", requires=BLUE)])
    assert not isinstance(made, Exception)
    assert await store.needs.close("default", "blue") == Needs()
