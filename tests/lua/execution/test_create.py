"""hf_execution_create: what a creation makes of its fields, and batches."""

from __future__ import annotations

import pytest

from holdfast.errors import HoldfastError, IdConflict, LaneDraining
from holdfast.model.executions import NewExecution, Submitted
from holdfast.model.ids import new_id
from holdfast.model.listing import Filter
from holdfast.model.moments import from_ms
from holdfast.model.retry import RetryPolicy
from holdfast.model.states import AttemptKind, Hold, State
from holdfast.store import channels
from holdfast.store.items import encode_item
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS, Clock
from holdfast.testing.polling import wait_for
from tests.support.lifecycle import Dump, claim_in, create_one, create_together


async def newest_first(store: Store) -> list[str]:
    """Ids of all executions, the youngest first."""
    page = await store.queries.list_executions(Filter(), 100, None)
    return [execution.id for execution in page.items]


def kept(dump: Dump) -> dict[str, object]:
    """Every key but the partition's own counters."""
    return {key: value for key, value in dump().items() if not key.endswith(":meta")}


async def test_an_execution_starts_waiting_with_its_fields(store: Store, clock: Clock) -> None:
    """What was asked for is what is described."""
    execution_id = await create_one(
        store,
        kind="send/mail",
        tenant="acme",
        lane="mail",
        priority=-3,
        requires=("gpu", "eu"),
        tags={"order": "42"},
        retry=RetryPolicy(max_attempts=3),
    )
    found = await store.queries.describe(execution_id)
    assert (found.kind, found.tenant, found.lane) == ("send/mail", "acme", "mail")
    assert (found.priority, found.requires, found.tags) == (-3, ("eu", "gpu"), {"order": "42"})
    assert (found.state, found.hold, found.attempt_kind) == (
        State.WAITING,
        None,
        AttemptKind.INITIAL,
    )
    assert (found.attempts, found.epoch, found.failures, found.reclaims) == (0, 0, 0, 0)
    assert found.created_at == from_ms(clock.now_ms)
    assert (found.started_at, found.completed_at, found.forget_at) == (None, None, None)


async def test_each_item_of_a_batch_gets_its_own_answer(store: Store) -> None:
    """One refused item does not touch its neighbours."""
    await store.lanes.set_state("closing", "draining")
    root = new_id()
    items = [
        NewExecution(kind="work"),
        NewExecution(kind="work", id=f"{root}~1"),
        NewExecution(kind="work", id=f"{root}~1"),
        NewExecution(kind="other", id=f"{root}~1"),
        NewExecution(kind="work", id=f"{root}~2", lane="closing"),
        NewExecution(kind="work", id=f"{root}~3", delay_ms=5),
    ]
    fresh, first, again, other, closed, delayed = await store.executions.create(items)
    assert isinstance(fresh, Submitted)
    assert not fresh.duplicate
    assert first == Submitted(id=items[1].id, state=State.WAITING)  # type: ignore[arg-type]
    assert again == Submitted(id=items[1].id, state=State.WAITING, duplicate=True)  # type: ignore[arg-type]
    assert isinstance(other, IdConflict)
    assert other.context["id"] == f"{root}~1"
    assert isinstance(closed, LaneDraining)
    assert closed.context["lane"] == "closing"
    assert isinstance(delayed, Submitted)
    assert delayed.state is State.DELAYED
    assert set(await newest_first(store)) == {fresh.id, f"{root}~1", f"{root}~3"}


async def test_a_lost_reply_repeated_gets_the_first_answer(store: Store, dump: Dump) -> None:
    """The same call sent twice creates once, and is told `created` both times."""
    item = NewExecution(kind="work", id="a")
    args = (store.tag_of("a"), encode_item(item, "a"), item.input)
    assert await store.caller.write("hf_execution_create", *args) == [[b"created", b"waiting"]]
    before = kept(dump)
    assert await store.caller.write("hf_execution_create", *args) == [[b"created", b"waiting"]]
    assert kept(dump) == before


async def test_a_minted_id_sent_twice_is_not_called_a_duplicate(store: Store, dump: Dump) -> None:
    """An id of our own making can only come back by a repetition of the same call."""
    item = NewExecution(kind="work")
    packed = encode_item(item, "minted")
    for expected in (b"created", b"duplicate"):
        ((word, *_),) = await store.caller.write(
            "hf_execution_create", store.tag_of("minted"), packed, item.input
        )
        assert word == expected
    assert await newest_first(store) == ["minted"]


async def test_a_batch_is_born_in_its_order(store: Store) -> None:
    """Order inside a call and between calls of the same instant is exact."""
    first = await create_together(store, *[{} for _ in range(40)])
    root = first[0].partition("~")[0]
    second = [await create_one(store, id=f"{root}~{n}") for n in ("x", "a", "m")]
    assert await newest_first(store) == list(reversed(first + second))
    claims = await claim_in(store, store.tag_of(root), limit=100)
    assert [claim.id for claim in claims] == first + second


