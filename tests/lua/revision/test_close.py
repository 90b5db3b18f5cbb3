"""hf_revision_close."""

from __future__ import annotations

from holdfast.errors import RevisionDraining
from holdfast.model.executions import Claim, NewExecution
from holdfast.model.revisions import Needs, capability
from holdfast.store import channels
from holdfast.store.store import Store
from holdfast.testing.polling import wait_for
from tests.support import sessions
from tests.support.lifecycle import Dump, claim_one, create_one, refused

BLUE = (capability("blue"),)
BOTH = [capability("blue"), capability("green")]


async def begin(store: Store, revision: str = "blue", **options: str) -> Claim:
    """Start a session on a revision, and claim its execution."""
    delivered = await sessions.deliver(store, requires=(capability(revision),), **options)
    assert delivered.execution is not None
    return await claim_one(store, delivered.execution, capabilities=BOTH)


async def test_a_closed_revision_starts_no_execution_and_no_session(
    store: Store, dump: Dump
) -> None:
    """What needs another revision, or none, starts as before."""
    assert await store.needs.close("default", "blue") == Needs()
    (answer,) = await store.executions.create([NewExecution(kind="k", requires=BLUE)])
    assert isinstance(answer, RevisionDraining)
    session = sessions.key_of().id
    await refused(sessions.deliver(store, requires=BLUE), RevisionDraining, dump, id=session)
    await create_one(store, requires=("rev:green",))
    assert (await sessions.deliver(store)).execution


async def test_who_needs_a_closed_revision_may_start_children_on_it(store: Store) -> None:
    """Not so somebody who only looks like a child."""
    parent = await create_one(store, requires=BLUE)
    await store.needs.close("default", "blue")
    child = NewExecution(kind="k", id=f"{parent}~0.1", requires=BLUE)
    orphan = NewExecution(kind="k", id="nobody~0.1", requires=BLUE)
    answers = await store.executions.create([child, orphan])
    assert not isinstance(answers[0], Exception)
    assert isinstance(answers[1], RevisionDraining)
    assert await store.needs.close("default", "blue") == Needs(running=2)


async def test_a_session_on_a_closed_revision_continues(store: Store) -> None:
    """What it has buffered starts its next execution there."""
    claim = await begin(store)
    await store.needs.close("default", "blue")
    buffered = await sessions.deliver(store, "more", requires=BLUE)
    assert buffered.effect == "buffered"
    await store.executions.complete(claim.id, claim.lease, b"1")
    found = await sessions.session(store, buffered.session)
    assert (found.revision, found.executions) == ("blue", 2)
    assert await store.needs.close("default", "blue") == Needs(running=1)


async def test_a_message_to_a_session_that_waits_there_resumes_it(store: Store) -> None:
    """Whatever the router has chosen meanwhile."""
    claim = await begin(store)
    await sessions.turn(store, claim, "which?", wait="receive:1")
    assert (await store.needs.close("default", "blue")).waiting == 1
    resumed = await sessions.deliver(store, "this", requires=("rev:green",))
    assert (resumed.effect, resumed.execution) == ("resumed", claim.id)
    assert await store.needs.close("default", "blue") == Needs(running=1)


async def test_an_interrupted_turn_starts_again_where_it_ran_or_elsewhere(
    store: Store, dump: Dump
) -> None:
    """But not on a revision that is closed and that it did not run on."""
    await begin(store, busy="interrupt")
    await store.needs.close("default", "blue")
    again = await sessions.deliver(store, "stop", busy="interrupt", requires=BLUE)
    assert again.effect == "interrupted"
    moved = await sessions.deliver(store, "no", busy="interrupt", requires=("rev:green",))
    assert moved.effect == "interrupted"
    back = sessions.deliver(store, "back", busy="interrupt", requires=BLUE)
    await refused(back, RevisionDraining, dump, id=moved.session)
    assert await store.needs.close("default", "blue") == Needs()


async def test_the_end_of_the_last_need_is_announced(store: Store) -> None:
    """On the channel of its partition, and only for a closed revision."""
    heard: list[str] = []
    listened = [channels.drained(tag) for tag in store.tags()]

    def hear(_channel: str, message: str) -> None:
        heard.append(message)

    async def is_heard() -> bool:
        return "blue" in heard

    await store.subscriptions.add(listened, hear)
    await store.needs.close("default", "none")
    made = [await create_one(store, requires=(f"rev:{name}",)) for name in ("green", "blue")]
    await store.needs.close("default", "blue")
    for execution in made:
        claim = await claim_one(store, execution, capabilities=BOTH)
        await store.executions.complete(claim.id, claim.lease, b"1")
    await wait_for(is_heard)
    assert heard == ["blue"]
    await store.subscriptions.remove(listened, hear)
