"""`holdfast ls`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.matching import Matching
from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.bundles import spread
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


Cursor = Annotated[str | None, typer.Option("--cursor", help="Continue from the cursor of a page.")]


@spread
def ls(
    *,
    matching: Matching,
    limit: Annotated[int, typer.Option("--limit", "-n", help="The size of a page.")] = 50,
    cursor: Cursor = None,
    oldest: Annotated[bool, typer.Option("--oldest", help="List the oldest first.")] = False,
    total: Annotated[bool, typer.Option("--total", help="Say how many match.")] = False,
    why: Annotated[
        bool, typer.Option("--why", help="Say why those that have not ended are not running.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="List all pages.")] = False,
    in_archive: Annotated[
        bool, typer.Option("--archived", help="List the archive instead of the store.")
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List executions, newest first."""
    query = replace(matching.filter, oldest=oldest)
    asked = {"total": total, "whys": why}
    source = _Source(query, cursor, None if everything else limit, in_archive=in_archive)
    page = opening.ask(store, lambda engine: _read(engine, source, asked, as_json=as_json))
    output.emit(_view(page, asked)) if as_json else _print(page)


@dataclass(frozen=True, slots=True)
class _Source:
    """Which part of which list to read; without a limit, all that follows."""

    query: Filter
    cursor: str | None
    limit: int | None
    in_archive: bool


async def _read(engine: Engine, source: _Source, asked: dict[str, bool], *, as_json: bool) -> Page:
    query, cursor, limit = source.query, source.cursor, source.limit
    if limit is None:
        items = await _all(engine, query, cursor, in_archive=source.in_archive)
        return Page(items=tuple(items), next_cursor=None)
    if source.in_archive:
        return await engine.archive.page(query, limit=limit, cursor=cursor)
    page = await engine.list(query, limit=limit, cursor=cursor, **asked)
    if as_json:
        return page
    return replace(page, items=tuple(await _with_errors(engine, page.items)))


def _view(page: Page, asked: dict[str, bool]) -> dict[str, Any]:
    view: dict[str, Any] = {"items": page.items, "next_cursor": page.next_cursor}
    return view | {name: getattr(page, name) for name, wanted in asked.items() if wanted}


def _print(page: Page) -> None:
    """Print a table, without the tenant column if every tenant is `default`."""
    left_out = "tenant" if all(item.tenant == "default" for item in page.items) else ""
    kept = [number for number, column in enumerate(_COLUMNS) if column != left_out]
    rows = [[row(item)[number] for number in kept] for item in page.items]
    output.show_table([_COLUMNS[number] for number in kept], rows, nothing="no executions")
    for execution_id, sentence in page.whys.items():
        output.say(f"{execution_id}: {sentence}")
    if page.total is not None:
        output.note(f"{page.total} match")
    if page.next_cursor is not None:
        output.note(f"more: --cursor {page.next_cursor}, or --all")


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
