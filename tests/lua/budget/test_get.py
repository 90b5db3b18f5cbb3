"""hf_budget_get."""

from __future__ import annotations

from holdfast.model.moments import from_ms
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.limits import make_budget, report, reserve


async def test_it_shows_usage_reservations_and_the_last_breach(store: Store, clock: Clock) -> None:
    """Everything that counts, and what was refused last."""
    await make_budget(store, limits={"tokens": {"hard": 10, "soft": 4}})
    await report(store, 5)
    await reserve(store, 2)
    await clock.advance(50)
    await report(store, 4)
    found = await store.budgets.get("b")
    assert (found.usage, found.reserved, found.over_soft) == (
        {"tokens": 5},
        {"tokens": 2},
        ("tokens",),
    )
    assert (found.breaches.hard, found.breaches.soft) == (1, 1)
    assert found.breaches.last is not None
    last = found.breaches.last
    assert (last.kind, last.dimension, last.current, last.limit) == ("hard", "tokens", 7, 10)
    assert last.at == from_ms(clock.now_ms)


async def test_it_says_how_many_wait(store: Store) -> None:
    """Executions that are not started because nothing is left."""
    await make_budget(store, hard=0)
    tag = await store.budgets.tag("b")
    await store.budgets.admit(tag, [("e1", 1, ["b"]), ("e2", 1, ["b"])])
    assert (await store.budgets.get("b")).waiting == 2
