"""hf_execution_list."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.errors import InvalidInput
from holdfast.model.executions import Failure
from holdfast.model.listing import Filter
from holdfast.model.moments import from_ms
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS, Clock
from tests.support.lifecycle import again, claim_one, create_one, create_together


async def ids_of(store: Store, limit: int = 100, **wanted: Any) -> list[str]:
    """List in one page; returns ids."""
    page = await store.queries.list_executions(Filter(**wanted), limit, None)
    return [execution.id for execution in page.items]


async def all_ids(store: Store, limit: int, **wanted: Any) -> list[str]:
    """List page by page; returns ids."""
    ids: list[str] = []
    cursor = None
    while True:
        page = await store.queries.list_executions(Filter(**wanted), limit, cursor)
        assert len(page.items) <= limit
        ids += [execution.id for execution in page.items]
        cursor = page.next_cursor
        if cursor is None:
            return ids


async def fill(store: Store, clock: Clock, count: int = 30) -> list[str]:
    """Create executions over all partitions, a millisecond apart; returns ids, newest first."""
    ids: list[str] = []
    for n in range(count):
        kind = "mail" if n % 2 else "call"
        tenant = "acme" if n % 3 else "zoo"
        tags = {"colour": "red" if n % 5 else "blue"}
        ids.append(await create_one(store, kind=kind, tenant=tenant, tags=tags))
        await clock.advance(1)
    return ids[::-1]


async def test_an_empty_store_lists_nothing(store: Store) -> None:
    """No rows, no cursor."""
    page = await store.queries.list_executions(Filter(), 10, None)
    assert (page.items, page.next_cursor) == ((), None)


async def test_rows_describe_executions(store: Store) -> None:
    """A row has what a description has, tags included."""
    execution_id = await create_one(store, input=b"x" * 100, tags={"a": "b" * 100}, priority=3)
    await claim_one(store, execution_id, worker="w7")
    (row,) = (await store.queries.list_executions(Filter(), 10, None)).items
    assert row == await store.queries.describe(execution_id)


@pytest.mark.parametrize("limit", [1, 7, 30, 100])
async def test_pages_give_everything_once_newest_first(
    store: Store, clock: Clock, limit: int
) -> None:
    """Over all partitions, whatever the size of a page."""
    ids = await fill(store, clock)
    assert await all_ids(store, limit) == ids


async def test_the_last_page_has_no_cursor(store: Store, clock: Clock) -> None:
    """A page that ends exactly at the end says so."""
    await fill(store, clock, 6)
    assert (await store.queries.list_executions(Filter(), 6, None)).next_cursor is None
    assert (await store.queries.list_executions(Filter(), 5, None)).next_cursor is not None


async def test_executions_of_one_instant_are_listed_once(store: Store) -> None:
    """Births at the same millisecond, in one partition and over several, are all there."""
    ids = [*await create_together(store, *[{} for _ in range(40)])]
    ids += [await create_one(store) for _ in range(20)]
    listed = await all_ids(store, 7)
    assert len(listed) == len(ids)
    assert set(listed) == set(ids)


@pytest.mark.parametrize("limit", [3, 100])
@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ({"tenant": "zoo"}, lambda n: n % 3 == 0),
        ({"kind": "mail"}, lambda n: n % 2 == 1),
        ({"tag": ("colour", "blue")}, lambda n: n % 5 == 0),
        ({"tag": ("colour", "green")}, lambda _: False),
        ({"tag": ("colour", "red"), "kind": "mail"}, lambda n: n % 5 != 0 and n % 2 == 1),
        ({"tag": ("colour", "red"), "tenant": "acme"}, lambda n: n % 5 != 0 and n % 3 != 0),
        ({"tag": ("colour", "red"), "state": State.DELAYED}, lambda _: False),
        ({"tenant": "acme", "kind": "call"}, lambda n: n % 3 != 0 and n % 2 == 0),
        ({"tenant": "nobody"}, lambda _: False),
        ({"lane": "default"}, lambda _: True),
        ({"lane": "other"}, lambda _: False),
        ({"since": from_ms(START_MS + 10)}, lambda n: n >= 10),
        ({"until": from_ms(START_MS + 10)}, lambda n: n < 10),
        (
            {"since": from_ms(START_MS + 5), "until": from_ms(START_MS + 9), "kind": "mail"},
            lambda n: n in {5, 7},
        ),
    ],
)
async def test_filters_give_what_fits(
    store: Store, clock: Clock, wanted: dict[str, Any], fits: Any, limit: int
) -> None:
    """Alone, together, and over pages."""
    ids = await fill(store, clock)
    expected = [one for n, one in zip(range(29, -1, -1), ids, strict=True) if fits(n)]
    assert await all_ids(store, limit, **wanted) == expected


async def test_the_state_is_that_of_now(store: Store, clock: Clock) -> None:
    """An execution is listed under its present state only."""
    execution_id = await create_one(store, delay_ms=1_000)
    assert await ids_of(store, state=State.DELAYED) == [execution_id]
    await clock.advance_and_tick(1_000)
    assert await ids_of(store, state=State.DELAYED) == []
    assert await ids_of(store, state=State.WAITING) == [execution_id]
    claim = await claim_one(store, execution_id)
    assert await ids_of(store, state=State.WAITING) == []
    assert await ids_of(store, state=State.ACTIVE) == [execution_id]
    await store.executions.complete(execution_id, claim.lease, b"1")
    assert await ids_of(store, state=State.ACTIVE) == []
    assert await ids_of(store, state=State.COMPLETED) == [execution_id]


async def test_a_cursor_holds_while_things_change(store: Store, clock: Clock) -> None:
    """New executions, changes of state and removals between pages repeat and skip nothing."""
    ids = await fill(store, clock, 12)
    page = await store.queries.list_executions(Filter(), 5, None)
    await create_one(store)
    await store.executions.cancel(ids[4], "")
    await store.executions.cancel(ids[7], "")
    rest = await store.queries.list_executions(Filter(), 100, page.next_cursor)
    assert [execution.id for execution in rest.items] == ids[5:]


async def test_a_cursor_of_another_making_is_refused(store: Store) -> None:
    """A cursor is one that a list returned."""
    with pytest.raises(InvalidInput) as refused:
        await store.queries.list_executions(Filter(), 5, "yesterday")
    assert refused.value.context == {"field": "cursor"}


async def test_a_tag_with_a_rare_filter_reaches_its_end(single_store: Store) -> None:
    """One call looks at a bounded number of rows; the list goes on from there."""
    for start in range(0, 10_050, 1_050):
        items = [{"tags": {"a": "b"}, "tenant": "t"} for _ in range(1_050)]
        if start == 0:
            items[0]["kind"] = "rare"
        await create_together(single_store, *items)
    page = await single_store.queries.list_executions(Filter(tag=("a", "b"), kind="rare"), 10, None)
    assert page.items == ()
    assert page.next_cursor is not None
    assert len(await all_ids(single_store, 10, tag=("a", "b"), kind="rare")) == 1


async def test_several_states_and_a_prefix_of_the_kind_match(store: Store, clock: Clock) -> None:
    """The cells are chosen by their names, so it costs what one filter costs."""
    claimed = (await claim_one(store, await create_one(store))).id
    await clock.advance(1)
    ids = await fill(store, clock, 12)
    both = await ids_of(store, states=(State.WAITING, State.ACTIVE))
    assert both == [*ids, claimed]
    assert await ids_of(store, states=(State.ACTIVE, State.FAILED)) == [claimed]
    assert await ids_of(store, kind_prefix="ma") == await ids_of(store, kind="mail")
    assert await ids_of(store, kind_prefix="mail.") == []


async def test_the_oldest_come_first_on_request(store: Store, clock: Clock) -> None:
    """Page by page, in exactly the other order."""
    ids = await fill(store, clock, 40)
    for limit in (1, 7, 100):
        assert await all_ids(store, limit, oldest=True) == ids[::-1]
    since, until = from_ms(START_MS + 5), from_ms(START_MS + 20)
    some = await ids_of(store, since=since, until=until)
    assert await all_ids(store, 4, since=since, until=until, oldest=True) == some[::-1]


async def test_ids_are_found_by_their_beginning_and_tags_by_their_text(
    store: Store, clock: Clock
) -> None:
    """In any case of the letters; a percent sign is a letter like any other."""
    ids = await fill(store, clock, 10)
    named = await create_one(store, id="order-17", tags={"Customer": "Ann 100% Ng"})
    await create_one(store, id="order_18")
    assert await ids_of(store, id_prefix="order-") == [named]
    assert await ids_of(store, id_prefix=ids[3]) == [ids[3]]
    for text in ("ann", "100% n", "CUSTOM"):
        assert await ids_of(store, text=text) == [named]
    assert len(await all_ids(store, 3, text="red")) == 8


async def test_a_tenant_finds_minted_ids_by_their_beginning(store: Store) -> None:
    """They carry no tenant; the ids that it chose do, and those of others stay theirs."""
    minted = await create_one(store, tenant="acme")
    await create_one(store, tenant="zoo")
    chosen = await create_one(store, tenant="acme", id=f"acme={minted[:2]}-17")
    wanted = f"acme={minted[:2]}"
    assert set(await ids_of(store, tenant="acme", id_prefix=wanted)) == {minted, chosen}
    assert await ids_of(store, tenant="acme", id_prefix=f"acme={minted[:-1]}") == [minted]
    assert await ids_of(store, tenant="acme", id_prefix=f"acme={minted[:2]}-") == [chosen]
    assert await ids_of(store, id_prefix=wanted) == [chosen]
    assert await ids_of(store, tenant="acme", id_prefix=f"other{minted[:2]}") == []


async def test_failures_are_found_by_their_type(store: Store, clock: Clock) -> None:
    """Failed and expired ones; a replay takes them from the list, and so does retention."""
    failed = []
    for error_type in ("Timeout", "Timeout", "ValueError"):
        claim = await claim_one(store, await create_one(store))
        failure = Failure(type=error_type, message="no", retryable=False)
        await store.executions.fail(claim.id, claim.lease, failure)
        failed.append(claim.id)
        await clock.advance(1)
    expired = await create_one(store, deadline_ms=5)
    await clock.advance_and_tick(10)
    assert await ids_of(store, error_type="Timeout") == failed[1::-1]
    assert await ids_of(store, error_type="expired") == [expired]
    assert await ids_of(store, error_type="Timeout", states=(State.EXPIRED,)) == []
    (row,) = (await store.queries.list_executions(Filter(error_type="ValueError"), 9, None)).items
    assert row.error == {"type": "ValueError"}
    await again(store, failed[0])
    assert await ids_of(store, error_type="Timeout") == [failed[1]]
    await clock.advance_and_tick(8 * 86_400_000)
    assert await ids_of(store, error_type="ValueError") == []


async def test_a_call_looks_at_a_bounded_number_of_executions(store: Store) -> None:
    """A text without an index: pages may be empty, and their cursors lead on to the end."""
    for _ in range(3):
        await create_together(store, *({"tags": {"n": str(n)}} for n in range(700)))
    found = await store.queries.list_executions(Filter(text="no such"), 10, None)
    assert found.items == ()
    assert await all_ids(store, 10, text="no such") == []
