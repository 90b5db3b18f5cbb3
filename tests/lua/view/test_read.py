"""hf_view_read."""

from __future__ import annotations

from holdfast.errors import ExecutionNotFound
from holdfast.model.states import State
from holdfast.store.store import Store
from tests.support.lifecycle import Dump, claim_one, create_one, refused


async def test_a_reader_gets_only_what_is_newer(store: Store) -> None:
    """With the state of the execution; without a view the version is 0."""
    claim = await claim_one(store, await create_one(store))
    found = await store.views.read(claim.id)
    assert (found.state, found.version, found.value, found.at) == (State.ACTIVE, 0, None, None)
    await store.views.put(claim.id, claim.lease, b"1")
    assert (await store.views.read(claim.id)).value == 1
    same = await store.views.read(claim.id, 1)
    assert (same.version, same.data) == (1, None)


async def test_reading_without_a_process_changes_nothing(store: Store, dump: Dump) -> None:
    """Nor does it where there is nothing to read."""
    claim = await claim_one(store, await create_one(store))
    before = dump()
    await store.views.read(claim.id)
    assert dump() == before
    await refused(store.views.read("nothing"), ExecutionNotFound, dump, id="nothing")
