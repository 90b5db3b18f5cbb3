"""Record what this version writes: `python -m tests.compat.record NAME`.

Run it with the source of another version before it on PYTHONPATH to record that version.
"""

from __future__ import annotations

import asyncio
import os
import sys
from importlib.metadata import version
from typing import Any

from holdfast import WorkerSettings
from holdfast.testing import start_server
from tests.compat.recording import Recording, dump
from tests.compat.workload import Workload, workload

#: Longer than anybody keeps this file; the store would forget what has ended.
KEEP_MS = 10 * 365 * 86_400_000


async def _begin(load: Workload) -> dict[str, str]:
    """Submit everything and run it as far as it goes."""
    handles = {
        "completed": await load.tasks["add"].submit(1, 2),
        "failed": await load.tasks["broken"].submit(),
        "retrying": await load.tasks["flaky"].submit(),
        "sleeping": await load.tasks["nap"].submit(),
        "waiting": await load.tasks["ask"].submit(),
        "running": await load.tasks["hang"].submit(),
        "parent": await load.tasks["parent"].submit(),
    }
    cancelled = await load.tasks["ask"].options(delay=86_400).submit()
    await cancelled.cancel("not needed")
    handles["cancelled"] = cancelled
    await load.hanging.wait()
    while not await _is_far(handles):  # noqa: ASYNC110 - the store cannot set an event
        await asyncio.sleep(0.05)
    return {name: handle.id for name, handle in handles.items()}


async def _is_far(handles: dict[str, Any]) -> bool:
    """Whether everything has come as far as it can."""
    expected = {"completed": "completed", "failed": "failed", "waiting": "suspended"}
    expected |= {"retrying": "delayed", "sleeping": "delayed"}
    return {name: str(await handles[name].state()) for name in expected} == expected


async def _graph(load: Workload) -> str:
    """Submit a graph whose second member waits for the first, which waits for an answer."""
    async with load.app.graph() as graph:
        first = graph.add(load.tasks["ask"])
        graph.add(load.tasks["add"], 3, 4, after=[first])
    while "suspended" not in await _states(load, graph.id):  # noqa: ASYNC110 - likewise
        await asyncio.sleep(0.05)
    return str(graph.id)


async def _states(load: Workload, graph: str) -> set[str]:
    members = (await load.app.engine.graphs.describe(graph)).members
    return {str(member.state) for member in members.values()}


async def _others(load: Workload) -> None:
    """Leave messages in a queue, and a budget."""
    queue = load.app.queue("orders", int)
    await queue.define()
    for number in (1, 2):
        await queue.push(number)
    await load.app.engine.budgets.create("llm", limits={"tokens": {"hard": 100}})


async def _record(name: str) -> None:
    with start_server() as server:
        load = workload(f"valkey://127.0.0.1:{server.port}?prefix=compat", is_recording=True)
        async with load.app.worker(WorkerSettings(lease_ms=30_000)):
            engine = load.app.engine
            await engine.lanes.set_retention(dict.fromkeys(("completed", "failed"), KEEP_MS))
            ids = await _begin(load)
            graph = await _graph(load)
            await _others(load)
            states = {what: str((await engine.describe(id)).state) for what, id in ids.items()}
            recording = Recording(version("holdfast"), ids, states, dump(server.raw()), graph)
            path = recording.write(name)
            print(f"{len(recording.keys)} keys, {path.stat().st_size} bytes: {states}", flush=True)
            # A task hangs, so the worker would not drain.
            server.process.kill()
            os._exit(0)


def main() -> None:
    """Record."""
    asyncio.run(_record(sys.argv[1]))


if __name__ == "__main__":
    main()
