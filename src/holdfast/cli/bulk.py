"""`holdfast bulk`: one action on many: cancel, replay, prioritize, resubmit, show, ls, abort."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.matching import Matching
from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.bundles import Bundle, spread
from holdfast.cli.terminal.groups import Verbs
from holdfast.cli.terminal.options import JsonOption, Reason, StoreOption
from holdfast.model.bulk import DEFAULT_RATE, Bulk, BulkAction, NewBulk, Preview
from holdfast.model.filter_words import words_of

if TYPE_CHECKING:
    from holdfast.api import Engine

app: typer.Typer = typer.Typer(cls=Verbs)

_LOOK_S = 0.5

BulkId = Annotated[str, typer.Argument(metavar="ID", help="The id of the bulk action.")]
TenantOption = Annotated[
    str | None, typer.Option("--tenant", help="Its tenant.", show_default="default")
]


@dataclass(frozen=True, kw_only=True)
class How(Bundle):
    """How to carry a bulk action out."""

    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only count the executions and show the first.")
    ] = False
    expected: Annotated[
        int | None,
        typer.Option("--expect", metavar="N", help="Start only if about this many match."),
    ] = None
    rate: Annotated[
        int, typer.Option("--rate", metavar="N", help="How many in a second, at most.")
    ] = DEFAULT_RATE
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Print the progress until it is over.")
    ] = False
    reason: Reason = ""
    store: StoreOption = None
    as_json: JsonOption = False


@app.command()
@spread
def cancel(*, matching: Matching, how: How) -> None:
    """Cancel every execution that matches and has not ended."""
    _start(BulkAction.CANCEL, matching, how)


@app.command()
@spread
def replay(*, matching: Matching, how: How) -> None:
    """Run every ended execution that matches again, from the beginning."""
    _start(BulkAction.REPLAY, matching, how)


@app.command()
@spread
def prioritize(
    *,
    priority: Annotated[
        int, typer.Option("--priority", metavar="N", help="-1000 to 1000; higher is sooner.")
    ],
    matching: Matching,
    how: How,
) -> None:
    """Change the priority of every execution that matches and has not ended."""
    _start(BulkAction.PRIORITIZE, matching, how, priority)


@app.command()
@spread
def resubmit(*, matching: Matching, how: How) -> None:
    """Submit a copy of every execution that matches, with the same input."""
    _start(BulkAction.RESUBMIT, matching, how)


def _start(action: BulkAction, matching: Matching, how: How, priority: int | None = None) -> None:
    new = NewBulk(
        action=action,
        wanted=matching.filter,
        reason=how.reason,
        priority=priority,
        rate=how.rate,
        expected=how.expected,
    )
    if how.dry_run:
        preview = opening.ask(how.store, lambda engine: engine.bulk.preview(new))
        output.emit(_selection(preview)) if how.as_json else _show_preview(action, preview)
        return

    async def work(engine: Engine) -> Bulk:
        made = await engine.bulk.start(new)
        return await _watched(engine, made, as_json=how.as_json) if how.watch else made

    made = opening.ask(how.store, work)
    output.answer(_view(made), _sentence(made), as_json=how.as_json)


@app.command()
def show(
    bulk_id: BulkId,
    *,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Print the progress until it is over.")
    ] = False,
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a bulk action, its progress and what was refused."""

    async def work(engine: Engine) -> Bulk:
        found = await engine.bulk.get(bulk_id, tenant=tenant)
        return await _watched(engine, found, as_json=as_json) if watch else found

    found = opening.ask(store, work)
    output.answer(_view(found), _sentence(found), as_json=as_json)
    if not as_json:
        for refusal in found.refused_items:
            output.note(f"{refusal.id}: {refusal.message} ({refusal.code})")


@app.command()
def ls(
    *, tenant: TenantOption = None, store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """List the last bulk actions, newest first."""
    found = opening.ask(store, lambda engine: engine.bulk.list(tenant=tenant))
    if as_json:
        output.emit({"items": [_view(one) for one in found]})
        return
    rows = [
        (one.id, one.state, one.summary, times.ago(one.started_at), one.by or None) for one in found
    ]
    output.show_table(("id", "state", "progress", "started", "by"), rows, nothing="no bulk actions")


@app.command()
def abort(
    bulk_id: BulkId,
    *,
    reason: Reason = "",
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop a bulk action; executions that it has acted on stay as they are."""
    found = opening.ask(
        store, lambda engine: engine.bulk.abort(bulk_id, tenant=tenant, reason=reason)
    )
    output.answer(_view(found), _sentence(found), as_json=as_json)


async def _watched(engine: Engine, bulk: Bulk, *, as_json: bool) -> Bulk:
    """Print how far a bulk action is until it has ended, and return its end."""
    seen = ""
    while not bulk.state.is_terminal:
        line = _sentence(bulk)
        if line != seen:
            output.answer(_view(bulk), line, as_json=as_json)
        seen = line
        await asyncio.sleep(_LOOK_S)
        bulk = await engine.bulk.get(bulk.id, tenant=bulk.tenant)
    return bulk


def _sentence(bulk: Bulk) -> str:
    return f"bulk action {bulk.id} is {bulk.state}: {bulk.summary}"


def _selection(preview: Preview) -> dict[str, Any]:
    total = preview.total
    return {"count": total.count, "exact": total.exact, "sample": preview.sample}


def _show_preview(action: BulkAction, preview: Preview) -> None:
    for execution in preview.sample:
        output.say(f"{execution.id} ({execution.kind}, {execution.state})")
    count = preview.total.count
    if not preview.total.exact or count > len(preview.sample):
        output.say("...")
    executions = "execution" if count == 1 and preview.total.exact else "executions"
    output.say(f"would {action} {preview.total} {executions}")


def _view(bulk: Bulk) -> dict[str, Any]:
    hidden = {"wanted", "pending", "cursor", "is_last"}
    known = {name: getattr(bulk, name) for name in Bulk.__dataclass_fields__ if name not in hidden}
    more = {"execution": bulk.execution, "pct": bulk.pct, "summary": bulk.summary}
    return {**known, "filter": words_of(bulk.wanted), **more}
