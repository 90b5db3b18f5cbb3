"""hf_archive_export."""

from __future__ import annotations

from holdfast.errors import ExecutionNotFound, NotTerminal
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.archives import live
from tests.support.lifecycle import Dump, create_one, refused


async def test_an_execution_that_has_ended_comes_whole(store: Store, clock: Clock) -> None:
    """Also while its retention runs."""
    execution_id = await live(store, clock, 0)
    row = await store.archives.export(execution_id)
    assert (row.id, row.tenant, row.run) == (execution_id, "t0", 0)
    assert row.result() == b"o" * 100
    assert [step.name for step in row.steps()] == ["s1", "s2"]


async def test_only_what_has_ended_is_exported(store: Store, dump: Dump) -> None:
    """A running one would be half a story."""
    execution_id = await create_one(store)
    context = {"id": execution_id, "state": "waiting"}
    await refused(store.archives.export(execution_id), NotTerminal, dump, **context)
    await refused(store.archives.export("x"), ExecutionNotFound, dump, id="x")
