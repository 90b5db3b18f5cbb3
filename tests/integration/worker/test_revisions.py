"""Workers of a revision of an app."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from holdfast import App, Context
from holdfast.engine import Engine, open_engine
from holdfast.model.deployments import NewDeployment
from holdfast.model.revisions import Lifecycle, capability
from holdfast.worker.revisions import judging
from holdfast.worker.worker import WorkerSettings
from tests.support.hosting import SHOP, reached


@pytest.fixture
async def engine(real_url: str) -> AsyncIterator[Engine]:
    """An engine on the real clock."""
    async with open_engine(real_url) as opened:
        yield opened


async def test_children_of_the_same_app_run_on_the_revision_of_their_parent(
    engine: Engine,
) -> None:
    """Otherwise a parent could get the result of another version of its code."""
    app, other = App().attach(engine), App().attach(engine)

    @app.task(requires=["fast"])
    async def child() -> str:
        return "done"

    @other.task
    async def stranger() -> str:
        return "done"

    @app.task
    async def parent(ctx: Context) -> list[str]:
        return [(await ctx.submit(task)).id for task in (child, stranger)]

    settings = WorkerSettings(revision="r1", capabilities=("fast",))
    assert settings.capabilities == ("rev:r1", "fast")
    async with app.worker(settings):
        required = [(await parent.submit()), await parent.options(requires=["rev:r1"]).submit()]
        found = [
            [(await engine.describe(one)).requires for one in await handle.result()]
            for handle in required
        ]
    assert found == [[("fast",), ()], [("fast", capability("r1")), ()]]


async def test_a_worker_passes_the_gates_of_its_own_revision_only(engine: Engine) -> None:
    """Whether the revision warms up before or after the worker has started."""
    await engine.deployments.create(
        NewDeployment(env="local", id="shop", tenant="default", app="talk")
    )
    for revision in ("r1", "r2"):
        await engine.deployments.stage(SHOP, revision_id=revision)
        await engine.deployments.warm(SHOP, revision)
    async with judging(engine, "local", "r1"):
        await reached(engine, "r1", Lifecycle.READY)
        await engine.deployments.drain(SHOP, "r1")
        await engine.deployments.warm(SHOP, "r1")
        await reached(engine, "r1", Lifecycle.READY)
    await reached(engine, "r2", Lifecycle.WARMING)
