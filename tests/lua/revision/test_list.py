"""hf_revision_list."""

from __future__ import annotations

import pytest

from holdfast.errors import InvalidInput
from holdfast.model.revisions import capability
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support import sessions
from tests.support.lifecycle import claim_one, create_one

BLUE = (capability("blue"),)


async def test_the_oldest_wait_comes_first_and_what_runs_comes_last(
    store: Store, clock: Clock
) -> None:
    """In each partition; pages continue where the last ended."""
    waits = []
    for user in ("ann", "ben"):
        delivered = await sessions.deliver(store, user=user, requires=BLUE)
        claim = await claim_one(store, delivered.execution or "", capabilities=BLUE)
        await sessions.turn(store, claim, wait="receive:1")
        waits.append(claim.id)
        await clock.advance(1000)
    job = await create_one(store, requires=BLUE)
    await create_one(store, tenant="evil", requires=BLUE)
    found, more = await store.needs.page("default", "blue", 10)
    assert more is None
    assert {one.execution for one in found} == {job, *waits}
    ann = next(one for one in found if one.execution == waits[0])
    assert (ann.session, ann.state, ann.hold) == (waits[0][:-2], State.SUSPENDED, "message")
    paged, cursor = await store.needs.page("default", "blue", 1)
    while cursor is not None:
        page, cursor = await store.needs.page("default", "blue", 1, cursor)
        paged += page
    assert paged == found


async def test_a_cursor_must_come_from_a_page(store: Store) -> None:
    """One that was made up is refused."""
    for cursor in ("x", "1000.0", "0"):
        with pytest.raises(InvalidInput):
            await store.needs.page("default", "blue", 1, cursor)
