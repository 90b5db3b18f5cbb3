"""A task that needs to be the only writer of something."""

from __future__ import annotations

from holdfast import App
from holdfast.fencing import FencedManifest, MemoryObjects, WriterLease
from holdfast.testing import TestApp
from holdfast.testing.stores import TestStore


async def test_tasks_take_turns_at_a_manifest(holdfast_store: TestStore) -> None:
    """Each waits for the lease and commits under its own token."""
    app = App()
    objects = MemoryObjects()

    @app.task
    async def report(part: int) -> str:
        async with WriterLease(objects, "reports/main", wait_s=20) as lease:
            writer = await FencedManifest(objects, "reports/main").open(lease)
            name = await writer.put(str(part).encode())
            await writer.commit(add={name: {"part": part}})
            return str(lease.token)

    async with TestApp(app, store=holdfast_store) as test:
        handles = [await report.submit(part) for part in range(4)]
        await test.run_until_idle()
        tokens = {await handle.result() for handle in handles}
    assert tokens == {"1.1", "1.2", "1.3", "1.4"}
    found = await FencedManifest(objects, "reports/main").read()
    assert found is not None
    assert sorted(facts["part"] for facts in found.objects.values()) == [0, 1, 2, 3]
