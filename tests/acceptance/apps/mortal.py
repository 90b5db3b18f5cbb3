"""A program that dies before every call, and is started again until its tasks have ended.

`python -m tests.acceptance.apps.mortal STORE NOTES APP...` runs `work` of each module APP beside
it. Each attempt is a process of its own, forked from one that has imported everything. A call notes
that it is about to happen and kills its process; in the next process it happens.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from importlib import import_module
from pathlib import Path

from holdfast import App
from holdfast.errors import HoldfastError
from holdfast.worker.task import Task
from holdfast.worker.worker import WorkerSettings

MOST = 40


def happens(call: str) -> None:
    """Die the first time; then note the call."""
    notes = Path(sys.argv[2])
    noted = notes.read_text().splitlines() if notes.exists() else []
    is_new = f"dies before {call}" not in noted
    with notes.open("a") as out:
        out.write(f"dies before {call}\n" if is_new else f"{call}\n")
    if is_new:
        os.kill(os.getpid(), signal.SIGKILL)


async def attempt(app: App, work: Task[[], str, str]) -> None:
    """Run a worker until the task has ended."""
    async with app:
        handle = await work.options(id=work.name).submit()
        with contextlib.suppress(HoldfastError):
            # The worker that died cannot. The next one holds no lease yet.
            await app.engine.revoke_lease(handle.id)
        async with app.worker(WorkerSettings(lease_ms=60_000)):
            print(await handle.result(), flush=True)


def run(name: str) -> None:
    """Start attempts until one ends alive."""
    module = import_module(f"tests.acceptance.apps.{name}")
    for _ in range(MOST):
        child = os.fork()
        if child == 0:
            asyncio.run(attempt(module.app, module.work))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            return
    sys.exit(f"{name} never ended")


if __name__ == "__main__":
    os.environ["HOLDFAST_STORE"] = sys.argv[1]
    for each in sys.argv[3:]:
        run(each)
