"""`holdfast waitpoints`: waitpoints, which wait for an answer: list, show, token, revoke."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.model.waitpoints import (
    Inbox,
    InboxItem,
    Signal,
    Waitpoint,
    parse_waitpoint_id,
)

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.model.tokens import Token

app: typer.Typer = typer.Typer(cls=Noun)

WaitpointId = Annotated[str, typer.Argument(metavar="WAITPOINT", help="The id of the waitpoint.")]
Answered = Annotated[
    str,
    typer.Argument(
        metavar="WAITPOINT",
        help="The id of the waitpoint, or of an execution that waits at only one.",
    ),
]


@app.command()
def ls(
    *,
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Only waitpoints of this tenant.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="The size of a page.")] = 50,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Continue from the cursor of a page.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the waitpoints that can be answered, oldest first, with their deadlines."""

    async def work(engine: Engine) -> Inbox:
        return await engine.waitpoints.inbox(tenant, limit=limit, cursor=cursor)

    inbox = opening.ask(store, work)
    if as_json:
        items = [{"id": item.waitpoint.id, **_fields(item)} for item in inbox.items]
        output.emit({"items": items, "next_cursor": inbox.next_cursor})
        return
    columns = ("waitpoint", "name", "kind", "tenant", "since", "until", "who", "asks")
    rows = [_row(item) for item in inbox.items]
    output.show_table(columns, rows, nothing="nothing waits for an answer")
    if inbox.next_cursor is not None:
        output.note(f"more: --cursor {inbox.next_cursor}")


def _row(item: InboxItem) -> tuple[object, ...]:
    point = item.waitpoint
    until = "escalated" if item.escalated else times.ago(point.until)
    return (
        point.id,
        point.name,
        item.kind,
        item.tenant,
        times.ago(point.created_at),
        until,
        ", ".join(point.answerers) or "anyone",
        point.title,
    )


@app.command()
def show(
    about: Annotated[str, typer.Argument(metavar="ID", help="The execution, or one of them.")],
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the waitpoints of an execution and the signals that they received."""
    execution_id = parse_waitpoint_id("ID", about)[0] if "~w" in about else about

    async def work(engine: Engine) -> tuple[Sequence[Waitpoint], Sequence[Signal]]:
        points = await engine.waitpoints.of(execution_id)
        return points, await engine.waitpoints.signals(execution_id)

    points, signals = opening.ask(store, work)
    if as_json:
        items = [
            {**_fields(replace(signal, payload=b"")), "payload": output.payload(signal.payload)}
            for signal in signals
        ]
        output.emit({"waitpoints": points, "signals": items})
        return
    rows = [
        (
            point.id,
            point.name,
            point.state,
            point.why,
            times.stamp(point.created_at),
            times.stamp(point.until),
            f"{point.kid}/{point.fingerprint or 'one per person'}",
        )
        for point in points
    ]
    columns = ("waitpoint", "name", "state", "why", "made", "until", "token")
    output.show_table(columns, rows, nothing="no waitpoints")
    if signals:
        output.say("\nSignals")
        came_rows = [
            (
                times.stamp(signal.at),
                signal.name,
                signal.effect,
                signal.source.identity,
                signal.waitpoint,
                signal.payload.decode()[:80],
            )
            for signal in signals
        ]
        names = ("at", "signal", "effect", "source", "waitpoint", "payload")
        output.show_table(names, came_rows, nothing="")


def _fields(item: Signal | InboxItem) -> dict[str, object]:
    return {name: getattr(item, name) for name in item.__dataclass_fields__}


@app.command()
def token(
    waitpoint: WaitpointId,
    *,
    person: Annotated[
        str, typer.Option("--for", metavar="PERSON", help="The approver whose token it is.")
    ] = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the token of a waitpoint. The execution's history records that you read it."""

    async def work(engine: Engine) -> Token:
        return await engine.waitpoints.token(waitpoint, reader=user(), person=person)

    revealed = opening.ask(store, work)
    output.answer(
        {"waitpoint": waitpoint, "kid": revealed.kid, "token": revealed.reveal()},
        revealed.reveal(),
        as_json=as_json,
    )


@app.command()
def revoke(
    waitpoint: WaitpointId, *, store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """Close a waitpoint. Its token becomes invalid."""
    why = opening.ask(store, lambda engine: engine.waitpoints.revoke(waitpoint))
    output.answer(
        {"waitpoint": waitpoint, "state": "closed", "why": why},
        f"{waitpoint} is closed: {why}",
        as_json=as_json,
    )


def user() -> str:
    """Return the user of this command, for the history."""
    try:
        return f"cli:{getpass.getuser()}"
    except (OSError, KeyError):
        return "cli"
