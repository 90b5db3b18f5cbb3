"""Schedules that are declared beside their tasks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast import App, Context
from holdfast.engine import Engine
from holdfast.errors import InvalidInput, TaskError
from holdfast.model.executions import NewExecution
from holdfast.model.findings import Finding, Level, ok
from holdfast.model.schedules import NewSchedule
from holdfast.model.timing import Timing
from holdfast.testing import TestApp
from tests.integration.worker.conftest import Working

ALSO_OVER_HTTP = True


async def test_a_worker_that_starts_puts_schedules_into_the_store(
    app: App, engine: Engine, working: Working
) -> None:
    """With the options and arguments of the task; a second worker changes nothing."""

    @app.schedule(cron="0 6 * * *", timezone="Europe/Berlin", overlap="skip", jitter=5)
    @app.task(lane="reports", retries=2)
    async def report(day: str = "today") -> None:
        """Make a report."""

    @app.schedule(id="often", every=timedelta(minutes=5), args={"day": "now"}, catch_up="one")
    @app.task(name="reports/often")
    async def often(day: str) -> None:
        """Make many."""

    for _ in range(2):
        async with working():
            found = await engine.schedules.get("report")
            assert found.version == 1
            assert found.plan.timing == Timing(cron="0 6 * * *", timezone="Europe/Berlin")
            assert (found.plan.overlap, found.plan.jitter_ms) == ("skip", 5_000)
            assert (found.plan.execution.lane, found.plan.execution.kind) == ("reports", "report")
            assert found.plan.execution.retry is not None
            other = await engine.schedules.get("often")
            assert other.plan.timing.every_ms == 300_000
            assert other.plan.execution.input == b'{"day":"now"}'
            assert other.plan.execution.kind == "reports/often"


async def test_the_doctor_shows_schedules_that_code_left_behind(
    app: App, engine: Engine, working: Working
) -> None:
    """With another declaration, or with its task; schedules made by hand are no concern of code."""

    async def look() -> Finding:
        (finding,) = [one for one in await engine.operability.doctor() if one.check == "schedules"]
        return finding

    @app.schedule(id="weekly", cron="0 6 * * MON")
    @app.schedule(id="daily", cron="0 6 * * *")
    @app.task
    async def report() -> None:
        """Make a report."""

    async with working():
        by_hand = NewExecution(kind="report")
        await engine.schedules.create(
            NewSchedule(id="hand", execution=by_hand, timing=Timing(cron="0 7 * * *"))
        )
        assert await look() == ok("schedules", "3, none of them left behind by changed code")

    del app.schedules["weekly"]
    async with working():
        found = await look()
        assert found.level is Level.WARNING
        assert found.text == "schedule weekly: the code of report does not declare it any more"
        assert "`holdfast schedules delete ID`" in str(found.fix)
    await engine.schedules.delete("weekly")

    del app.tasks["report"]

    @app.task
    async def other() -> None:
        """Something else."""

    async with working():
        assert (await look()).text == "schedule daily: no running worker has its task report"


async def test_what_a_schedule_fires_runs(app: App, engine: Engine, working: Working) -> None:
    """Submitted by the clock, run by the worker."""
    ran: list[str] = []

    @app.schedule(every=1, args={"name": "world"})
    @app.task
    async def greet(ctx: Context, name: str) -> str:
        ran.append(ctx.id)
        return f"hello {name}"

    async with working():
        handle = greet.handle((await engine.schedules.trigger("greet")).id)
        assert await handle.result() == "hello world"
    assert ran[0].startswith("greet~")


async def test_a_schedule_in_a_test_fires_when_the_test_says_so() -> None:
    """The clock moves, what is due fires, what was fired runs."""
    app = App()

    @app.schedule(cron="0 * * * *")
    @app.task
    async def hourly() -> int:
        return 7

    async with TestApp(app) as test:
        await test.engine.schedules.put(app.schedules["hourly"])
        await test.clock.advance(hours=1)
        assert await test.engine.schedules.run_due() == 1
        assert await test.run_until_idle() == 1
        found = await test.engine.schedules.get("hourly")
        assert (found.fired, found.running) == (1, 0)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"cron": "x"},
        {"every": -1},
        {"at": datetime(2026, 1, 1)},  # noqa: DTZ001 - that is the point
        {"cron": "* * * * *", "overlap": "never"},
        {"cron": "* * * * *", "when": "now"},
        {"cron": "* * * * *", "args": {"nobody": 1}},
        {"cron": "* * * * *", "id": "a b"},
    ],
)
def test_a_wrong_declaration_is_refused_where_it_stands(fields: dict[str, Any]) -> None:
    """When the module is imported, not at night."""
    app = App()

    @app.task
    async def work() -> None:
        """Do nothing."""

    with pytest.raises(InvalidInput):
        app.schedule(**fields)(work)
    assert app.schedules == {}


def test_two_schedules_cannot_share_an_id() -> None:
    """A task may have several, each with an id of its own."""
    app = App()

    @app.schedule(cron="0 6 * * *")
    @app.schedule(id="evening", at=datetime(2026, 1, 1, tzinfo=UTC))
    @app.task
    async def work() -> None:
        """Do nothing."""

    assert set(app.schedules) == {"work", "evening"}
    with pytest.raises(TaskError):
        app.schedule(cron="0 7 * * *")(work)
    with pytest.raises(TaskError):
        app.schedule(cron="0 7 * * *")(lambda: None)  # type: ignore[type-var]
