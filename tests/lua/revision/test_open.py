"""hf_revision_open."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.lifecycle import create_one


async def test_a_revision_that_is_opened_again_starts_executions(store: Store) -> None:
    """Twice is as good as once."""
    await store.needs.close("default", "blue")
    for _ in range(2):
        await store.needs.open("default", "blue")
    assert await create_one(store, requires=("rev:blue",))
    assert (await store.needs.close("default", "blue")).running == 1
