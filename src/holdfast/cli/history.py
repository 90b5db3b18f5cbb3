"""`holdfast history`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli import archived
from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.failures import one_line
from holdfast.cli.terminal.options import ExecutionId, JsonOption, StoreOption
from holdfast.errors import ExecutionNotFound
from holdfast.model.executions import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from holdfast.api import Engine

_LOOK_EVERY_S = 0.3


def history(
    execution_id: ExecutionId,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Continue until the execution ends.")
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what happened to an execution, oldest first; with --json, one object per line."""

    def show(event: Event) -> None:
        output.answer(event, line(event), as_json=as_json)

    async def work(engine: Engine) -> None:
        try:
            await _print(engine, execution_id, show, follow=follow)
        except ExecutionNotFound as error:
            for event in (await archived.get(engine, execution_id, error)).history():
                show(event)

    opening.ask(store, work, maintenance=follow)


async def _print(
    engine: Engine, execution_id: str, show: Callable[[Event], None], *, follow: bool
) -> None:
    if follow:
        await _follow(engine, execution_id, show)
    else:
        for event in await engine.history(execution_id):
            show(event)


async def _follow(engine: Engine, execution_id: str, show: Callable[[Event], None]) -> None:
    seen: Event | None = None
    while True:
        # Read the state first: if it is terminal, the history read after it is complete.
        state = (await engine.describe(execution_id)).state
        for event in news(await engine.history(execution_id), seen):
            show(event)
            seen = event
        if state.is_terminal:
            return
        await asyncio.sleep(_LOOK_EVERY_S)


def news(history: Sequence[Event], seen: Event | None) -> Sequence[Event]:
    """Return the events after the last one shown; old events may have been dropped."""
    for index in range(len(history) - 1, -1, -1):
        if history[index] == seen:
            return history[index + 1 :]
    return history


def line(event: Event) -> str:
    """Return an event as a line."""
    return f"{times.stamp(event.at)}  {event.event:<14}{facts(event.data)}".rstrip()


def facts(data: Mapping[str, Any]) -> str:
    """Return the data of an event in short. People count attempts from 1: `#1`, `#2`."""
    parts = []
    for name, value in data.items():
        if value is None or value == "":
            continue
        if name == "error":
            shown = ": ".join(str(value[k]) for k in ("type", "message") if value.get(k))
            parts.append(f"error={one_line(shown)}")
        elif name == "attempt":
            parts.append(f"attempt #{value + 1}")
        elif name in ("retry_at", "run_at"):
            parts.append(f"{name}={times.stamp(value)}")
        else:
            parts.append(f"{name}={one_line(str(value))}")
    return " ".join(parts)
