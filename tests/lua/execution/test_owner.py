"""hf_execution_owner: whose an execution is."""

from __future__ import annotations

import pytest

from holdfast.errors import ExecutionNotFound
from holdfast.store.store import Store
from tests.support.lifecycle import complete_one, create_one


async def test_an_execution_belongs_to_its_tenant(store: Store) -> None:
    """In every state."""
    ended = await complete_one(store, tenant="other")
    waiting = await create_one(store, tenant="acme")
    assert await store.queries.owner(waiting) == "acme"
    assert await store.queries.owner(ended) == "other"


async def test_nobody_owns_what_is_not_there(store: Store) -> None:
    """The refusal names the id."""
    with pytest.raises(ExecutionNotFound, match="nothing"):
        await store.queries.owner("nothing")
