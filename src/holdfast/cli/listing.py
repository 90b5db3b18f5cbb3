"""`holdfast ls`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli import archived, inputs, output, session, times
from holdfast.cli.options import JsonOption, StoreOption
from holdfast.model import limits
from holdfast.model.executions import Execution, Filter, Page
from holdfast.model.states import State

if TYPE_CHECKING:
    from holdfast.engine import Engine

_COLUMNS = ("id", "kind", "state", "lane", "tenant", "tries", "created", "note")


InGraph = Annotated[
    str | None, typer.Option("--graph", metavar="ID", help="Only members of this graph.")
]
OfParent = Annotated[
    str | None, typer.Option("--parent", metavar="ID", help="Only children of this one.")
]


def ls(
    *,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only of this tenant.")] = None,
    state: Annotated[State | None, typer.Option("--state", help="Only in this state.")] = None,
    lane: Annotated[str | None, typer.Option("--lane", help="Only on this lane.")] = None,
    kind: Annotated[str | None, typer.Option("--kind", help="Only of this task.")] = None,
    tag: Annotated[
        str | None, typer.Option("--tag", metavar="NAME=VALUE", help="Only with this tag.")
    ] = None,
    graph: InGraph = None,
    parent: OfParent = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Created at or after: 2h, 2026-01-31T12:00.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", help="Created before.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many on a page.")] = 50,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Go on where a page ended.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All pages.")] = False,
    in_archive: Annotated[
        bool, typer.Option("--archived", help="Those in the archive instead of the store.")
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List executions, newest first."""
    wanted = Filter(
        tenant=tenant,
        state=state,
        lane=lane,
        kind=kind,
        tag=_tag(tag),
        graph=graph,
        parent=parent,
        since=inputs.moment("since", since),
        until=inputs.moment("until", until),
    )

    async def work(engine: Engine) -> tuple[list[Execution], str | None]:
        if everything:
            return await _all(engine, wanted, cursor, in_archive=in_archive), None
        page = await _page(engine, wanted, limit, cursor, in_archive=in_archive)
        return list(page.items), page.next_cursor

    items, next_cursor = session.ask(store, work)
    if as_json:
        output.emit({"items": items, "next_cursor": next_cursor})
    else:
        _print(items, next_cursor)


def _print(items: list[Execution], next_cursor: str | None) -> None:
    """Print a table; a column in which all would be `default` is left out."""
    left_out = "tenant" if all(item.tenant == "default" for item in items) else ""
    kept = [number for number, column in enumerate(_COLUMNS) if column != left_out]
    rows = [[row(item)[number] for number in kept] for item in items]
    output.show_table([_COLUMNS[number] for number in kept], rows, nothing="no executions")
    if next_cursor is not None:
        output.note(f"more: --cursor {next_cursor}, or --all")


def _tag(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    ((name, value),) = inputs.pairs("tag", [text]).items()
    return name, value


async def _page(
    engine: Engine, wanted: Filter, limit: int, cursor: str | None, *, in_archive: bool
) -> Page:
    """Return a page of what is in the store, or in its archive."""
    if in_archive:
        return await archived.page(engine, wanted, limit, cursor)
    return await engine.list(wanted, limit=limit, cursor=cursor)


async def _all(
    engine: Engine, wanted: Filter, cursor: str | None, *, in_archive: bool
) -> list[Execution]:
    """Return all pages; the total is known when counts can answer the filter."""
    total = None
    uncounted = (wanted.tag, wanted.graph, wanted.parent, wanted.since, wanted.until, cursor)
    if not in_archive and all(value is None for value in uncounted):
        total = sum(
            cell.count
            for cell in await engine.count(wanted.tenant)
            if wanted.lane in (None, cell.lane)
            and wanted.kind in (None, cell.kind)
            and wanted.state in (None, cell.state)
        )
    found: list[Execution] = []
    with output.progress("listing", total) as advance:
        while True:
            page = await _page(engine, wanted, limits.PAGE_ITEMS, cursor, in_archive=in_archive)
            found += page.items
            advance(len(page.items))
            cursor = page.next_cursor
            if cursor is None:
                return found


def row(item: Execution) -> tuple[object, ...]:
    """Return what the list shows of an execution."""
    return (
        item.id,
        item.kind,
        item.state,
        item.lane,
        item.tenant,
        item.attempts,
        times.ago(item.created_at),
        note_of(item),
    )


def note_of(item: Execution) -> str | None:
    """Return the most telling fact about an execution in its state."""
    if item.state is State.ACTIVE and item.progress_pct is not None:
        return f"{item.progress_pct:g} %"
    if item.state is State.ACTIVE:
        return f"on {item.worker}"
    if item.blocked_by is not None:
        return f"{item.hold} {item.blocked_by}"
    if item.run_at is not None:
        return f"{item.hold}, {times.ago(item.run_at)}"
    if item.completed_at is not None and item.started_at is not None:
        return f"took {times.between(item.started_at, item.completed_at)}"
    return None
