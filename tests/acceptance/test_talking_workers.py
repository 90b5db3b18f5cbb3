"""Schedules and streams with worker processes, one of which is killed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from holdfast.engine import Engine, open_engine
from holdfast.model.frames import Frame
from holdfast.model.states import State
from holdfast.testing.polling import wait_for
from tests.acceptance.test_cli import background
from tests.support.scheduling import fired

APP = '''
from pathlib import Path

from holdfast import App, Context

app = App()


@app.schedule(every=1, catch_up="all")
@app.task
async def beat() -> None:
    """Nothing but a beat."""


@app.task
async def talk(ctx: Context, gate: str) -> str:
    """Say something, and wait for a file."""
    import asyncio

    await ctx.stream.text(f"attempt {ctx.attempt}: ")
    await ctx.stream.text("hello")
    while not Path(gate).exists():
        await asyncio.sleep(0.01)
    await ctx.stream.text(" world")
    return "done"
'''

STARTED = "holdfast is running chat:app"


async def _read_until(engine: Engine, execution_id: str, text: str) -> list[Frame]:
    """Read a stream live until something was said."""
    tail = await engine.streams.tail(execution_id)
    found: list[Frame] = []
    async for frame in tail:
        found.append(frame)
        if frame.type == "text" and text in frame.text:
            break
    tail.close()
    return found


@pytest.mark.timeout(120)
async def test_a_killed_worker_neither_doubles_a_tick_nor_ends_a_stream(tmp_path: Path) -> None:
    """Every second has one beat; the answer of the second attempt follows a mark."""
    (tmp_path / "chat.py").write_text(APP)
    gate = tmp_path / "gate"
    async with open_engine(f"embedded://{tmp_path}/.holdfast", maintenance=False) as engine:
        args = ["worker", "chat:app", "--lease", "1s"]
        with background(args, tmp_path) as first:
            await first.wait_for_text(STARTED)
            made = await engine.submit("talk", input=f'{{"gate": "{gate}"}}'.encode())
            said = await _read_until(engine, made.id, "hello")
            assert [frame.text for frame in said] == ["attempt 0: ", "hello"]
            with background(["worker", "chat:app", "--name", "b", "--lease", "1s"], tmp_path):
                first.end(signal.SIGKILL)
                after = said[-1].id
                tail = await engine.streams.tail(made.id, after=after)
                rest: list[Frame] = []
                async for frame in tail:
                    rest.append(frame)
                    if frame.type == "text":
                        gate.touch()
                assert [frame.type for frame in rest[:2]] == ["attempt", "text"]
                assert "".join(f.text for f in rest[1:-1]) == "attempt 1: hello world"
                assert rest[-1].state is State.COMPLETED

                async def enough() -> bool:
                    return (await engine.schedules.get("beat")).fired >= 4

                await wait_for(enough, timeout_s=30)
        ticks = [int(one.split("~")[1]) for one in await fired(engine.store, "beat")]
    assert ticks == list(range(ticks[0], ticks[-1] + 1, 1_000))
