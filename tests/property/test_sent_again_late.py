"""What the state machine found: calls sent again after a lost reply, and other surprises."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.errors import HoldfastError, IdConflict
from holdfast.model.executions import NewExecution, Submitted
from holdfast.model.states import State
from holdfast.store.executions import Executions
from holdfast.store.store import Store
from holdfast.store.valkey.call import Caller
from tests.support.lifecycle import claim_in, claim_one, complete_one, create_one


class RecordingCaller(Caller):
    """A caller that can send its calls again."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.client, timeout_ms=5_000, loader=store.loader)
        self.last: tuple[Any, ...] = ()

    async def write(self, function: str, tag: str, *args: str | bytes) -> list[Any]:
        """Call and remember."""
        self.last = (function, tag, *args)
        return await super().write(function, tag, *args)

    async def again(self, call: tuple[Any, ...]) -> list[Any]:
        """Send a call as it was."""
        return await super().write(*call)


@pytest.fixture
def caller(store: Store) -> RecordingCaller:
    """Record the calls of the store."""
    caller = RecordingCaller(store)
    store.caller = caller
    store.executions = Executions(store)
    return caller


async def test_a_cancel_sent_again_does_not_cancel_a_replay(
    store: Store, caller: RecordingCaller
) -> None:
    """Somebody replayed in between: the repeated cancel is not meant for this run."""
    execution_id = await create_one(store)
    await store.executions.cancel(execution_id, "")
    cancelling = caller.last
    await store.executions.replay(execution_id, keep_steps=False, from_step="", reason="")
    assert await caller.again(cancelling) == [b"cancelled"]
    assert (await store.queries.describe(execution_id)).state is State.WAITING


async def test_a_prioritize_sent_again_gets_the_first_answer(
    store: Store, caller: RecordingCaller
) -> None:
    """The previous priority is that from before the first call."""
    execution_id = await create_one(store)
    assert await store.executions.prioritize(execution_id, 5) == 0
    assert await caller.again(caller.last) == [0]


async def test_a_replay_sent_again_late_gets_the_first_answer(
    store: Store, caller: RecordingCaller
) -> None:
    """The answer does not depend on what happened since."""
    execution_id = await complete_one(store)
    await store.executions.replay(execution_id, keep_steps=False, from_step="", reason="")
    replaying = caller.last
    await claim_one(store, execution_id)
    assert await caller.again(replaying) == [b"waiting"]


async def test_a_claim_for_one_tenant_does_not_set_its_virtual_time_back(
    single_store: Store,
) -> None:
    """What a tenant got on one route counts on the others, whoever asks."""
    store = single_store
    (tag,) = store.tags()
    for tenant in ("greedy", "modest"):
        for requires in ((), ("gpu",)):
            for _ in range(4):
                await create_one(store, tenant=tenant, requires=requires)
    await claim_in(store, tag, tenant="greedy", limit=3)
    await claim_in(store, tag, tenant="greedy", limit=1, capabilities=["gpu"])
    # Greedy has had 4, so modest has the next 4 turns.
    got = [(await claim_in(store, tag, capabilities=["gpu"]))[0].tenant for _ in range(4)]
    assert got == ["modest"] * 4


async def test_a_key_is_not_bound_to_an_execution_with_other_content(store: Store) -> None:
    """A refused creation leaves its key free: later work under it is not taken for another's."""
    await create_one(store, id="taken", input=b"theirs")
    item = NewExecution(kind="work", input=b"ours", idempotency_key="k", id="taken")
    (refused,) = await store.executions.create([item])
    assert isinstance(refused, HoldfastError)
    (accepted,) = await store.executions.create(
        [NewExecution(kind="work", input=b"ours", idempotency_key="k")]
    )
    assert isinstance(accepted, Submitted)
    assert await store.queries.input(accepted.id) == b"ours"
    assert isinstance(refused, IdConflict)
