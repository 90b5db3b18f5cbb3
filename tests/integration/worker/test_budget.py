"""ctx.budget: what a task spends."""

from __future__ import annotations

import pytest

from holdfast import App, Context, SyncContext
from holdfast.errors import BudgetExceeded, BudgetNotFound, ExecutionFailed, InvalidPayload
from holdfast.model.budgets import ChargeStatus
from holdfast.model.states import State
from holdfast.testing import TestApp
from holdfast.testing.stores import TestStore
from tests.support.limits import make_budget, make_quota, standing


async def test_a_block_is_charged_what_it_settles(holdfast_store: TestStore) -> None:
    """The rest returns; a plain report is charged as it is."""
    app = App()

    @app.task(budgets=["b"])
    async def answer(ctx: Context) -> str:
        async with ctx.budget.reserve(tokens=50) as r:
            assert await standing(holdfast_store) == ({}, {"tokens": 50})
            r.settle(tokens=20)
        charge = await ctx.budget.report(tokens=5, calls=1)
        assert charge.status is ChargeStatus.OK
        return "done"

    async with TestApp(app, store=holdfast_store) as t:
        await make_budget(holdfast_store)
        handle = await answer.submit()
        await t.run_until_idle()
        assert await t.result(handle) == "done"
        assert await standing(holdfast_store) == ({"tokens": 25, "calls": 1}, {})
        assert await t.engine.budgets.spent(handle.id) == {"b": {"tokens": 25, "calls": 1}}


async def test_a_plain_function_spends_alike(holdfast_store: TestStore) -> None:
    """With blocks and calls that block."""
    app = App()

    @app.task(budgets=["b"])
    def answer(ctx: SyncContext) -> None:
        with ctx.budget.reserve(tokens=50) as r:
            r.settle({"tokens": 20})
        ctx.budget.report(tokens=5)
        with pytest.raises(RuntimeError), ctx.budget.reserve(tokens=10):
            raise RuntimeError
        with ctx.budget.reserve(tokens=3):
            pass

    async with TestApp(app, store=holdfast_store) as t:
        await make_budget(holdfast_store)
        await t.run(answer)
        assert await standing(holdfast_store) == ({"tokens": 28}, {})


async def test_a_hard_breach_is_raised(holdfast_store: TestStore) -> None:
    """The task may catch it; else the attempt fails with its code."""
    app = App()

    @app.task(budgets=["b"])
    async def spend(ctx: Context, tokens: int) -> str:
        with pytest.raises(BudgetExceeded) as caught:
            await ctx.budget.report(tokens=tokens)
        expected = {"budget": "b", "dimension": "tokens", "current": 0, "limit": 100}
        assert caught.value.context == expected
        async with ctx.budget.reserve(tokens=tokens):
            return "not reached"

    async with TestApp(app, store=holdfast_store) as t:
        await make_budget(holdfast_store)
        with pytest.raises(ExecutionFailed) as failed:
            await t.run(spend, 101)
        assert failed.value.context["error"]["type"] == "budget_exceeded"
        assert await standing(holdfast_store) == ({}, {})


async def test_a_breach_can_cancel_the_execution(holdfast_store: TestStore) -> None:
    """The task is stopped where it stands."""
    app = App()
    reached: list[str] = []

    @app.task(budgets=["b"])
    async def spend(ctx: Context) -> None:
        try:
            await ctx.budget.report(tokens=101)
        except Exception:  # noqa: BLE001 - a task cannot catch it
            reached.append("caught")
        reached.append("after")

    async with TestApp(app, store=holdfast_store) as t:
        await make_budget(holdfast_store, on_hard="cancel")
        handle = await spend.submit()
        await t.run_until_idle()
        found = await handle.describe()
        assert found.state is State.CANCELLED
        assert found.reason == "budget b: no tokens left (limit 100)"
        assert reached == []


