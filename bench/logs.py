"""Lines of ctx.logger: what keeping them costs tasks that log a lot."""

from __future__ import annotations

import logging
import tempfile
import time

from holdfast import App, Context, WorkerSettings
from holdfast.cli.worker import TextLines

TASKS = 100
LINES = 100
ROUNDS = 15


async def measure_logs() -> dict[str, float]:
    """Run the same tasks with workers that keep lines and workers that do not, in turns."""
    handler = _handler()
    logging.root.addHandler(handler)
    before = logging.root.level
    logging.root.setLevel("INFO")
    try:
        with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
            return await _measure(App(f"embedded://{folder}"))
    finally:
        logging.root.removeHandler(handler)
        logging.root.setLevel(before)


async def _measure(app: App) -> dict[str, float]:
    @app.task
    async def chatty(ctx: Context, number: int) -> int:
        for line in range(LINES):
            ctx.logger.info("order %d: packed item %d of %d", number, line, LINES)
        return number

    seconds: dict[str | None, list[float]] = {None: [], "info": []}
    async with app:
        for _ in range(ROUNDS):
            for level, times in seconds.items():
                async with app.worker(WorkerSettings(keep_logs=level)):
                    start = time.perf_counter()
                    handles = await chatty.submit_many([{"number": n} for n in range(TASKS)])
                    for handle in handles:
                        await handle.result()
                    times.append(time.perf_counter() - start)
    # The best of each: what else the machine does only ever adds to it.
    dropped, kept = min(seconds[None]), min(seconds["info"])
    return {
        f"tasks/s with {LINES} lines each, not kept": TASKS / dropped,
        f"tasks/s with {LINES} lines each, kept": TASKS / kept,
        "cost of keeping, %": 100 * (kept / dropped - 1),
    }


def _handler() -> logging.Handler:
    """Return a handler as `holdfast worker` has it, which writes to a file."""
    handler = logging.StreamHandler(tempfile.TemporaryFile("w"))  # noqa: SIM115
    handler.setFormatter(TextLines())
    return handler
