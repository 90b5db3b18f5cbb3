"""hf_session_move."""

from __future__ import annotations

from dataclasses import replace

from holdfast.errors import RevisionDraining, SessionNotFound, StaleLease
from holdfast.model.executions import Claim
from holdfast.model.revisions import Needs, capability
from holdfast.store.store import Store
from tests.support import sessions
from tests.support.lifecycle import Dump, claim_one, create_one, refused

BLUE, GREEN = capability("blue"), capability("green")
STATE = b'{"state":{"frames":[]}}'


async def asked(store: Store) -> Claim:
    """A conversation that was asked to move, and runs."""
    delivered = await sessions.deliver(store, requires=(BLUE,))
    claim = await claim_one(store, delivered.execution or "", capabilities=[BLUE])
    await sessions.turn(store, claim, "name?", wait="receive:1")
    await store.needs.close("default", "blue")
    await store.needs.release("default", "blue", claim.id, how="move", text="")
    return await claim_one(store, claim.id, capabilities=[BLUE])


async def move(store: Store, claim: Claim, revision: str = "green") -> None:
    """Move a conversation."""
    requires = (capability(revision),)
    await store.sessions.move(claim.id, claim.lease, revision, requires, STATE)


async def test_a_conversation_continues_on_another_revision(store: Store) -> None:
    """Only workers of that one can claim it, with the state and without the journal."""
    claim = await asked(store)
    await move(store, claim)
    # The reply was lost.
    await move(store, claim)
    assert await store.needs.close("default", "blue") == Needs()
    assert (await store.needs.count("default", ["green"]))["green"] == Needs(running=1)
    moved = await claim_one(store, claim.id, capabilities=[GREEN])
    assert (moved.input, moved.steps, moved.requires) == (STATE, {}, (GREEN,))
    assert moved.lease.attempt == claim.lease.attempt
    assert (await sessions.session(store, sessions.session_of(claim))).revision == "green"


async def test_what_was_buffered_is_received_there(store: Store) -> None:
    """Once, and nothing more is said before."""
    claim = await asked(store)
    await sessions.deliver(store, "Ann", requires=(BLUE,))
    await move(store, claim)
    moved = await claim_one(store, claim.id, capabilities=[GREEN])
    turned = await sessions.turn(store, moved, wait="receive:1")
    assert sessions.texts_of(turned.received) == ["Ann"]


async def test_a_revision_that_drains_itself_takes_nobody(store: Store, dump: Dump) -> None:
    """The conversation stays where it is."""
    claim = await asked(store)
    await store.needs.close("default", "green")
    await refused(move(store, claim), RevisionDraining, dump, id=claim.id)


async def test_only_the_holder_of_the_lease_moves_it(store: Store, dump: Dump) -> None:
    """And only a conversation moves."""
    claim = await asked(store)
    older = replace(claim, lease=replace(claim.lease, epoch=claim.lease.epoch - 1))
    await refused(move(store, older), StaleLease, dump, id=claim.id, state="active", epoch=2)
    execution = await create_one(store, requires=(GREEN,))
    task = await claim_one(store, execution, capabilities=[GREEN])
    await refused(move(store, task), SessionNotFound, dump, id=execution)