async def test_a_key_is_charged_once_over_all_attempts(holdfast_store: TestStore) -> None:
    """A retried step does not pay twice; without a key it does."""
    app = App()

    @app.task(budgets=["b"], retries=2)
    async def spend(ctx: Context) -> None:
        await ctx.budget.report(tokens=7, key="once")
        await ctx.budget.report(tokens=1)
        if ctx.attempt < 2:
            raise RuntimeError

    async with TestApp(app, store=holdfast_store) as t:
        await make_budget(holdfast_store)
        await t.run(spend)
        assert await standing(holdfast_store) == ({"tokens": 10}, {})


async def test_a_reservation_of_a_killed_worker_returns(holdfast_store: TestStore) -> None:
    """By its own time; the next attempt reserves anew."""
    app = App()

    @app.task(budgets=["b"])
    async def spend(ctx: Context) -> None:
        async with ctx.budget.reserve(tokens=60, ttl=40) as r:
            await ctx.step("call", lambda: 1)
            r.settle(tokens=10)

    async with TestApp(app, store=holdfast_store) as t:
        await make_budget(holdfast_store)
        t.kill_after("call")
        handle = await spend.submit()
        await t.run_until_idle(advance=False)
        assert await standing(holdfast_store) == ({}, {"tokens": 60})
        await t.clock.advance(seconds=41)
        await t.run_until_idle()
        assert await handle.state() is State.COMPLETED
        assert await standing(holdfast_store) == ({"tokens": 10}, {})


async def test_more_than_was_set_aside_is_charged_as_far_as_it_fits(
    holdfast_store: TestStore,
) -> None:
    """The task learns that it went too far, and the reservation is used up."""
    app = App()

    @app.task(budgets=["b"])
    async def spend(ctx: Context) -> None:
        with pytest.raises(BudgetExceeded):
            async with ctx.budget.reserve(tokens=60) as r:
                r.settle(tokens=101)

    async with TestApp(app, store=holdfast_store) as t:
        await make_budget(holdfast_store)
        await t.run(spend)
        assert await standing(holdfast_store) == ({"tokens": 60}, {})


async def test_several_budgets_are_charged_together(holdfast_store: TestStore) -> None:
    """All or none, in trees that know nothing of each other; or one that is named."""
    app = App()

    @app.task(budgets=["a", "b"])
    async def spend(ctx: Context) -> None:
        await ctx.budget.report(tokens=6)
        with pytest.raises(BudgetExceeded):
            await ctx.budget.report(tokens=6)
        await ctx.budget.report(tokens=1, budget="a")
        with pytest.raises(BudgetNotFound):
            await ctx.budget.report(tokens=1, budget="none")

    async with TestApp(app, store=holdfast_store) as t:
        await make_budget(holdfast_store, "a", hard=100)
        await make_budget(holdfast_store, "b", hard=10)
        await t.run(spend)
        assert await standing(holdfast_store, "a") == ({"tokens": 7}, {})
        assert await standing(holdfast_store, "b") == ({"tokens": 6}, {})


async def test_without_a_budget_everything_is_allowed(holdfast_store: TestStore) -> None:
    """The same task runs with one and without."""
    app = App()

    @app.task
    async def spend(ctx: Context) -> str:
        await ctx.budget.report(tokens=10**9)
        async with ctx.budget.reserve(tokens=10**9) as r:
            r.settle(tokens=1)
        return "done"

    async with TestApp(app, store=holdfast_store) as t:
        assert await t.run(spend) == "done"


async def test_quotas_and_windows_of_tasks(holdfast_store: TestStore) -> None:
    """A quota lets tasks run one after the other; the kit moves the clock for windows."""
    app = App()
    running: list[int] = []

    @app.task(quotas=["q"])
    async def work(number: int) -> int:
        running.append(number)
        assert len(running) == 1
        running.clear()
        return number

    async with TestApp(app, store=holdfast_store) as t:
        await make_quota(holdfast_store, max_concurrent=1, max_per_window=2, window_ms=60_000)
        handles = [await work.submit(n) for n in range(5)]
        start = t.clock.now_ms
        await t.run_until_idle()
        assert [await t.result(handle) for handle in handles] == list(range(5))
        assert t.clock.now_ms - start >= 120_000
        debounced = work.options(debounce=("k", 5))
        first, second = await debounced.submit(1), await debounced.submit(2)
        assert (second.id, second.duplicate) == (first.id, True)
        await t.run_until_idle()
        assert await t.result(first) == 2


