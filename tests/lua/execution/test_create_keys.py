"""hf_execution_create: idempotency keys, alone and together with an id."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.errors import HoldfastError, IdempotencyConflict, LaneDraining
from holdfast.model.executions import NewExecution, Submitted
from holdfast.model.ids import id_of_key
from holdfast.model.listing import Filter
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, claim_one, create_one


async def submit(store: Store, **fields: Any) -> Submitted | HoldfastError:
    (answer,) = await store.executions.create([NewExecution(**{"kind": "work", **fields})])
    return answer


async def duplicate_of(store: Store, **fields: Any) -> str:
    """Submit and expect to be told of an execution that exists."""
    answer = await submit(store, **fields)
    assert isinstance(answer, Submitted), answer
    assert answer.duplicate
    return answer.id


async def how_many(store: Store) -> int:
    return len((await store.queries.list_executions(Filter(), 100, None)).items)


async def test_the_same_key_and_content_is_a_duplicate(store: Store) -> None:
    """The second call gets the first execution and its present state."""
    first = await create_one(store, idempotency_key="k", input=b"1")
    claim = await claim_one(store, first)
    again = await submit(store, idempotency_key="k", input=b"1")
    assert again == Submitted(id=first, state=State.ACTIVE, duplicate=True)
    await store.executions.complete(first, claim.lease, b"1")
    again = await submit(store, idempotency_key="k", input=b"1")
    assert again == Submitted(id=first, state=State.COMPLETED, duplicate=True)
    assert await how_many(store) == 1


@pytest.mark.parametrize("other", [{"input": b"2"}, {"kind": "other"}, {"priority": 1}])
async def test_the_same_key_with_other_content_is_a_conflict(
    store: Store, other: dict[str, Any]
) -> None:
    """The refusal names the execution that has the key, and the first stays as it is."""
    first = await create_one(store, idempotency_key="k", input=b"1")
    answer = await submit(store, **{"idempotency_key": "k", "input": b"1", **other})
    assert type(answer) is IdempotencyConflict
    assert answer.context["id"] == first
    assert await store.queries.input(first) == b"1"
    assert await how_many(store) == 1


async def test_the_same_key_twice_in_one_batch_is_a_duplicate(store: Store) -> None:
    """Items of a batch see those before them."""
    item = NewExecution(kind="work", idempotency_key="k")
    first, second = await store.executions.create([item, item])
    assert isinstance(first, Submitted)
    assert isinstance(second, Submitted)
    assert (first.duplicate, second.duplicate) == (False, True)
    assert first.id == second.id


async def test_keys_of_tenants_are_apart(store: Store) -> None:
    """Two tenants may use the same key for different work."""
    await create_one(store, tenant="a", idempotency_key="k", input=b"1")
    await create_one(store, tenant="b", idempotency_key="k", input=b"2")
    assert await how_many(store) == 2


async def test_a_key_is_free_again_when_its_execution_is_forgotten(
    store: Store, clock: Clock
) -> None:
    """The execution is the memory of its key."""
    first = await create_one(store, idempotency_key="k", retention_ms=1_000)
    await store.executions.cancel(first, "")
    await clock.advance_and_tick(1_000)
    answer = await submit(store, idempotency_key="k", input=b"other")
    assert isinstance(answer, Submitted)
    assert not answer.duplicate


async def test_an_id_with_a_key_is_created_under_its_id(store: Store) -> None:
    """The named id wins over the one that the key alone would get."""
    assert await create_one(store, id="a", idempotency_key="k") == "a"
    assert (await store.queries.describe("a")).idempotency_key == "k"


async def test_the_same_key_finds_the_first_id_whatever_else_is_named(store: Store) -> None:
    """The same id, another id and no id all lead to the first execution."""
    await create_one(store, id="a", idempotency_key="k")
    assert await duplicate_of(store, id="a", idempotency_key="k") == "a"
    assert await duplicate_of(store, id="b", idempotency_key="k") == "a"
    assert await duplicate_of(store, idempotency_key="k") == "a"
    assert await how_many(store) == 1


async def test_an_id_with_a_used_key_is_a_duplicate_of_the_keys_execution(store: Store) -> None:
    """A key that was first used alone is known to later calls that name an id."""
    first = await create_one(store, idempotency_key="k")
    assert await duplicate_of(store, id="b", idempotency_key="k") == first
    assert await how_many(store) == 1


@pytest.mark.parametrize("named", [{"id": "a"}, {"id": "b"}, {}])
async def test_a_bound_key_with_other_content_is_a_conflict(
    store: Store, named: dict[str, Any]
) -> None:
    """The refusal names the execution that has the key, not one that does not exist."""
    await create_one(store, id="a", idempotency_key="k")
    answer = await submit(store, idempotency_key="k", input=b"other", **named)
    assert type(answer) is IdempotencyConflict
    assert answer.context["id"] == "a"
    assert await how_many(store) == 1


@pytest.mark.parametrize("named", [{"id": "a"}, {"id": "b"}, {}])
async def test_a_binding_without_its_execution_is_followed(
    store: Store, named: dict[str, Any]
) -> None:
    """A caller that died between binding its key and creating its id blocks nobody."""
    item = NewExecution(kind="work", idempotency_key="k")
    derived = id_of_key("default", "k")
    args = ("default", "k", derived, "a", item.digest(), "60000")
    await store.caller.write("hf_execution_alias", store.tag_of(derived), *args)
    answer = await submit(store, idempotency_key="k", **named)
    assert isinstance(answer, Submitted), answer
    assert (await store.queries.describe(answer.id)).idempotency_key == "k"


@pytest.mark.parametrize("named", [{"id": "a"}, {"id": "b"}, {}])
async def test_a_bound_key_is_free_again_when_its_execution_is_forgotten(
    store: Store, clock: Clock, named: dict[str, Any]
) -> None:
    """A key is held as long as its execution is kept, no longer."""
    await create_one(store, id="a", idempotency_key="k", retention_ms=1_000)
    await store.executions.cancel("a", "")
    await clock.advance_and_tick(1_000)
    answer = await submit(store, idempotency_key="k", retention_ms=1_000, **named)
    assert isinstance(answer, Submitted), answer
    assert not answer.duplicate


async def test_a_refused_creation_does_not_bind_its_key(store: Store, dump: Dump) -> None:
    """The key of work that a draining lane refused can be used for other work."""
    await store.lanes.set_state("closing", "draining")
    answer = await submit(store, id="a", idempotency_key="k", lane="closing")
    assert type(answer) is LaneDraining
    assert await create_one(store, id="b", idempotency_key="k", input=b"other") == "b"
