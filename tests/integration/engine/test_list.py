"""Lists and counts: every filter, exact order, cursors that stand while everything moves."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest

from holdfast.engine.engine import Engine
from holdfast.errors import InvalidInput
from holdfast.model.executions import Execution, Failure, NewExecution, Submitted
from holdfast.model.listing import Filter
from holdfast.model.moments import from_ms
from holdfast.model.states import State
from holdfast.testing.clock import Clock
from tests.support.lifecycle import claim_in

TENANTS, LANES, KINDS, TAGS = ("a", "b"), ("fast", "slow"), ("mail", "pay"), ("red", "blue")


async def _populate(engine: Engine, clock: Clock) -> list[Execution]:
    """Make 64 executions of all combinations in many states, over some time."""
    combinations = itertools.product(TENANTS, LANES, KINDS, TAGS, range(4))
    for number, (tenant, lane, kind, tag, turn) in enumerate(combinations):
        fields: dict[str, Any] = {"tenant": tenant, "lane": lane, "tags": {"colour": tag}}
        made = await engine.submit(kind, delay_ms=60_000_000 if turn == 1 else None, **fields)
        if turn == 2:
            await engine.cancel(made.id)
        if number % 3 == 0:
            await clock.advance(1_000)
    async with engine.claimer(worker="w", lanes=LANES) as claimer:
        for claim in (await claimer.claim(12, 30_000))[::2]:
            await engine.complete(claim.id, claim.lease, b"1")
    return await _pages(engine, Filter(), limit=1_000)


async def _pages(engine: Engine, wanted: Filter, limit: int) -> list[Execution]:
    found: list[Execution] = []
    cursor = None
    while True:
        page = await engine.list(wanted, limit=limit, cursor=cursor)
        assert len(page.items) <= limit
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


def _matches(wanted: Filter, found: Execution) -> bool:
    if wanted.tag is not None and found.tags.get(wanted.tag[0]) != wanted.tag[1]:
        return False
    if wanted.since is not None and found.created_at < wanted.since:
        return False
    if wanted.until is not None and found.created_at >= wanted.until:
        return False
    plain = ("tenant", "state", "lane", "kind")
    return all(getattr(wanted, n) in (None, getattr(found, n)) for n in plain)


async def test_every_filter_alone_and_combined(engine: Engine, clock: Clock) -> None:
    """Each of the 128 combinations of filters gives what a look at every execution gives."""
    start = clock.now_ms
    everything = await _populate(engine, clock)
    assert len(everything) == 64
    assert {found.state for found in everything} == {
        State.WAITING,
        State.DELAYED,
        State.CANCELLED,
        State.ACTIVE,
        State.COMPLETED,
    }
    values: dict[str, Any] = {
        "tenant": "a",
        "state": State.WAITING,
        "lane": "slow",
        "kind": "pay",
        "tag": ("colour", "red"),
        "since": from_ms(start + 3_000),
        "until": from_ms(start + 15_000),
    }
    sizes = set()
    for chosen in itertools.product((False, True), repeat=len(values)):
        fields = {n: values[n] for n, on in zip(values, chosen, strict=True) if on}
        wanted = Filter(**fields)
        expected = [found.id for found in everything if _matches(wanted, found)]
        assert [found.id for found in await _pages(engine, wanted, 1_000)] == expected, fields
        assert [found.id for found in await _pages(engine, wanted, 3)] == expected, fields
        sizes.add(len(expected))
    assert len(sizes) > 8


@pytest.mark.parametrize("state", [s for s in State if s is not State.WAITING])
async def test_every_state_can_be_asked_for(engine: Engine, clock: Clock, state: State) -> None:
    """A state that nobody is in gives an empty page, not an error."""
    everything = await _populate(engine, clock)
    expected = [found for found in everything if found.state is state]
    assert await _pages(engine, Filter(state=state), 5) == expected


async def test_the_order_is_newest_first(engine: Engine, clock: Clock) -> None:
    """Also for executions of one millisecond, which come in the order of their creation."""
    ids = [(await engine.submit("work")).id for _ in range(30)]
    found = await _pages(engine, Filter(), 7)
    times = [one.created_at for one in found]
    assert times == sorted(times, reverse=True)
    assert {one.id for one in found} == set(ids)
    if engine.store.partitions == 1:
        assert [one.id for one in found] == ids[::-1]


async def test_a_row_is_what_describe_says(engine: Engine, clock: Clock) -> None:
    """A list needs no second look at each execution; only the end's details are left out."""
    await engine.submit("work", tags={"a": "1", "b": "x" * 200}, priority=3, requires=["gpu"])
    (row,) = (await engine.list()).items
    known = await engine.describe(row.id)
    assert asdict(row) == asdict(known)


