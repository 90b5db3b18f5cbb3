"""`holdfast charts`: what lanes and queues did in the last hour or week: lanes, queues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal import opening, output
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, StoreOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.model.history import History

app: typer.Typer = typer.Typer(cls=Noun)

_BARS = "▁▂▃▄▅▆▇█"
_COLUMNS = 30

Week = Annotated[bool, typer.Option("--week", help="The last week instead of the last hour.")]
Tenant = Annotated[
    str | None, typer.Option("--tenant", help="Only this tenant.", show_default="all tenants")
]
Points = Annotated[int, typer.Option("--points", help="Into how many parts to divide the time.")]


@app.command()
def lanes(
    *,
    week: Week = False,
    tenant: Tenant = None,
    points: Points = _COLUMNS,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how much waited, ran, completed and failed in each lane."""
    histories = _read(store, "lane", week=week, tenant=tenant, points=points)
    _show(histories, ("lane", "waiting", "active", "completed", "failed"), as_json=as_json)


@app.command()
def queues(
    *,
    week: Week = False,
    tenant: Tenant = None,
    points: Points = _COLUMNS,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how many messages each queue had, and how many came and were acknowledged."""
    histories = _read(store, "queue", week=week, tenant=tenant, points=points)
    _show(histories, ("queue", "ready", "pushed", "acked", "dead"), as_json=as_json)


def _read(
    store: str | None, subject: str, *, week: bool, tenant: str | None, points: int
) -> Sequence[History]:
    span = "week" if week else "hour"
    return opening.ask(
        store,
        lambda engine: engine.histories.read(subject, span=span, tenant=tenant, points=points),
    )


def _show(histories: Sequence[History], columns: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        output.emit({"items": histories})
        return
    subject, *figures = columns
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
