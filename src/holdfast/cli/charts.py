"""`holdfast charts`: what lanes and queues did in the last hour or week: lanes, queues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal import opening, output
from holdfast.cli.terminal.bundles import Bundle, spread
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, StoreOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.model.history import History

app: typer.Typer = typer.Typer(cls=Noun)

_BARS = "▁▂▃▄▅▆▇█"
_COLUMNS = 30


@dataclass(frozen=True, kw_only=True)
class Time(Bundle):
    """Of whom, of which time, and how."""

    week: Annotated[
        bool, typer.Option("--week", help="The last week instead of the last hour.")
    ] = False
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Only this tenant.", show_default="all tenants")
    ] = None
    points: Annotated[
        int, typer.Option("--points", help="Into how many parts to divide the time.")
    ] = _COLUMNS
    store: StoreOption = None
    as_json: JsonOption = False


@app.command()
@spread
def lanes(*, time: Time) -> None:
    """Show how much waited, ran, completed and failed in each lane."""
    _show(time, ("lane", "waiting", "active", "completed", "failed"))


@app.command()
@spread
def queues(*, time: Time) -> None:
    """Show how many messages each queue had, and how many came and were acknowledged."""
    _show(time, ("queue", "ready", "pushed", "acked", "dead"))


def _show(time: Time, columns: Sequence[str]) -> None:
    subject, *figures = columns
    span = "week" if time.week else "hour"
    histories = opening.ask(
        time.store,
        lambda engine: engine.histories.read(
            subject, span=span, tenant=time.tenant, points=time.points
        ),
    )
    if time.as_json:
        output.emit({"items": histories})
        return
    rows = [
        (history.name, history.tenant, *(_spark(history, figure) for figure in figures))
        for history in histories
    ]
    nothing = f"no history of {subject}s yet: a server samples every 5 s"
    output.show_table((subject, "tenant", *figures), rows, nothing=nothing)


def _spark(history: History, figure: str) -> str:
    """Draw a figure, with its highest value."""
    values = history.figures[figure]
    most = max(values)
    if not most:
        return "0"
    bars = "".join(_BARS[(value * (len(_BARS) - 1) + most - 1) // most] for value in values)
    return f"{bars} {most}"
