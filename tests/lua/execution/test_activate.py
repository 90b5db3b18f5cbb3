"""hf_execution_activate, which processes of 0.2.0 call."""

from __future__ import annotations

import pytest

from holdfast.model.limit_refs import LimitRef
from holdfast.model.states import State
from holdfast.store.grants import Grant, Verdict, Wanted
from holdfast.store.store import Store
from tests.support.lifecycle import create_one, state_of
from tests.support.limits import grant_one, make_quota

_ADMITTED = ("", "", "", "")


async def activate(
    store: Store, asked: Wanted, grant: Grant, verdict: tuple[str, ...]
) -> list[list[bytes]]:
    """Call the function as 0.2.0 does."""
    head = (asked.request, asked.worker, str(asked.lease_ms))
    item = (grant.execution_id, str(grant.epoch), *verdict)
    rows: list[list[bytes]] = await store.executions._call.write(
        "hf_execution_activate", store.tag_of(grant.execution_id), *head, *item
    )
    return rows


@pytest.mark.parametrize("tags", [{}, {"a": "b"}])
async def test_what_is_admitted_is_leased(store: Store, tags: dict[str, str]) -> None:
    """As a row, and a repeated call gets the same lease."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",), input=b"in", tags=tags)
    asked, grant = await grant_one(store, execution_id)
    ((claimed, _, payload, *_),) = await activate(store, asked, grant, _ADMITTED)
    assert (claimed, payload) == (execution_id.encode(), b"in")
    assert await state_of(store, execution_id) is State.ACTIVE
    ((again, *_),) = await activate(store, asked, grant, _ADMITTED)
    assert again == claimed


async def test_what_is_refused_is_held_back(store: Store) -> None:
    """By the limit that refused it."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    asked, grant = await grant_one(store, execution_id)
    held = Verdict(blocker=LimitRef.quota("q"), after_ms=500)
    assert await activate(store, asked, grant, tuple(held.args())) == []
    found = await store.queries.describe(execution_id)
    assert (found.state, found.blocked_by) == (State.RATE_LIMITED, "q")
