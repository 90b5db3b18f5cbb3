"""Bulk actions: what they select, what they do once, and what becomes of them after a crash."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.archive import set_archive
from holdfast.engine import Engine
from holdfast.engine.bulk_runner import LEASE_MS, BulkRunner
from holdfast.errors import (
    AlreadyTerminal,
    BulkConflict,
    BulkNotFound,
    InvalidInput,
    SelectionChanged,
    StoreUnavailable,
)
from holdfast.model import references
from holdfast.model.bulk import KIND, LANE, Bulk, BulkAction, NewBulk
from holdfast.model.executions import Claim, NewExecution
from holdfast.model.listing import Filter
from holdfast.model.states import State
from holdfast.store.actors import acting_as
from holdfast.testing.clock import Clock
from holdfast.testing.polling import wait_for

MAIL = Filter(kind="mail.send")


def request(action: str = "cancel", wanted: Filter = MAIL, **fields: Any) -> NewBulk:
    """Describe a bulk action that does not wait between pages."""
    return NewBulk(action=BulkAction(action), wanted=wanted, **{"rate": 1_000, **fields})


async def submitted(engine: Engine, count: int, **fields: Any) -> list[str]:
    """Submit executions."""
    items = [NewExecution(**{"kind": "mail.send", **fields}) for _ in range(count)]
    answers = await engine.submit_many(items)
    return [answer.id for answer in answers if not isinstance(answer, Exception)]


async def completed(engine: Engine, count: int) -> list[str]:
    """Submit and complete executions."""
    ids = await submitted(engine, count)
    async with engine.claimer(worker="w") as claimer:
        done = 0
        while done < count:
            for claim in await claimer.claim(count, 60_000, 10_000):
                await engine.complete(claim.id, claim.lease, b"1")
                done += 1
    return ids


@contextlib.asynccontextmanager
async def claimed(engine: Engine) -> AsyncIterator[Claim]:
    """Claim the execution of a bulk action."""
    async with engine.claimer(worker="bulk", lanes=(LANE,), kinds=(KIND,)) as claimer:
        (claim,) = await claimer.claim(1, LEASE_MS, 10_000)
        yield claim


def runner_of(engine: Engine) -> BulkRunner:
    return BulkRunner(engine.store, engine.executions, engine.courier)


async def carried_out(engine: Engine, new: NewBulk) -> Bulk:
    """Start a bulk action and carry it out."""
    await engine.bulk.start(new)
    async with claimed(engine) as claim:
        await runner_of(engine).carry_out(claim)
    return await engine.bulk.get(new.id, tenant=new.tenant)


async def states(engine: Engine, ids: Sequence[str]) -> Counter[State]:
    return Counter([(await engine.describe(one)).state for one in ids])


async def test_all_that_match_are_cancelled_and_nothing_else(engine: Engine) -> None:
    """Other tasks, other tenants and executions that ended before stay as they are."""
    ended = await completed(engine, 2)
    mails = await submitted(engine, 150, tags={"batch": "7"})
    others = [
        *await submitted(engine, 3, kind="report"),
        *await submitted(engine, 3, tenant="acme"),
    ]
    new = request(reason="wrong address")
    preview = await engine.bulk.preview(new)
    assert (preview.total.count, preview.total.exact, len(preview.sample)) == (150, True, 10)
    assert {one.id for one in preview.sample} <= set(mails)
    with acting_as("key-1"):
        bulk = await carried_out(engine, new)
    assert (bulk.done, bulk.refused, bulk.state, bulk.pct) == (150, 0, State.COMPLETED, 100)
    assert (bulk.matched, bulk.by) == (150, "key-1")
    assert await states(engine, mails) == {State.CANCELLED: 150}
    assert await states(engine, [*ended, *others]) == {State.COMPLETED: 2, State.WAITING: 6}
    outcome = await engine.outcome(bulk.execution)
    assert outcome is not None
    assert msgspec.json.decode(outcome.result or b"")["done"] == 150
    (event,) = [one for one in await engine.history(mails[0]) if one.event == "cancelled"]
    assert event.data["reason"] == f"bulk {new.id}: wrong address"


async def test_executions_created_later_are_left_alone(engine: Engine, clock: Clock) -> None:
    """A bulk action is for what there is when it starts."""
    await submitted(engine, 3)
    new = request()
    await engine.bulk.start(new)
    await clock.advance(10)
    later = await submitted(engine, 2)
    async with claimed(engine) as claim:
        await runner_of(engine).carry_out(claim)
    assert (await engine.bulk.get(new.id)).done == 3
    assert await states(engine, later) == {State.WAITING: 2}


async def test_replays_priorities_and_copies(engine: Engine) -> None:
    """Each action does what its call for one execution does."""
    ended = await completed(engine, 3)
    replayed = await carried_out(engine, request("replay"))
    assert (replayed.done, await states(engine, ended)) == (3, {State.WAITING: 3})
    raised = await carried_out(engine, request("prioritize", priority=7))
    assert raised.done == 3
    assert {(await engine.describe(one)).priority for one in ended} == {7}
    copies = await carried_out(engine, request("resubmit", Filter(states=(State.WAITING,))))
    assert copies.done == 3
    page = await engine.list(Filter(tag=("resubmit_of", ended[0])))
    assert len(page.items) == 1


class _Dying(BulkRunner):
    """A runner whose process dies in the middle of a page."""

    acts_left = 0

    async def _act(self, bulk: Bulk, execution_id: str) -> Any:
        if not self.acts_left:
            raise StoreUnavailable("as a process that was killed")
        self.acts_left -= 1
        return await super()._act(bulk, execution_id)


@pytest.mark.parametrize("action", ["cancel", "replay", "resubmit"])
async def test_after_a_crash_each_execution_is_acted_on_once(
    engine: Engine, clock: Clock, action: str
) -> None:
    """Two runners die in the middle of their pages; the third counts each execution once."""
    acting = await submitted(engine, 25) if action == "cancel" else await completed(engine, 25)
    new = request(action, rate=10)
    await engine.bulk.start(new)
    for acts in (14, 4):
        dying = _Dying(engine.store, engine.executions, engine.courier)
        dying.acts_left = acts
        async with claimed(engine) as claim:
            await dying.carry_out(claim)
        if action == "replay":
            # The effect is over before the page is repeated; a second replay would show.
            await _complete_waiting(engine)
        await clock.advance_and_tick(LEASE_MS + 1)
        await clock.advance_and_tick(600_000)
    async with claimed(engine) as claim:
        await runner_of(engine).carry_out(claim)
    bulk = await engine.bulk.get(new.id)
    assert (bulk.done, bulk.refused, bulk.state) == (25, 0, State.COMPLETED)
    if action == "resubmit":
        copies = [await engine.list(Filter(tag=("resubmit_of", one))) for one in acting]
        assert [len(page.items) for page in copies] == [1] * 25
    else:
        event = {"cancel": "cancelled", "replay": "replayed"}[action]
        histories = [await engine.history(one) for one in acting]
        assert {sum(one.event == event for one in history) for history in histories} == {1}


async def _complete_waiting(engine: Engine) -> None:
    async with engine.claimer(worker="w") as claimer:
        for claim in await claimer.claim(100, 60_000):
            await engine.complete(claim.id, claim.lease, b"1")


async def test_what_is_refused_is_counted_and_shown(engine: Engine) -> None:
    """A member of a graph cannot be replayed alone."""
    await completed(engine, 1)
    made = await engine.graphs.submit({"a": NewExecution(kind="mail.send")}, [])
    await _complete_waiting(engine)
    bulk = await carried_out(engine, request("replay"))
    assert (bulk.done, bulk.refused, bulk.refusals) == (1, 1, {"member_of_graph": 1})
    assert [one.id for one in bulk.refused_items] == [f"{made.id}~a"]
    assert bulk.summary == "replay: 1 of 2, 1 refused"


async def _at_least(engine: Engine, bulk_id: str, count: int) -> bool:
    return (await engine.bulk.get(bulk_id)).done >= count


async def test_an_aborted_action_stops_and_can_be_continued(engine: Engine) -> None:
    """What was cancelled stays so, the rest is untouched until the execution is replayed."""
    mails = await submitted(engine, 6)
    new = request(rate=2)
    await engine.bulk.start(new)
    async with claimed(engine) as claim:
        running = asyncio.create_task(runner_of(engine).carry_out(claim))
        await wait_for(lambda: _at_least(engine, new.id, 2), timeout_s=60)
        aborted = await engine.bulk.abort(new.id, reason="wrong filter")
        await running
    assert aborted.state is State.CANCELLED
    assert (await engine.bulk.abort(new.id)).state is State.CANCELLED
    found = await states(engine, mails)
    assert found[State.CANCELLED] == (await engine.bulk.get(new.id)).done < 6
    await engine.replay(claim.id)
    async with claimed(engine) as claim:
        await runner_of(engine).carry_out(claim)
    assert (await engine.bulk.get(new.id)).done == 6
    with pytest.raises(AlreadyTerminal):
        await engine.bulk.abort(new.id)


async def test_a_runner_that_stops_hands_its_action_over(engine: Engine) -> None:
    """Another process continues at once, without waiting for the lease to end."""
    await submitted(engine, 4)
    new = request(rate=1)
    await engine.bulk.start(new)
    async with claimed(engine) as claim:
        running = asyncio.create_task(runner_of(engine).carry_out(claim))
        await wait_for(lambda: _at_least(engine, new.id, 1), timeout_s=60)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert (await engine.describe(claim.id)).state in {State.WAITING, State.DELAYED}


async def test_the_expected_count_must_be_about_right(engine: Engine) -> None:
    """A tenth more or less is fine; nothing starts otherwise."""
    await submitted(engine, 11)
    for expected in (0, 5, 13):
        with pytest.raises(SelectionChanged) as refused:
            await engine.bulk.start(request(expected=expected))
        assert refused.value.context["count"] == 11
    assert await engine.bulk.list() == []
    assert (await engine.bulk.start(request(expected=10))).matched == 11


async def test_a_repeated_start_returns_the_same_action(engine: Engine) -> None:
    """The count may have changed in between; another request with the id is refused."""
    await submitted(engine, 2)
    new = request(expected=2)
    first = await engine.bulk.start(new)
    await submitted(engine, 5)
    assert await engine.bulk.start(new) == first
    with pytest.raises(BulkConflict):
        await engine.bulk.start(request(id=new.id, wanted=Filter(kind="report")))
    assert [one.id for one in await engine.bulk.list()] == [new.id]
    with pytest.raises(BulkNotFound):
        await engine.bulk.get(new.id, tenant="acme")


async def test_an_execution_of_its_kind_alone_does_nothing(engine: Engine) -> None:
    """Every client can submit one, and name a bulk action that it did not start."""
    mails = await submitted(engine, 2)
    new = request()
    await engine.bulk.start(new)
    async with claimed(engine) as claim:
        await runner_of(engine).carry_out(claim)
    forged = [
        await engine.submit(KIND, lane=LANE, input=b'{"bulk": "%s"}' % new.id.encode()),
        await engine.submit(KIND, lane=LANE, input=b"[]"),
        await engine.submit(KIND, lane=LANE, input=b'{"bulk": "\xff"}'),
        await engine.submit(
            KIND, lane=LANE, input=b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        ),
        await engine.submit(KIND, lane=LANE, id="ghost", input=b'{"bulk": "ghost"}'),
    ]
    for _ in forged:
        async with claimed(engine) as claim:
            await runner_of(engine).carry_out(claim)
    assert await states(engine, [one.id for one in forged]) == {State.FAILED: 5}
    assert await states(engine, mails) == {State.CANCELLED: 2}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"wanted": Filter(tenant="acme")}, "filter"),
        ({"wanted": Filter(states=(State.COMPLETED,))}, "state"),
        ({"action": "replay", "wanted": Filter(state=State.ACTIVE)}, "state"),
        ({"action": "prioritize"}, "priority"),
        ({"priority": 3}, "priority"),
        ({"rate": 0}, "rate"),
        ({"rate": 1_001}, "rate"),
        ({"reason": "x" * 513}, "reason"),
        ({"expected": -1}, "expected"),
        ({"id": "a/b"}, "id"),
    ],
)
def test_what_makes_no_sense_is_refused(fields: dict[str, Any], field: str) -> None:
    """Above all an action on everything that a tenant has."""
    with pytest.raises(InvalidInput) as refused:
        request(**fields)
    assert refused.value.context["field"] == field


async def test_an_input_that_is_lost_stops_no_bulk_action(engine: Engine, tmp_path: Path) -> None:
    """Its execution is refused, and the others are copied."""
    await set_archive(engine.store, f"file://{tmp_path}", offload_bytes=2_000)
    ids = await submitted(engine, 2)
    payload = b'"' + b"x" * 5_000 + b'"'
    (lost,) = await submitted(engine, 1, input=payload)
    stored = await engine.store.queries.input(lost)
    (tmp_path / "objects" / references.decode(stored).key).unlink()
    await engine.bulk.start(request("resubmit", id="b"))
    async with claimed(engine) as claim:
        await runner_of(engine).carry_out(claim)
    found = await engine.bulk.get("b")
    assert (found.is_over, found.done, found.refused) == (True, len(ids), 1)
    assert [(one.id, one.code) for one in found.refused_items] == [(lost, "invalid_record")]
