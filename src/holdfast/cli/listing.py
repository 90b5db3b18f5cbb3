"""`holdfast ls`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.terminal import inputs, opening, output, times
from holdfast.cli.terminal.failures import one_line
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.model import bounds
from holdfast.model.executions import Execution
from holdfast.model.listing import Filter, Page
from holdfast.model.states import Hold, State

if TYPE_CHECKING:
    from holdfast.api import Engine

#: Longer messages are truncated; `holdfast show` prints them in full.
_ERROR_CHARS = 100

_HOLDS = {Hold.PAUSE: "sleeps", Hold.DELAY: "starts later", Hold.BACKOFF: "retries later"}
_AWAITED = {
    "approval": "approval",
    "callback": "a callback",
    "tool_result": "the result of a tool",
    "budget": "budget",
    "operator": "an operator",
    "code": "code that fits",
}

_COLUMNS = ("id", "kind", "state", "lane", "tenant", "tries", "created", "note")


OfTenant = Annotated[str | None, typer.Option("--tenant", help="Only executions of this tenant.")]
InState = Annotated[State | None, typer.Option("--state", help="Only executions in this state.")]
OnLane = Annotated[str | None, typer.Option("--lane", help="Only executions on this lane.")]
OfKind = Annotated[str | None, typer.Option("--kind", help="Only executions of this task.")]
Since = Annotated[
    str | None,
    typer.Option("--since", help="Created at or after this time: 2h, 2026-01-31T12:00."),
]
Cursor = Annotated[str | None, typer.Option("--cursor", help="Continue from the cursor of a page.")]
WithTag = Annotated[
    str | None, typer.Option("--tag", metavar="NAME=VALUE", help="Only executions with this tag.")
]
InGraph = Annotated[
    str | None, typer.Option("--graph", metavar="ID", help="Only members of this graph.")
]
OfParent = Annotated[
    str | None, typer.Option("--parent", metavar="ID", help="Only children of this execution.")
]


def ls(
    *,
    tenant: OfTenant = None,
    state: InState = None,
    lane: OnLane = None,
    kind: OfKind = None,
    tag: WithTag = None,
    graph: InGraph = None,
    parent: OfParent = None,
    since: Since = None,
    until: Annotated[str | None, typer.Option("--until", help="Created before this time.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="The size of a page.")] = 50,
    cursor: Cursor = None,
    everything: Annotated[bool, typer.Option("--all", help="List all pages.")] = False,
    in_archive: Annotated[
        bool, typer.Option("--archived", help="List the archive instead of the store.")
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List executions, newest first."""
    query = Filter(
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
            return await _all(engine, query, cursor, in_archive=in_archive), None
        page = await _page(engine, query, limit, cursor, in_archive=in_archive)
        if as_json or in_archive:
            return list(page.items), page.next_cursor
        return await _with_errors(engine, page.items), page.next_cursor

    items, next_cursor = opening.ask(store, work)
    if as_json:
        output.emit({"items": items, "next_cursor": next_cursor})
    else:
        _print(items, next_cursor)


def _print(items: list[Execution], next_cursor: str | None) -> None:
    """Print a table, without the tenant column if every tenant is `default`."""
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
    engine: Engine, query: Filter, limit: int, cursor: str | None, *, in_archive: bool
) -> Page:
    """Return a page of the store or of its archive."""
    if in_archive:
        return await engine.archive.page(query, limit=limit, cursor=cursor)
    return await engine.list(query, limit=limit, cursor=cursor)


async def _with_errors(engine: Engine, items: Sequence[Execution]) -> list[Execution]:
    """Read the errors of failed executions concurrently, because lists do not include them."""
    failed = [item.id for item in items if item.state is State.FAILED]
    answers = await asyncio.gather(*map(engine.describe, failed), return_exceptions=True)
    errors = {
        execution.id: execution.error for execution in answers if isinstance(execution, Execution)
    }
    return [replace(item, error=errors.get(item.id, item.error)) for item in items]


async def _all(
    engine: Engine, query: Filter, cursor: str | None, *, in_archive: bool
) -> list[Execution]:
    """Return all pages; the progress bar has a total if counts can answer the query."""
    total = None
    uncounted = (query.tag, query.graph, query.parent, query.since, query.until, cursor)
    if not in_archive and all(value is None for value in uncounted):
        total = sum(
            cell.count
            for cell in await engine.count(query.tenant)
            if query.lane in (None, cell.lane)
            and query.kind in (None, cell.kind)
            and query.state in (None, cell.state)
        )
    executions: list[Execution] = []
    with output.progress("listing", total) as advance:
        while True:
            page = await _page(engine, query, bounds.PAGE_ITEMS, cursor, in_archive=in_archive)
            executions += page.items
            advance(len(page.items))
            cursor = page.next_cursor
            if cursor is None:
                return executions


def row(item: Execution) -> tuple[object, ...]:
    """Return the row of an execution."""
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
    if item.state is State.ACTIVE:
        return f"on {item.worker}" if item.progress_pct is None else f"{item.progress_pct:g} %"
    if item.state is State.SUSPENDED:
        return _waits_for(item)
    if item.state.is_terminal:
        return _end_of(item)
    if item.blocked_by is not None:
        return f"{item.hold} {item.blocked_by}"
    if item.run_at is not None:
        word = _HOLDS.get(item.hold or Hold.DELAY, item.hold)
        return f"{word}, {times.left(item.run_at)}"
    return None


def _end_of(item: Execution) -> str | None:
    if item.error:
        return _error(item.error)
    if item.completed_at is not None and item.started_at is not None:
        return f"took {times.between(item.started_at, item.completed_at)}"
    return None


def _waits_for(item: Execution) -> str:
    if item.hold is Hold.ESCALATED:
        return "waits for an operator: no answer came in time"
    note = f"waits for {_AWAITED.get(str(item.hold), 'an answer')}"
    return f"{note}, {times.left(item.wait_until)}" if item.wait_until else note


def _error(error: Mapping[str, Any]) -> str:
    text = one_line(f"{error.get('type')}: {error.get('message')}")
    return text if len(text) <= _ERROR_CHARS else f"{text[:_ERROR_CHARS]}..."
