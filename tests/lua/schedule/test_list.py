"""hf_schedule_list."""

from __future__ import annotations

from holdfast.model.executions import NewExecution
from holdfast.store.store import Store
from tests.support.scheduling import plan, put


async def ids_after(store: Store, after: str, limit: int) -> tuple[list[str], bool]:
    """Return the ids of a page, and whether more follow."""
    page, more = await store.schedules.page(after, limit)
    return [schedule.id for schedule in page], more


async def test_schedules_are_listed_by_id(store: Store) -> None:
    """Over all partitions, after an id, as many as asked for."""
    names = [f"s{n:02}" for n in range(25)]
    for name in reversed(names):
        await put(store, plan(name))
    assert await ids_after(store, "", 100) == (names, False)
    assert await ids_after(store, "", 10) == (names[:10], True)
    assert await ids_after(store, "s09", 10) == (names[10:20], True)
    assert await ids_after(store, "s14", 10) == (names[15:], False)
    assert await ids_after(store, "s0", 1) == (["s00"], True)
    assert await ids_after(store, "s24", 10) == ([], False)


async def test_a_page_is_bounded_in_bytes(store: Store) -> None:
    """It may be shorter than asked for; then it says that more follow."""
    names = [f"s{n:02}" for n in range(12)]
    large = NewExecution(kind="work", input=b'"' + b"x" * 400_000 + b'"')
    for name in names:
        await put(store, plan(name, execution=large))
    found: list[str] = []
    more = True
    while more:
        page, more = await ids_after(store, found[-1] if found else "", 100)
        assert page
        found += page
    assert found == names
    if store.partitions == 1:
        assert len((await ids_after(store, "", 100))[0]) == 3


async def test_a_deleted_one_is_not_listed(store: Store) -> None:
    """Gone from the list and from what is due."""
    await put(store, plan("a"))
    await put(store, plan("b"))
    await store.schedules.remove("a")
    assert await ids_after(store, "", 10) == (["b"], False)
