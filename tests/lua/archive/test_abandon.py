"""hf_archive_abandon."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.archives import end_retention
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, complete_one


async def test_retention_gets_them_back(store: Store, clock: Clock, dump: Dump) -> None:
    """A part at a time; with no archive set they are then forgotten."""
    await store.archives.set_url("s3://b")
    for number in range(5):
        await complete_one(store, id=f"root~{number}")
    await end_retention(store, clock)
    tag = store.tag_of("root")
    assert await store.caller.write("hf_archive_abandon", tag, "2") == [2, 3]
    assert violations(dump(), clock.now_ms) == []
    await clock.tick()
    assert (await store.archives.waiting())[0] == 5
    await store.archives.set_url(None)
    await clock.tick()
    assert {key.split("}:", 1)[1] for key in dump()} <= {"meta", "settings"}
