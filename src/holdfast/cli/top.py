"""`holdfast top`: a live view of a store."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text

from holdfast.cli import output, session, snapshot, times, workers
from holdfast.cli.options import JsonOption, StoreOption
from holdfast.cli.snapshot import Rates, Snapshot
from holdfast.model.states import State

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rich.console import RenderableType

    from holdfast.engine import Engine

#: With --once, the time over which rates are measured.
_ONCE_S = 0.5

_SHOWN = (
    State.WAITING,
    State.DELAYED,
    State.RATE_LIMITED,
    State.ACTIVE,
    State.COMPLETED,
    State.FAILED,
    State.CANCELLED,
    State.EXPIRED,
)


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
        elif once or not output.console().is_terminal:
            async for now, moved in looks:
                output.console().print(render(now, moved))
                if once:
                    return
        else:
            await _live(looks)

    session.ask(store, work)


async def _looks(engine: Engine, interval: float) -> AsyncIterator[tuple[Snapshot, Rates]]:
    before = await snapshot.take(engine)
    while True:
        await asyncio.sleep(interval)
        now = await snapshot.take(engine)
        yield now, snapshot.rates(before, now)
        before = now


async def _live(looks: AsyncIterator[tuple[Snapshot, Rates]]) -> None:

    with Live(console=output.console(), screen=True, auto_refresh=False) as live:
        async for now, moved in looks:
            live.update(render(now, moved), refresh=True)


def render(now: Snapshot, moved: Rates) -> RenderableType:
    """Return a snapshot as tables."""
    parts: list[RenderableType] = [
        Text(f"{moved.submitted:g}/s submitted   {moved.ended:g}/s ended   {_oldest(now)}\n"),
        output.table(("lane", "setting", *_SHOWN), _rows(now)),
    ]
    if now.workers:
        rows = [workers.row(worker) for worker in now.workers]
        parts += [Text(""), output.table(workers.COLUMNS, rows)]
    else:
        parts.append(Text("\nno workers"))
    return Group(*parts)


def _rows(now: Snapshot) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = [
        (lane, now.settings.get(lane, "open"), *(counts.get(state, 0) for state in _SHOWN))
        for lane, counts in sorted(now.lanes.items())
    ]
    return [*rows, ("all", "", *(now.counts.get(state, 0) for state in _SHOWN))]


def _oldest(now: Snapshot) -> str:
    if now.oldest is None:
        return "nothing waits"
    item = now.oldest
    age = times.ago(item.created_at)
    return f"oldest waiting: {item.kind} {item.id} on {item.lane}, created {age}"