@pytest.mark.parametrize("limit", [1, 5, 50])
async def test_executions_of_one_moment_are_neither_skipped_nor_repeated(
    engine: Engine, limit: int
) -> None:
    """A thousandth of a second is not a key: 100 executions share it, in all partitions."""
    items = [NewExecution(kind="work") for _ in range(100)]
    made = {a.id for a in await engine.submit_many(items) if isinstance(a, Submitted)}
    found = [one.id for one in await _pages(engine, Filter(), limit)]
    assert len(found) == len(set(found)) == 100
    assert set(found) == made


async def test_a_cursor_stands_while_everything_moves(engine: Engine, clock: Clock) -> None:
    """Between pages executions change state, end, and arrive; each old one is listed once."""
    old = [found.id for found in await _populate(engine, clock)]
    found: list[str] = []
    cursor = None
    fresh = set()
    for turn in itertools.count():
        page = await engine.list(limit=5, cursor=cursor)
        found += [one.id for one in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
        fresh.add((await engine.submit("mail", tenant="a", lane="fast")).id)
        for tag in engine.store.tags():
            for claim in await claim_in(engine.store, tag, lanes=list(LANES)):
                if turn % 2:
                    await engine.complete(claim.id, claim.lease)
                else:
                    await engine.fail(claim.id, claim.lease, Failure(type="E", message="m"))
        await clock.advance_and_tick(10)
    assert found == old
    assert not fresh & set(found)


async def test_a_cursor_of_one_state_skips_nobody_who_stays(engine: Engine, clock: Clock) -> None:
    """Those that leave the state may be missing, those that stay are listed once."""
    ids = [(await engine.submit("work")).id for _ in range(40)]
    staying = set(ids[::2])
    found: list[str] = []
    cursor = None
    leaving = iter(ids[1::2])
    while True:
        page = await engine.list(Filter(state=State.WAITING), limit=3, cursor=cursor)
        found += [one.id for one in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
        for gone in itertools.islice(leaving, 3):
            await engine.cancel(gone)
    assert len(found) == len(set(found))
    assert staying <= set(found)


async def test_a_cursor_stands_when_its_own_execution_is_gone(engine: Engine, clock: Clock) -> None:
    """A cursor is a place, not a row."""
    for _ in range(9):
        await engine.submit("work", retention_ms=0)
        await clock.advance(1)
    everything = [one.id for one in await _pages(engine, Filter(), 100)]
    page = await engine.list(limit=3)
    for one in page.items:
        await engine.cancel(one.id)
    await clock.advance_and_tick(1)
    assert len(await _pages(engine, Filter(), 100)) == 6
    rest = await engine.list(limit=100, cursor=page.next_cursor)
    assert [one.id for one in rest.items] == everything[3:]


async def test_the_bounds_of_time_are_exact(engine: Engine, clock: Clock) -> None:
    """`since` is included, `until` is not."""
    at = from_ms(clock.now_ms)
    made = await engine.submit("work")
    later, earlier = at + timedelta(milliseconds=1), at - timedelta(milliseconds=1)

    async def listed(**bounds: Any) -> bool:
        return [one.id for one in (await engine.list(Filter(**bounds))).items] == [made.id]

    assert await listed(since=at)
    assert await listed(until=later)
    assert await listed(since=earlier, until=later)
    assert not await listed(since=later)
    assert not await listed(until=at)


async def test_bounds_between_two_milliseconds_are_exact(engine: Engine, clock: Clock) -> None:
    """A bound a microsecond after the creation is after it."""
    made = await engine.submit("work")
    after = from_ms(clock.now_ms) + timedelta(microseconds=1)
    assert (await engine.list(Filter(since=after))).items == ()
    assert [one.id for one in (await engine.list(Filter(until=after))).items] == [made.id]


@pytest.mark.parametrize("year", [1, 1969, 9999])
async def test_far_bounds_are_no_problem(engine: Engine, year: int) -> None:
    """Any moment may be asked for."""
    await engine.submit("work")
    far = from_ms(0).replace(year=year)
    assert len((await engine.list(Filter(since=far))).items) == (year < 2000)
    assert len((await engine.list(Filter(until=far))).items) == (year > 2000)


async def test_tags_of_other_tenants_are_not_seen(engine: Engine) -> None:
    """The same tag of two tenants is two lists."""
    mine = await engine.submit("work", tenant="a", tags={"t": "v"})
    await engine.submit("work", tenant="b", tags={"t": "v"})
    page = await engine.list(Filter(tenant="a", tag=("t", "v")))
    assert [one.id for one in page.items] == [mine.id]


async def test_tags_are_not_mixed_up(engine: Engine) -> None:
    """Names and values with separators in them stay apart."""
    one = await engine.submit("work", tags={"a": "b=c|d"})
    await engine.submit("work", tags={"a": "b"})
    await engine.submit("work", tags={"a.b": "c|d"})
    page = await engine.list(Filter(tag=("a", "b=c|d")))
    assert [found.id for found in page.items] == [one.id]


@pytest.mark.parametrize("cursor", ["", "x", "1", "1.", ".1", "1.2.3", "-1.0", "1.x", "²3.0"])
async def test_a_cursor_of_another_make_is_refused(engine: Engine, cursor: str) -> None:
    """A made-up cursor is the caller's fault."""
    with pytest.raises(InvalidInput) as refused:
        await engine.list(cursor=cursor)
    assert refused.value.context["field"] == "cursor"


async def test_counts_follow_every_change(engine: Engine, clock: Clock) -> None:
    """Counts equal what a list of everything gives, at each point of a long way."""

    async def check() -> None:
        listed = Counter(
            (e.tenant, e.lane, e.kind, e.state) for e in await _pages(engine, Filter(), 1_000)
        )
        counted = {(c.tenant, c.lane, c.kind, c.state): c.count for c in await engine.count()}
        assert counted == listed

    await check()
    await _populate(engine, clock)
    await check()
    for _ in range(3):
        for tag in engine.store.tags():
            await claim_in(engine.store, tag, lanes=list(LANES), limit=2, lease_ms=1_000)
        await check()
        await clock.advance_and_tick(1_000)
        await check()
    await clock.advance_and_tick(30 * 86_400_000)
    await check()


async def test_counts_of_one_tenant(engine: Engine) -> None:
    """Another tenant's cells are not returned, and an unknown tenant has none."""
    await engine.submit("work", tenant="a")
    await engine.submit("work", tenant="b")
    assert [c.tenant for c in await engine.count("a")] == ["a"]
    assert await engine.count("c") == []


Dump = Callable[[], dict[str, object]]


async def test_reading_writes_nothing(engine: Engine, clock: Clock, dump: Dump) -> None:
    """Lists, counts and explanations leave no trace."""
    made = await engine.submit("work", tags={"a": "b"})
    before = dump()
    await engine.list(Filter(tag=("a", "b")))
    await engine.list(Filter(tenant="default", state=State.WAITING))
    await engine.count()
    await engine.describe(made.id)
    await engine.explain(made.id)
    await engine.history(made.id)
    await engine.attempts(made.id)
    await engine.steps(made.id)
    await engine.outcome(made.id)
    await engine.workers.list()
    await engine.lanes.states()
    assert dump() == before
