"""hf_admin_boot."""

from __future__ import annotations

from typing import Any

from holdfast.store.store import Store
from holdfast.store.valkey.boot import FORMAT
from tests.support.lifecycle import Dump


async def boot(
    store: Store, tag: str, partitions: int, default: int, form: int = FORMAT
) -> list[Any]:
    args = (str(partitions), str(default), str(form))
    return await store.caller.write("hf_admin_boot", tag, *args)


async def test_the_first_boot_stores_what_was_asked_for(store: Store) -> None:
    """The number of partitions and the format of the data."""
    assert await boot(store, f"{store.prefix}:{{new}}", 7, 256) == [b"7", b"2"]


async def test_without_a_wish_the_default_is_stored(store: Store) -> None:
    """Zero means no wish."""
    assert await boot(store, f"{store.prefix}:{{new}}", 0, 256) == [b"256", b"2"]


async def test_later_boots_get_what_is_stored(store: Store, dump: Dump) -> None:
    """Whatever they ask for: it can never change."""
    await boot(store, f"{store.prefix}:{{new}}", 7, 256)
    before = dump()
    for partitions, default, form in ((7, 256, 2), (0, 1, 2), (9, 256, 2), (7, 256, 1)):
        answer = await boot(store, f"{store.prefix}:{{new}}", partitions, default, form)
        assert answer == [b"7", b"2"]
    assert dump() == before


async def test_a_process_of_another_format_learns_that_of_the_library(
    store: Store, dump: Dump
) -> None:
    """Commit 5152c42 would otherwise mark data of format 2 as its own."""
    before = dump()
    assert await boot(store, f"{store.prefix}:{{new}}", 0, 256, FORMAT - 1) == [b"256", b"2"]
    assert dump() == before
