"""The worker on a cluster: many partitions, and heartbeats over the blocking cluster client."""

from __future__ import annotations

import asyncio

from holdfast import App, Context, SyncClient, WorkerSettings
from holdfast.model.ids import new_id
from holdfast.testing.servers import TestServer
from tests.integration.worker.conftest import suspended


def _url(nodes: list[TestServer]) -> str:
    places = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
    return f"valkey-cluster://{places}?partitions=16&prefix=w{new_id()}"


async def test_tasks_run_on_all_partitions_and_keep_their_leases(
    cluster_nodes: list[TestServer],
) -> None:
    """An attempt that outlives its lease of a second is kept alive and runs once."""
    app = App(_url(cluster_nodes))

    @app.task
    async def double(n: int) -> int:
        return 2 * n

    @app.task
    async def long(ctx: Context) -> int:
        await asyncio.sleep(1.5)
        ctx.logger.info("asks a child")
        child = await ctx.submit(double, 21)
        await ctx.step("note", str, 1)
        return await ctx.result(child)

    async with app.worker(WorkerSettings(lease_ms=1_000)):
        parents = [await long.submit() for _ in range(4)]
        handles = await double.submit_many([{"n": n} for n in range(100)])
        results = await asyncio.gather(*(handle.result(timeout=20) for handle in handles))
        assert results == [2 * n for n in range(100)]
        for parent in parents:
            assert await parent.result(timeout=20) == 42
            assert (await parent.describe()).attempts == 1
            (line,) = (await app.engine.streams.logs(parent.id)).lines
            assert line.message == "asks a child"
        (worker,) = await app.engine.workers.list()
        assert worker.slots == 100
    async with app:
        assert await app.engine.workers.list() == []


async def test_code_that_does_not_fit_waits_on_a_cluster(cluster_nodes: list[TestServer]) -> None:
    """And continues when it does; versions are recorded."""
    app = App(_url(cluster_nodes))
    fits = False

    @app.task(retries=1)
    async def work(ctx: Context) -> int:
        if ctx.attempt and not fits:
            await ctx.step("new", int)
        await ctx.step("old", int)
        version = await ctx.version("x", 2)
        if not ctx.attempt:
            raise ValueError("again")
        return version

    async with app.worker(WorkerSettings(lease_ms=1_000)):
        handle = await work.submit()
        assert "Was step 'new' added before 'old'" in await suspended(handle)
        fits = True
        await app.engine.waitpoints.resume(handle.id)
        assert await handle.result(timeout=10) == 2


async def test_plain_code_may_submit_to_a_cluster(cluster_nodes: list[TestServer]) -> None:
    """The blocking client of the SDK works on a cluster, too."""
    app = App(_url(cluster_nodes))

    @app.task
    def work() -> None: ...

    def plain() -> str:
        with SyncClient(app) as client:
            return str(client.submit(work).state())

    assert await asyncio.to_thread(plain) == "waiting"
