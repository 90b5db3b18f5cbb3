"""`holdfast waitpoints`: the inbox of what can be answered, and the waitpoints of an execution."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli import output, session, times
from holdfast.cli.groups import Noun
from holdfast.cli.options import JsonOption, StoreOption
from holdfast.model.waitpoints import Inbox, InboxItem, Signal, Waitpoint

if TYPE_CHECKING:
    from holdfast.engine import Engine

app: typer.Typer = typer.Typer(
    cls=Noun, help="What waits for an answer: list, show, token, revoke."
)

WaitpointId = Annotated[str, typer.Argument(metavar="WAITPOINT", help="The id of the waitpoint.")]


@app.command()
def ls(
    *,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only of this tenant.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many on a page.")] = 50,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Go on where a page ended.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what can be answered, the oldest first."""

    async def work(engine: Engine) -> Inbox:
        return await engine.waitpoints.inbox(tenant, limit=limit, cursor=cursor)

    inbox = session.ask(store, work)
    if as_json:
        output.emit({"items": inbox.items, "next_cursor": inbox.next_cursor})
        return
    columns = ("waitpoint", "name", "kind", "tenant", "since", "until", "who", "asks")
    rows = [_row(item) for item in inbox.items]
    output.show_table(columns, rows, nothing="nothing waits for an answer")
    if inbox.next_cursor is not None:
        output.note(f"more: --cursor {inbox.next_cursor}")


def _row(item: InboxItem) -> tuple[object, ...]:
    point = item.waitpoint
    until = "escalated" if item.escalated else times.stamp(point.expires_at)
    return (
        point.id,
        point.name,
        item.kind,
        item.tenant,
        times.ago(point.created_at),
        until,
        ", ".join(point.answerers) or "anybody",
        point.title,
    )


@app.command()
def show(
    execution_id: Annotated[str, typer.Argument(metavar="ID", help="The id of the execution.")],
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the waitpoints of an execution and the signals that came."""

    async def work(engine: Engine) -> tuple[Sequence[Waitpoint], Sequence[Signal]]:
        points = await engine.waitpoints.of(execution_id)
        return points, await engine.waitpoints.signals(execution_id)

    points, signals = session.ask(store, work)
    if as_json:
        came = [{**_fields(one), "payload": output.payload(one.payload)} for one in signals]
        output.emit({"waitpoints": points, "signals": came})
        return
    rows = [
        (
            one.id,
            one.name,
            one.state,
            one.why,
            times.stamp(one.created_at),
            times.stamp(one.expires_at),
            f"{one.kid}/{one.fingerprint}",
        )
        for one in points
    ]
    columns = ("waitpoint", "name", "state", "why", "made", "until", "token")
    output.show_table(columns, rows, nothing="no waitpoints")
    if signals:
        output.say("\nSignals")
        came_rows = [
            (
                times.stamp(one.at),
                one.name,
                one.effect,
                one.source.identity,
                one.waitpoint,
                one.payload.decode()[:80],
            )
            for one in signals
        ]
        names = ("at", "signal", "effect", "source", "waitpoint", "payload")
        output.console().print(output.table(names, came_rows))


def _fields(signal: Signal) -> dict[str, object]:
    shown = replace(signal, payload=b"")
    return {name: getattr(shown, name) for name in shown.__dataclass_fields__}


@app.command()
def token(
    waitpoint: WaitpointId, *, store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """Print the token of a waitpoint; the history of its execution tells that you read it."""
    found = session.ask(store, lambda engine: engine.waitpoints.token(waitpoint, reader=user()))
    output.answer(
        {"waitpoint": waitpoint, "kid": found.kid, "token": found.reveal()},
        found.reveal(),
        as_json=as_json,
    )


@app.command()
def revoke(
    waitpoint: WaitpointId, *, store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """Close a waitpoint: its token is worth nothing any more."""
    why = session.ask(store, lambda engine: engine.waitpoints.revoke(waitpoint))
    output.answer(
        {"waitpoint": waitpoint, "state": "closed", "why": why},
        f"{waitpoint} is closed: {why}",
        as_json=as_json,
    )


def user() -> str:
    """Return who runs this command, for the history."""
    try:
        return f"cli:{getpass.getuser()}"
    except (OSError, KeyError):
        return "cli"
