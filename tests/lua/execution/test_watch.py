"""hf_execution_watch, and the announcement of every end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from holdfast.errors import ExecutionNotFound
from holdfast.model import records
from holdfast.model.executions import Failure
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import (
    Dump,
    claim_in,
    claim_one,
    complete_one,
    create_one,
    refused,
)
from tests.support.mailbox import Mailbox

FAILURE = Failure(type="IOError", message="no route")


async def test_an_execution_without_outcome_has_only_its_state(store: Store, clock: Clock) -> None:
    """Waiting, active, delayed: the state and nothing else."""
    execution_id = await create_one(store)
    assert await store.executions.watch(execution_id, "") == [b"waiting"]
    claim = await claim_one(store, execution_id)
    assert await store.executions.watch(execution_id, "") == [b"active"]
    await store.executions.delay(execution_id, claim.lease, 1_000)
    assert await store.executions.watch(execution_id, "") == [b"delayed"]


@pytest.mark.parametrize("result", [b"", b"1", b"y" * 65, bytes(range(256)) * 50])
async def test_a_result_comes_back_byte_for_byte(store: Store, result: bytes) -> None:
    """Small ones live in the record, large ones beside it; nobody can tell."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.complete(claim.id, claim.lease, result, "application/x-test")
    state, found, content_type, _ = await store.executions.watch(claim.id, "")
    assert (state, found, content_type) == (b"completed", result, b"application/x-test")


async def test_an_end_without_result_says_why(store: Store) -> None:
    """The error of a failure, the reason of a cancellation."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.fail(claim.id, claim.lease, FAILURE)
    state, result, _, last = await store.executions.watch(claim.id, "")
    assert (state, result) == (b"failed", b"")
    assert records.entry(last)["error"] == {"type": "IOError", "message": "no route"}
    cancelled = await create_one(store)
    await store.executions.cancel(cancelled, "enough")
    state, result, _, last = await store.executions.watch(cancelled, "")
    assert (state, result) == (b"cancelled", b"")
    assert records.entry(last)["reason"] == "enough"


async def test_only_reading_leaves_no_trace(store: Store, dump: Dump) -> None:
    """Without a process nothing is written, nor for an execution that has ended."""
    ended, waiting = await complete_one(store), await create_one(store)
    before = dump()
    await store.executions.watch(waiting, "")
    await store.executions.watch(ended, "process")
    assert dump() == before


async def test_a_repeated_watch_changes_nothing(store: Store, dump: Dump) -> None:
    """A process waits once, however often it asks."""
    execution_id = await create_one(store)
    assert await store.executions.watch(execution_id, "p") == [b"waiting"]
    before = dump()
    assert await store.executions.watch(execution_id, "p") == [b"waiting"]
    assert dump() == before


async def complete(store: Store, clock: Clock, execution_id: str) -> str:
    claim = await claim_one(store, execution_id)
    await store.executions.complete(execution_id, claim.lease, b"1")
    return "completed"


async def fail(store: Store, clock: Clock, execution_id: str) -> str:
    claim = await claim_one(store, execution_id)
    await store.executions.fail(execution_id, claim.lease, FAILURE)
    return "failed"


async def cancel_waiting(store: Store, clock: Clock, execution_id: str) -> str:
    await store.executions.cancel(execution_id, "")
    return "cancelled"


async def cancel_active(store: Store, clock: Clock, execution_id: str) -> str:
    await claim_one(store, execution_id)
    await store.executions.cancel(execution_id, "")
    return "cancelled"


async def pass_deadline(store: Store, clock: Clock, execution_id: str) -> str:
    await clock.advance_and_tick(50_000)
    return "expired"


async def reach_reclaim_limit(store: Store, clock: Clock, execution_id: str) -> str:
    await claim_one(store, execution_id, lease_ms=1_000)
    await clock.advance_and_tick(1_000)
    return "failed"


async def time_out(store: Store, clock: Clock, execution_id: str) -> str:
    await claim_one(store, execution_id, lease_ms=40_000)
    await clock.advance_and_tick(20_000)
    return "failed"


async def complete_after_delay(store: Store, clock: Clock, execution_id: str) -> str:
    claim = await claim_one(store, execution_id)
    await store.executions.delay(execution_id, claim.lease, 1_000)
    await clock.advance_and_tick(1_000)
    return await complete(store, clock, execution_id)


Ending = Callable[[Store, Clock, str], Awaitable[str]]
ENDINGS: list[Ending] = [
    *(complete, fail, cancel_waiting, cancel_active, pass_deadline),
    *(reach_reclaim_limit, time_out, complete_after_delay),
]


@pytest.mark.parametrize("end", ENDINGS, ids=lambda end: end.__name__)
async def test_every_end_is_announced(
    store: Store, clock: Clock, mailbox: Mailbox, dump: Dump, end: Ending
) -> None:
    """Whatever way an execution ends, each process that waits for it is told once."""
    execution_id = await create_one(
        store, deadline_ms=50_000, attempt_timeout_ms=20_000, max_reclaims=0
    )
    await store.executions.watch(execution_id, mailbox.process)
    await store.executions.watch(execution_id, "somebody else")
    state = await end(store, clock, execution_id)
    assert await mailbox.wait() == [f"{state} {execution_id}"]
    assert not [key for key in dump() if f":w:{execution_id}" in key]


async def test_an_end_is_told_to_all_who_wait_and_to_nobody_else(
    store: Store, mailbox: Mailbox
) -> None:
    """Two executions, one watched: the other's end is no news for this process."""
    unwatched, watched = await create_one(store), await create_one(store)
    await store.executions.watch(watched, mailbox.process)
    await store.executions.cancel(unwatched, "")
    await store.executions.cancel(watched, "")
    assert await mailbox.wait() == [f"cancelled {watched}"]


async def test_a_retry_is_not_announced(store: Store, clock: Clock, mailbox: Mailbox) -> None:
    """Only the end is news; the watch lasts over attempts until then."""
    execution_id = await create_one(store)
    await store.executions.watch(execution_id, mailbox.process)
    await claim_one(store, execution_id, lease_ms=1_000)
    await clock.advance_and_tick(1_000)
    await complete(store, clock, execution_id)
    assert await mailbox.wait() == [f"completed {execution_id}"]


async def test_a_replay_needs_a_new_watch(store: Store, clock: Clock, mailbox: Mailbox) -> None:
    """Who was told of the first end is told of the second only if it asked again."""
    execution_id = await create_one(store)
    await store.executions.watch(execution_id, mailbox.process)
    await complete(store, clock, execution_id)
    await store.executions.replay(execution_id, keep_steps=False, from_step="", reason="")
    await complete(store, clock, execution_id)
    await store.executions.replay(execution_id, keep_steps=False, from_step="", reason="")
    await store.executions.watch(execution_id, mailbox.process)
    await store.executions.cancel(execution_id, "")
    assert await mailbox.wait(2) == [f"completed {execution_id}", f"cancelled {execution_id}"]


async def test_watching_an_unknown_execution_is_not_found(store: Store, dump: Dump) -> None:
    """Nobody waits for what does not exist."""
    await refused(store.executions.watch("nobody", "p"), ExecutionNotFound, dump, id="nobody")
    assert await claim_in(store, store.tag_of("nobody")) == []
