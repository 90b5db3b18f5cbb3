"""Quotas and budgets that are declared beside the tasks that name them."""

from __future__ import annotations

import asyncio

import pytest

from holdfast import App
from holdfast.engine import Engine
from holdfast.errors import InvalidInput, TaskError
from holdfast.model import declared_limits
from holdfast.model.findings import Level
from holdfast.model.states import State
from holdfast.testing import TestApp
from holdfast.testing.polling import wait_for
from tests.integration.worker.conftest import Working, near

ALSO_OVER_HTTP = True


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was warned of."""
    return [one.message for one in caplog.records if one.name == "holdfast.worker.limits"]


async def test_a_worker_that_starts_creates_declared_limits(
    app: App, engine: Engine, working: Working, caplog: pytest.LogCaptureFixture
) -> None:
    """A second worker changes nothing, and tasks run under them."""
    packers = app.quota("packers", concurrent=2, starts=100, per=60)
    tokens = app.budget("llm", tokens=1_000, soft={"tokens": 800}, reset=3600, on_hard="cancel")

    @app.task(quotas=[packers], budgets=[tokens])
    async def pack() -> str:
        return "packed"

    for _ in range(2):
        async with working():
            assert await (await pack.submit()).result(timeout=5) == "packed"
            quota = await engine.quotas.get("packers")
            caps = (quota.max_concurrent, quota.max_per_window, quota.window_ms)
            assert caps == (2, 100, 60_000)
            budget = await engine.budgets.get("llm")
            assert (budget.limits["tokens"].hard, budget.limits["tokens"].soft) == (1_000, 800)
            assert (budget.reset_ms, budget.on_hard) == (3_600_000, "cancel")
    assert warnings(caplog) == []


async def test_what_an_operator_has_set_stays(app: App, engine: Engine, working: Working) -> None:
    """Code never takes a limit back."""
    await engine.quotas.create("packers", max_concurrent=7)
    await engine.budgets.create("llm", limits={"tokens": {"hard": 5}})
    app.quota("packers", concurrent=2)
    app.budget("llm", tokens=1_000)
    async with working():
        assert (await engine.quotas.get("packers")).max_concurrent == 7
        assert (await engine.budgets.get("llm")).limits["tokens"].hard == 5


async def test_a_limit_that_is_named_and_not_there_is_warned_of(
    app: App, working: Working, caplog: pytest.LogCaptureFixture
) -> None:
    """With the task and the command that creates it; the worker works."""

    @app.task(name="order.pack", quotas=["packers"], budgets=["llm"])
    async def pack() -> None: ...

    @app.task
    async def other() -> int:
        return 1

    async with working():
        assert await (await other.submit()).result(timeout=5) == 1
    quota, budget = warnings(caplog)
    assert "task order.pack names the quota packers, which does not exist" in quota
    assert "`holdfast quotas create packers --max-concurrent N`" in quota
    assert "`holdfast budgets create llm --hard DIMENSION=AMOUNT`" in budget


async def test_the_doctor_shows_where_code_and_store_differ(
    app: App, engine: Engine, working: Working
) -> None:
    """In the fields that code can declare; equal limits are in order."""
    app.quota("packers", concurrent=2)
    app.budget("llm", hard={"tokens": 1_000}, calls=5)

    @app.task(quotas=["packers"], budgets=["llm"])
    async def pack() -> None: ...

    async with working():
        report = await engine.operability.doctor()
        (finding,) = [one for one in report if one.check == "limits"]
        assert (finding.level, finding.text) == (Level.OK, "2 declared in code, as in the store")
        await engine.quotas.set("packers", max_concurrent=7)
        await engine.budgets.set("llm", limits={"tokens": {"hard": 500}, "calls": {"hard": 5}})
        report = await app.engine.operability.doctor()
        (finding,) = [one for one in report if one.check == "limits"]
        assert finding.level is Level.WARNING
        assert finding.text == (
            "budget llm: hard limit of tokens is 500 in the store, 1,000 in code; "
            "quota packers: max_concurrent is 7 in the store, 2 in code"
        )
        assert "holdfast quotas set" in str(finding.fix)
        await engine.quotas.delete("packers")
        report = await engine.operability.doctor()
        (finding,) = [one for one in report if one.check == "limits"]
        assert finding.text.endswith("quota packers does not exist")


async def test_the_doctor_knows_limits_that_no_task_names(
    app: App, engine: Engine, working: Working
) -> None:
    """Such as those that rules attach; however many there are."""
    most = 2 * declared_limits.MOST
    for number in range(most + 1):
        app.quota(f"q{number}", concurrent=2)

    @app.task(quotas=["q0"])
    async def pack() -> None: ...

    @app.task
    async def ship() -> None: ...

    async with working():
        (finding,) = [one for one in await engine.operability.doctor() if one.check == "limits"]
        assert finding.text == f"{most} declared in code, as in the store"
        await engine.quotas.set("q7", max_concurrent=1)
        (finding,) = [one for one in await engine.operability.doctor() if one.check == "limits"]
        assert finding.text == "quota q7: max_concurrent is 1 in the store, 2 in code"


async def test_a_published_limit_must_be_one(app: App) -> None:
    """Workers in other languages publish limits, too."""
    for limits in ("packers", [{"noun": "lane", "id": "a"}], [{"noun": "quota", "id": "a b"}], [3]):
        with pytest.raises(InvalidInput, match=r"limits|id|max_concurrent"):
            await app.engine.tasks.publish({"pack": {"limits": limits}})


@near
async def test_tests_have_declared_limits(app: App, engine: Engine) -> None:
    """Nothing is to be created by hand."""
    own = App()
    own.quota("packers", concurrent=1)

    @own.task(quotas=["packers"])
    async def pack() -> str:
        return "packed"

    async with TestApp(own) as t:
        assert await t.run(pack) == "packed"


@near
async def test_mistakes_are_refused_where_they_are_made(app: App) -> None:
    """Before anything starts."""
    app.quota("packers", concurrent=2)
    with pytest.raises(TaskError, match="two quotas are called 'packers'"):
        app.quota("packers", concurrent=3)
    with pytest.raises(InvalidInput, match="max_concurrent"):
        app.quota("nothing")
    with pytest.raises(InvalidInput, match="hard"):
        app.budget("llm", tokens=-1)
    with pytest.raises(InvalidInput, match="on_hard"):
        app.budget("llm", tokens=1, on_hard="explode")


async def test_a_claim_gets_other_work_after_a_limit_held_some_back(
    app: App, engine: Engine
) -> None:
    """It continues to wait, and hears of what is submitted later."""
    await engine.quotas.create("one", max_concurrent=1)
    async with app.engine.claimer(worker="w", lanes=["default"]) as claimer:
        await engine.submit("work", quotas=["one"])
        assert len(await claimer.claim(1, 30_000)) == 1
        held = await engine.submit("work", quotas=["one"])
        waiting = asyncio.ensure_future(claimer.claim(5, 30_000, wait_ms=20_000))

        async def is_held() -> bool:
            return (await engine.describe(held.id)).state is State.RATE_LIMITED

        await wait_for(is_held)
        other = await engine.submit("work")
        (claim,) = await asyncio.wait_for(waiting, 10)
        assert claim.id == other.id