async def test_a_hard_breach_may_ask_for_more(holdfast_store: TestStore) -> None:
    """It waits without a worker; the answer is a new limit, and nothing is charged twice."""
    app = App()

    @app.task(budgets=["b"])
    async def answer(ctx: Context) -> str:
        await ctx.budget.report(tokens=90, key="first")
        async with ctx.budget.reserve(tokens=50, key="second") as r:
            r.settle(tokens=40)
        return "done"

    async with TestApp(app, store=holdfast_store) as t:
        await t.engine.budgets.create("b", limits={"tokens": {"hard": 100}}, on_hard="suspend")
        handle = await answer.submit()
        await t.run_until_idle()
        described = await handle.describe()
        assert (described.state, described.hold) == (State.SUSPENDED, "budget")
        (item,) = (await t.engine.waitpoints.inbox()).items
        assert (item.waitpoint.name, "no tokens left" in item.waitpoint.title) == ("budget:b", True)
        with pytest.raises(InvalidPayload):
            await handle.signal("budget:b", {"limit": "more"})
        await handle.signal("budget:b", {"limit": 130})
        await t.run_until_idle()
        assert await handle.state() is State.SUSPENDED
        await handle.signal("budget:b", {"limit": 200})
        await t.run_until_idle()
        assert await t.result(handle) == "done"
        assert await standing(holdfast_store) == ({"tokens": 130}, {})


async def test_who_denies_more_leaves_it_to_the_task(holdfast_store: TestStore) -> None:
    """The limit stays and the task gets the error."""
    app = App()

    @app.task(budgets=["b"])
    async def answer(ctx: Context) -> str:
        try:
            await ctx.budget.report(tokens=101)
        except BudgetExceeded as exceeded:
            return f"{exceeded.context['limit']}"
        return "charged"

    async with TestApp(app, store=holdfast_store) as t:
        await t.engine.budgets.create("b", limits={"tokens": {"hard": 100}}, on_hard="suspend")
        handle = await answer.submit()
        await t.run_until_idle()
        await handle.signal("budget:b", {"approved": False}, name="deny")
        await t.run_until_idle()
        assert await t.result(handle) == "100"
        assert await standing(holdfast_store) == ({}, {})


async def test_cancel_takes_the_rest_of_the_graph_along(holdfast_store: TestStore) -> None:
    """What has not ended is cancelled."""
    app = App()

    @app.task(budgets=["b"])
    async def spend(ctx: Context) -> None:
        await ctx.budget.report(tokens=101)

    @app.task
    async def later() -> None:
        """Wait for the spender."""

    async with TestApp(app, store=holdfast_store) as t:
        await t.engine.budgets.create("b", limits={"tokens": {"hard": 100}}, on_hard="cancel")
        async with app.graph() as g:
            first = g.add(spend)
            g.add(later, after=[first])
        await t.run_until_idle()
        graph = await t.engine.graphs.describe(g.id)
        assert {member.state for member in graph.members.values()} == {State.CANCELLED}


async def test_a_graph_has_a_budget_that_all_members_spend(holdfast_store: TestStore) -> None:
    """Those that come later too."""
    app = App()

    @app.task
    async def spend(ctx: Context) -> None:
        await ctx.budget.report(tokens=30)

    async with TestApp(app, store=holdfast_store) as t:
        await make_budget(holdfast_store)
        async with app.graph(budgets=["b"]) as g:
            first = g.add(spend)
        g.add(spend, after=[first])
        await g.submit()
        await t.run_until_idle()
        assert await standing(holdfast_store) == ({"tokens": 60}, {})