async def test_births_rise_when_the_clock_goes_back(store: Store, clock: Clock) -> None:
    """A clock that is set back, as after a failover, does not let the young overtake the old."""
    old = await create_one(store, id="r~1")
    await clock.set(START_MS - 60_000)
    young = await create_one(store, id="r~2")
    claims = await claim_in(store, store.tag_of("r"), limit=2)
    assert [claim.id for claim in claims] == [old, young]


async def test_a_draining_lane_still_answers_for_what_it_has(store: Store) -> None:
    """A repetition is no new work."""
    await create_one(store, id="a")
    await store.lanes.set_state("default", "draining")
    (again,) = await store.executions.create([NewExecution(kind="work", id="a")])
    assert isinstance(again, Submitted)
    assert again.duplicate


@pytest.mark.parametrize(
    ("item", "error"),
    [
        (NewExecution(kind="other", id="a"), IdConflict),
        (NewExecution(kind="work", id="b", lane="closing"), LaneDraining),
        (NewExecution(kind="work", id="a", input=b"2"), IdConflict),
        (NewExecution(kind="work", id="a", retry=RetryPolicy(max_attempts=2)), IdConflict),
    ],
)
async def test_a_refused_creation_writes_nothing(
    store: Store, dump: Dump, item: NewExecution, error: type[HoldfastError]
) -> None:
    """Not even a counter moves."""
    await create_one(store, id="a")
    await store.lanes.set_state("closing", "draining")
    before = dump()
    (answer,) = await store.executions.create([item])
    assert type(answer) is error
    assert dump() == before


async def test_a_delayed_start_waits_for_its_time(store: Store, clock: Clock) -> None:
    """A delay counts from the creation, on the clock of the store."""
    execution_id = await create_one(store, delay_ms=5_000)
    found = await store.queries.describe(execution_id)
    assert (found.state, found.hold) == (State.DELAYED, Hold.DELAY)
    assert found.run_at == from_ms(clock.now_ms + 5_000)
    assert await claim_in(store, store.tag_of(execution_id)) == []


async def test_a_start_at_a_moment_waits_for_it(store: Store, clock: Clock) -> None:
    """A moment in the future delays, one that has passed does not."""
    later = await create_one(store, run_at=from_ms(clock.now_ms + 1))
    now = await create_one(store, run_at=from_ms(clock.now_ms))
    past = await create_one(store, run_at=from_ms(clock.now_ms - 1))
    states = [(await store.queries.describe(x)).state for x in (later, now, past)]
    assert states == [State.DELAYED, State.WAITING, State.WAITING]


async def test_no_delay_is_no_delay(store: Store) -> None:
    """A delay of zero is ready at once."""
    execution_id = await create_one(store, delay_ms=0)
    assert (await store.queries.describe(execution_id)).state is State.WAITING


async def test_a_deadline_counts_from_the_creation(store: Store, clock: Clock) -> None:
    """The deadline holds for delayed and for ready executions."""
    for delay_ms in (None, 99_000):
        execution_id = await create_one(store, deadline_ms=7_000, delay_ms=delay_ms)
        found = await store.queries.describe(execution_id)
        assert found.deadline_at == from_ms(clock.now_ms + 7_000)


@pytest.mark.parametrize("value", ["short", "long" * 60])
async def test_tags_are_kept_and_indexed(store: Store, dump: Dump, value: str) -> None:
    """Small tags live in the record, large ones in a key of their own; both are found."""
    tags = {"order": value, "region": "eu"}
    execution_id = await create_one(store, tags=tags)
    assert (await store.queries.describe(execution_id)).tags == tags
    for pair in tags.items():
        page = await store.queries.list_executions(Filter(tag=pair), 10, None)
        assert [found.id for found in page.items] == [execution_id]
    assert (f"{store.tag_of(execution_id)}:t:{execution_id}" in dump()) == (len(value) > 60)


async def test_work_on_an_empty_route_wakes_the_lane_once(store: Store) -> None:
    """The first ready execution of a tenant is announced; more of the same are not."""
    heard: list[str] = []
    # A minted id belongs to no tenant, so all these live together.
    root = new_id()
    channel = channels.work(store.tag_of(root), "default")

    def listen(_channel: str, message: str) -> None:
        heard.append(message)

    await store.subscriptions.add([channel], listen)
    await create_one(store, id=f"{root}~1", delay_ms=9_000)
    await create_one(store, id=f"{root}~2")
    await create_one(store, id=f"{root}~3")
    await create_one(store, id=f"{root}~4", tenant="other")
    # A last message that surely comes: then all before it have come too.
    await store.client.call(
        ["SPUBLISH" if store.client.cluster else "PUBLISH", channel, "end of test"]
    )

    async def ended() -> bool:
        return "end of test" in heard

    await wait_for(ended)
    await store.subscriptions.remove([channel], listen)
    assert heard == ["work", "work", "end of test"]
