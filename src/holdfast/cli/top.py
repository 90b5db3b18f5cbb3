"""`holdfast top`: a live view of a store."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer
from rich.live import Live
from rich.text import Text

from holdfast.cli import workers
from holdfast.cli.terminal import opening, output, tables, times
from holdfast.cli.terminal.failures import one_line
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.model.snapshots import Rates, Snapshot, rates, shown_states
from holdfast.model.states import State

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    Looks = AsyncIterator[tuple[Snapshot, Rates]]

#: How long --once measures rates.
_ONCE_S = 0.5
_WIDE = 1000
_QUEUE_COLUMNS = ("queue", "mode", "setting", "ready", "delayed", "in flight", "dead")


def top(
    *,
    once: Annotated[bool, typer.Option("--once", help="Print one snapshot and exit.")] = False,
    interval: Annotated[
        float, typer.Option("--interval", min=0.1, max=3600, help="Seconds between snapshots.")
    ] = 1.0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Watch a store: executions by state and lane, rates, workers, longest wait."""
    pause_s = _ONCE_S if once else interval
    opening.ask(
        store,
        lambda engine: _show(
            _looks(engine.operability.snapshot, pause_s), once=once, as_json=as_json
        ),
    )


async def _show(looks: Looks, *, once: bool, as_json: bool) -> None:
    if as_json:
        async for now, moved in looks:
            output.emit(as_value(now, moved))
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


async def _looks(take: Callable[[], Awaitable[Snapshot]], interval: float) -> Looks:
    before = await take()
    while True:
        await asyncio.sleep(interval)
        now = await take()
        yield now, rates(before, now)
        before = now


async def _live(looks: Looks) -> None:
    console = output.console()
    with Live(console=console, screen=True, auto_refresh=False) as live:
        async for now, moved in looks:
            live.update(Text(render(now, moved, console.width)), refresh=True)


def render(now: Snapshot, moved: Rates, width: int | None) -> str:
    """Return a snapshot as tables."""
    lines = [f"{moved.submitted:g}/s submitted   {moved.ended:g}/s ended", ""]
    lines[1:1] = textwrap.wrap(_oldest(now), width or _WIDE, break_on_hyphens=False)
    shown = shown_states([now.counts])
    lines += tables.lines(("lane", "setting", *shown), _rows(now, shown), width)
    if now.workers:
        rows = [workers.row(worker) for worker in now.workers]
        lines += ["", *tables.lines(workers.COLUMNS, rows, width)]
    else:
        lines += ["", "no workers"]
    if now.queues:
        lines += ["", *tables.lines(_QUEUE_COLUMNS, _queue_rows(now), width)]
    lines += _stopped(now)
    return "\n".join(lines)


def as_value(now: Snapshot, moved: Rates) -> dict[str, object]:
    """Return a snapshot as a JSON value."""
    return {
        "counts": now.counts,
        "lanes": [
            {"lane": lane, "setting": now.settings.get(lane, "open"), "counts": counts}
            for lane, counts in sorted(now.lanes.items())
        ],
        "rates": moved,
        "workers": now.workers,
        "queues": now.queues,
        "services": now.services,
        "oldest_waiting": now.oldest,
    }


def _queue_rows(now: Snapshot) -> list[tuple[object, ...]]:
    return [
        (
            depth.queue,
            depth.mode,
            "paused" if depth.paused else "open",
            depth.ready,
            depth.delayed,
            depth.in_flight,
            depth.dead,
        )
        for depth in now.queues
    ]


def _stopped(now: Snapshot) -> list[str]:
    """Return a line for each service that is not running."""
    return [
        f"service {service.name} of {process.name} is restarting: "
        f"{one_line(service.last_error or '')}"
        for process in now.services
        for service in process.services
        if not service.running
    ]


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
