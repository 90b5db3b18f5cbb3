"""hf_execution_causes."""

from __future__ import annotations

from holdfast.model.causes import Cause
from holdfast.model.executions import Failure
from holdfast.model.moments import from_ms
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS, Clock
from tests.support.lifecycle import again, claim_one, create_one

TRACE = """Traceback (most recent call last):
  File "/app/worker.py", line 9, in run
  File "/app/shop.py", line 41, in charge
"""


async def fail(store: Store, error_type: str, kind: str = "k", **fields: object) -> str:
    """Have an execution fail for good; returns its id."""
    claim = await claim_one(store, await create_one(store, kind=kind))
    failure = Failure(type=error_type, message="no", retryable=False, **fields)  # type: ignore[arg-type]
    await store.executions.fail(claim.id, claim.lease, failure)
    return str(claim.id)


async def causes(store: Store, **wanted: object) -> list[Cause]:
    """Return the causes."""
    absent = dict.fromkeys(("tenant", "kind", "since", "until"))
    return await store.queries.causes(**{**absent, **wanted})  # type: ignore[arg-type]


async def test_failures_are_grouped_by_task_type_code_and_place(store: Store, clock: Clock) -> None:
    """The most frequent first, with the last ones as examples."""
    ids = []
    for _ in range(5):
        ids.append(await fail(store, "Declined", details={"traceback": TRACE, "code": "card"}))
        await clock.advance(1_000)
    other = await fail(store, "Declined", kind="other")
    first, second = await causes(store)
    assert first == Cause(
        kind="k",
        error_type="Declined",
        code="card",
        place="shop.py:41 in charge",
        count=5,
        first_at=from_ms(START_MS),
        last_at=from_ms(START_MS + 4_000),
        examples=(ids[4], ids[3], ids[2]),
    )
    assert (second.kind, second.code, second.place, second.example) == ("other", "", "", other)
    assert await causes(store, kind="other") == [second]


async def test_only_ends_of_the_time_count(store: Store, clock: Clock) -> None:
    """By when they ended, not by when they were created; expired ones are failures too."""
    await fail(store, "Early")
    await create_one(store, deadline_ms=60_000)
    await clock.advance_and_tick(61_000)
    (late,) = await causes(store, since=from_ms(START_MS + 1))
    assert (late.error_type, late.count) == ("expired", 1)
    (early,) = await causes(store, until=from_ms(START_MS + 1))
    assert early.error_type == "Early"


async def test_a_replay_takes_a_failure_back(store: Store) -> None:
    """A count is the size of a set, so it cannot drift; other tenants see nothing of it."""
    first = await fail(store, "Late")
    second = await fail(store, "Late")
    assert await causes(store, tenant="acme") == []
    await again(store, first)
    (left,) = await causes(store)
    assert (left.count, left.examples) == (1, (second,))
    await again(store, second)
    assert await causes(store, tenant="default") == []


async def test_a_version_that_names_no_cause_has_its_failures_grouped_by_type(store: Store) -> None:
    """Such as 0.1.0, whose call has one argument less."""
    claim = await claim_one(store, await create_one(store))
    args = (claim.id, str(claim.lease.fence), "Declined", "0", "", b"{}")
    await store.caller.write("hf_execution_fail", store.tag_of(claim.id), *args)
    (found,) = await causes(store)
    assert (found.error_type, found.count) == ("Declined", 1)
