"""hf_archive_batch."""

from __future__ import annotations

import re
from importlib.resources import files

from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.archives import end_retention, live
from tests.support.lifecycle import Dump, complete_one


async def test_what_waits_comes_oldest_first_in_pages(store: Store, clock: Clock) -> None:
    """Each once, whatever the size of a page; reading changes nothing."""
    await store.archives.set_url("s3://b")
    ids = [await complete_one(store, id=f"root~{number}") for number in range(7)]
    await end_retention(store, clock)
    tag = store.tag_of("root")
    for limit in (1, 3, 7, 100):
        found: list[str] = []
        after: int | None = 0
        while after is not None:
            rows, after = await store.archives.batch(tag, after, limit, 1 << 20)
            assert len(rows) <= limit
            found += [row.id for row in rows]
        assert found == ids


async def test_a_page_ends_when_it_is_large(store: Store, clock: Clock, dump: Dump) -> None:
    """One more than fits, at most."""
    await store.archives.set_url("s3://b")
    for number in range(4):
        await complete_one(store, id=f"root~{number}", input=b"x" * 1_000)
    await end_retention(store, clock)
    before = dump()
    tag = store.tag_of("root")
    rows, after = await store.archives.batch(tag, 0, 100, 1_500)
    assert len(rows) == 2
    assert after == rows[-1].born
    rows, after = await store.archives.batch(tag, after, 100, 1 << 20)
    assert (len(rows), after) == (2, None)
    assert dump() == before


async def test_nothing_waits_in_an_empty_partition(store: Store) -> None:
    """The first page is the last."""
    assert await store.archives.batch(store.tag_of("x"), 0, 10, 1) == ([], None)


async def test_a_row_has_everything_but_who_watches(store: Store, clock: Clock) -> None:
    """A key that executions own and the archive does not take would be lost: add a section.

    An ended execution has no bonds, and takes no more signals that could repeat others.
    """
    await store.archives.set_url("s3://b")
    execution_id = await live(store, clock, 0)
    await end_retention(store, clock)
    (row,), _ = await store.archives.batch(store.tag_of(execution_id), 0, 10, 1 << 20)
    assert set(row.sections) == {"input", "result", "tags", "note", "log", "steps"} - {"input"}
    lua = files("holdfast") / "lua" / "lib"
    owned = (
        (lua / "core" / "keys.lua")
        .read_text()
        .split("-- Keys of one execution")[1]
        .split("\n\n")[0]
    )
    sections = re.findall(r"\{ '(\w+)', keys\.\1,", (lua / "admin" / "archive.lua").read_text())
    names = set(re.findall(r"function keys\.(\w+)", owned)) - {
        "record",
        "watchers",
        "followers",
        "children",
        "bonds",
        "mail_keys",
    }
    names |= {"limits", "stream", "document", "frames"}
    assert set(sections) == names
