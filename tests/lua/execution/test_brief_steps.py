"""Steps in briefs: the first of a plain execution are part of its record."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from holdfast.errors import ExecutionNotFound, StaleLease
from holdfast.model.executions import Claim, Failure, NewExecution
from holdfast.model.ids import new_id
from holdfast.store import restrictions
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_in, claim_one, create_one

SIZES = (0, 1, 64, 256, 300, 600, 700)


async def _types(store: Store, execution_id: str) -> tuple[bytes, bytes]:
    """Return the types of the keys of a record and of its steps."""
    tag = store.tag_of(execution_id)
    record = await store.client.call(["TYPE", f"{tag}:x:{execution_id}"])
    return record, await store.client.call(["TYPE", f"{tag}:s:{execution_id}"])


async def _steps(store: Store, execution_id: str) -> list[tuple[str, bytes]]:
    return [(step.name, step.result) for step in await store.queries.steps(execution_id)]


async def _record(store: Store, claim: Claim, *steps: tuple[str, bytes]) -> None:
    for name, result in steps:
        assert await store.executions.checkpoint(claim.id, claim.lease, name, result) == result


TWO = (("a", b"1"), ("b", b"\na\n1 2 "))


async def test_the_first_steps_need_no_key(store: Store, dump: Dump) -> None:
    """They are in the brief, to the end of the execution and after."""
    claim = await claim_one(store, await create_one(store, input=b"x" * 100))
    await _record(store, claim, *TWO)
    assert await _types(store, claim.id) == (b"string", b"none")
    assert await _steps(store, claim.id) == list(TWO)
    await store.executions.complete(claim.id, claim.lease, b"the end")
    assert await _types(store, claim.id) == (b"string", b"none")
    assert await _steps(store, claim.id) == list(TWO)
    outcome = await store.executions.outcome(claim.id)
    assert outcome is not None
    assert outcome.result == b"the end"
    assert violations(dump()) == []


async def test_many_steps_get_a_hash(store: Store, dump: Dump) -> None:
    """A brief that grew too long loses its steps to it, and counts on."""
    claim = await claim_one(store, await create_one(store, input=b"x" * 100))
    steps = [(f"step {n}", b"%d" % n) for n in range(60)]
    for number, step in enumerate(steps):
        await _record(store, claim, step)
        assert await _steps(store, claim.id) == steps[: number + 1]
    assert await _types(store, claim.id) == (b"string", b"hash")
    for name, result in steps:
        assert await store.executions.checkpoint(claim.id, claim.lease, name, b"x") == result
    assert violations(dump()) == []
    await store.executions.complete(claim.id, claim.lease, b"1")
    assert await _types(store, claim.id) == (b"string", b"hash")
    assert await _steps(store, claim.id) == steps
    assert violations(dump()) == []


@pytest.mark.parametrize("size", SIZES)
async def test_results_of_any_size_between_small_ones(store: Store, dump: Dump, size: int) -> None:
    """Whether or not they fit, nothing is lost."""
    claim = await claim_one(store, await create_one(store, input=b"\na\n" * 80))
    steps = [("a", b"1"), ("b", b"\n" * size), ("c", b""), ("d" * 200, b"2")]
    await _record(store, claim, *steps)
    assert await _steps(store, claim.id) == steps
    assert violations(dump()) == []


async def test_what_looks_like_a_step_is_none(store: Store) -> None:
    """Neither in the input nor in a result; and a name with a line end has the hash."""
    claim = await claim_one(store, await create_one(store, input=b"\ns\n1 1 x"))
    steps = [("other", b"\ns\n1 1 y"), ("s", b"real"), ("two\nlines", b"1"), ("lines", b"2")]
    await _record(store, claim, *steps)
    assert await _steps(store, claim.id) == steps
    assert await store.executions.checkpoint(claim.id, claim.lease, "s", b"x") == b"real"


async def test_several_steps_of_one_execution_in_a_call(store: Store, dump: Dump) -> None:
    """Each is recorded; of two with one name the first counts."""
    claim = await claim_one(store, await create_one(store))
    named = [("a", b"1"), ("b", b"2"), ("a", b"3"), ("c", b"x" * 700), ("d", b"4"), ("c", b"5")]
    answers = await asyncio.gather(
        *(store.executions.checkpoint(claim.id, claim.lease, *step) for step in named)
    )
    assert answers == [b"1", b"2", b"1", b"x" * 700, b"4", b"x" * 700]
    assert [name for name, _ in await _steps(store, claim.id)] == ["a", "b", "c", "d"]
    assert violations(dump()) == []


async def test_items_of_every_kind_in_one_call(store: Store, dump: Dump) -> None:
    """Briefs, a hash, a lost lease and a step that is known: each has its own answer."""
    root = new_id()
    items = [
        NewExecution(kind="work", id=f"{root}~{n}", tags={"n": "1"} if n == 1 else {})
        for n in range(4)
    ]
    await store.executions.create(items)
    claims = await claim_in(store, store.tag_of(root), limit=10)
    await _record(store, claims[2], ("s", b"first"))
    await store.executions.complete(claims[3].id, claims[3].lease, b"1")
    answers = await asyncio.gather(
        *(store.executions.checkpoint(claim.id, claim.lease, "s", b"now") for claim in claims),
        return_exceptions=True,
    )
    assert answers[:3] == [b"now", b"now", b"first"]
    assert isinstance(answers[3], Exception)
    assert [await _steps(store, claim.id) for claim in claims] == [
        [("s", b"now")], [("s", b"now")], [("s", b"first")], [],
    ]  # fmt: skip
    assert violations(dump()) == []


async def test_another_tenant_cannot_record(store: Store, dump: Dump) -> None:
    """The execution looks missing; its own tenant can."""
    claim = await claim_one(store, await create_one(store, tenant="a"))
    before = dump()
    with restrictions.restricted("b", [claim.id]), pytest.raises(ExecutionNotFound):
        await store.executions.checkpoint(claim.id, claim.lease, "s", b"1")
    assert dump() == before
    with restrictions.restricted("a", [claim.id]):
        await _record(store, claim, ("s", b"1"))
    assert await _types(store, claim.id) == (b"string", b"none")


async def test_a_late_holder_records_nothing(store: Store, clock: Clock, dump: Dump) -> None:
    """The next attempt has what was recorded in time."""
    claim = await claim_one(store, await create_one(store), lease_ms=1_000)
    await _record(store, claim, *TWO)
    await clock.advance(seconds=2)
    with pytest.raises(StaleLease):
        await store.executions.checkpoint(claim.id, claim.lease, "c", b"1")
    await clock.tick()
    second = await claim_one(store, claim.id)
    assert list(second.steps.items()) == list(TWO)
    await _record(store, second, ("c", b"2"))
    assert await _steps(store, claim.id) == [*TWO, ("c", b"2")]
    assert violations(dump()) == []


async def test_a_repeated_claim_has_them(store: Store) -> None:
    """Its worker lost the first reply, and another call of it recorded a step."""
    execution_id = await create_one(store)
    tag = store.tag_of(execution_id)
    (claim,) = await claim_in(store, tag, worker="w", request="r")
    await _record(store, claim, *TWO)
    (repeated,) = await claim_in(store, tag, worker="w", request="r")
    assert dict(repeated.steps) == dict(TWO)


async def _fail(store: Store, claim: Claim) -> None:
    await store.executions.fail(claim.id, claim.lease, Failure(type="Oops", message="no"))


CHANGES: dict[str, Callable[[Store, Claim], Awaitable[object]]] = {
    "renew": lambda store, claim: store.leases.renew([(claim.id, claim.lease)], 90_000),
    "fail": _fail,
    "watch": lambda store, claim: store.executions.watch(claim.id, "process"),
    "cancel": lambda store, claim: store.executions.cancel(claim.id, "why"),
    "continue": lambda store, claim: store.executions.continue_as(claim.id, claim.lease, b"y", 0),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_makes_them_a_hash(store: Store, dump: Dump, change: str) -> None:
    """None is lost, but for those of an execution that starts again."""
    claim = await claim_one(store, await create_one(store))
    await _record(store, claim, *TWO)
    await CHANGES[change](store, claim)
    is_empty = change == "continue"
    assert await _types(store, claim.id) == (b"hash", b"none" if is_empty else b"hash")
    assert await _steps(store, claim.id) == ([] if is_empty else list(TWO))
    assert violations(dump()) == []


@pytest.mark.parametrize(
    ("keep_steps", "from_step", "left"), [(True, "", 2), (False, "", 0), (False, "b", 1)]
)
async def test_a_replay_keeps_what_it_is_to_keep(
    store: Store, dump: Dump, keep_steps: bool, from_step: str, left: int
) -> None:
    """All, none, or those before a step."""
    claim = await claim_one(store, await create_one(store))
    await _record(store, claim, *TWO)
    await store.executions.complete(claim.id, claim.lease, b"1")
    await store.executions.replay(
        claim.id, keep_steps=keep_steps, from_step=from_step, reason="why"
    )
    again = await claim_one(store, claim.id)
    assert list(again.steps.items()) == list(TWO[:left])
    assert violations(dump()) == []


async def test_an_export_has_them(store: Store) -> None:
    """As those of a hash."""
    claim = await claim_one(store, await create_one(store))
    await _record(store, claim, *TWO)
    await store.executions.complete(claim.id, claim.lease, b"1")
    exported = await store.archives.export(claim.id)
    assert [(step.name, step.result) for step in exported.steps()] == list(TWO)
