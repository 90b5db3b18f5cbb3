"""`holdfast top`: a live view of a store."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer
from rich.live import Live
from rich.text import Text

from holdfast.cli import snapshot, workers
from holdfast.cli.snapshot import Rates, Snapshot
from holdfast.cli.terminal import opening, output, tables, times
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.model.states import State

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from holdfast.api import Engine

#: With --once, the time over which rates are measured.
_ONCE_S = 0.5
_WIDE = 1000


def top(
    *,
    once: Annotated[bool, typer.Option("--once", help="Look once and stop.")] = False,
    interval: Annotated[
        float, typer.Option("--interval", min=0.1, max=3600, help="Seconds between looks.")
    ] = 1.0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Watch a store: executions by state and lane, rates, workers, the oldest that waits."""

    async def work(engine: Engine) -> None:
        looks = _looks(engine, _ONCE_S if once else interval)
        if as_json:
            async for now, moved in looks:
                output.emit(snapshot.as_value(now, moved))
                if once:
                    return
        elif not sys.stdout.isatty():
            async for now, moved in looks:
                output.say(render(now, moved, None))
                if once:
                    return
        elif once:
            now, moved = await anext(looks)
            output.say(render(now, moved, output.console().width))
        else:
            await _live(looks)

    opening.ask(store, work)


async def _looks(engine: Engine, interval: float) -> AsyncIterator[tuple[Snapshot, Rates]]:
    before = await snapshot.take(engine)
    while True:
        await asyncio.sleep(interval)
        now = await snapshot.take(engine)
        yield now, snapshot.rates(before, now)
        before = now


async def _live(looks: AsyncIterator[tuple[Snapshot, Rates]]) -> None:
    console = output.console()
    with Live(console=console, screen=True, auto_refresh=False) as live:
        async for now, moved in looks:
            live.update(Text(render(now, moved, console.width)), refresh=True)


def render(now: Snapshot, moved: Rates, width: int | None) -> str:
    """Return a snapshot as tables."""
    lines = [f"{moved.submitted:g}/s submitted   {moved.ended:g}/s ended", ""]
    lines[1:1] = textwrap.wrap(_oldest(now), width or _WIDE, break_on_hyphens=False)
    shown = snapshot.shown_states([now.counts])
    lines += tables.lines(("lane", "setting", *shown), _rows(now, shown), width)
    if now.workers:
        rows = [workers.row(worker) for worker in now.workers]
        lines += ["", *tables.lines(workers.COLUMNS, rows, width)]
    else:
        lines += ["", "no workers"]
    return "\n".join(lines)


def _rows(now: Snapshot, shown: Sequence[State]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = [
        (lane, now.settings.get(lane, "open"), *(counts.get(state, 0) for state in shown))
        for lane, counts in sorted(now.lanes.items())
    ]
    return [*rows, ("all", "", *(now.counts.get(state, 0) for state in shown))]


def _oldest(now: Snapshot) -> str:
    if now.oldest is None:
        return "nothing waits"
    item = now.oldest
    age = times.ago(item.created_at)
    return f"oldest waiting: {item.kind} {item.id} on {item.lane}, created {age}"
