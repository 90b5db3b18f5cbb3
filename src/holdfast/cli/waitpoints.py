"""`holdfast waitpoints`: what waits for an answer: list, show, token, revoke."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.errors import InvalidInput, WaitpointNotFound
from holdfast.model.waitpoints import Inbox, InboxItem, Signal, Waitpoint, WaitpointState

if TYPE_CHECKING:
    from holdfast.api import Engine

app: typer.Typer = typer.Typer(cls=Noun)

WaitpointId = Annotated[str, typer.Argument(metavar="WAITPOINT", help="The id of the waitpoint.")]
Answered = Annotated[
    str,
    typer.Argument(
        metavar="WAITPOINT",
        help="The id of the waitpoint, or of an execution that waits at one only.",
    ),
]


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
    """List what can be answered, and until when, the oldest first."""

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
    execution_id: Annotated[str, typer.Argument(metavar="ID", help="The id of the execution.")],
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the waitpoints of an execution and the signals that came."""

    async def work(engine: Engine) -> tuple[Sequence[Waitpoint], Sequence[Signal]]:
        points = await engine.waitpoints.of(execution_id)
        return points, await engine.waitpoints.signals(execution_id)

    points, signals = opening.ask(store, work)
    if as_json:
        came = [
            {**_fields(replace(one, payload=b"")), "payload": output.payload(one.payload)}
            for one in signals
        ]
        output.emit({"waitpoints": points, "signals": came})
        return
    rows = [
        (
            one.id,
            one.name,
            one.state,
            one.why,
            times.stamp(one.created_at),
            times.stamp(one.until),
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
        output.show_table(names, came_rows, nothing="")


def _fields(item: Signal | InboxItem) -> dict[str, object]:
    return {name: getattr(item, name) for name in item.__dataclass_fields__}


@app.command()
def token(
    waitpoint: WaitpointId, *, store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """Print the token of a waitpoint; the history of its execution tells that you read it."""
    found = opening.ask(store, lambda engine: engine.waitpoints.token(waitpoint, reader=user()))
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
    why = opening.ask(store, lambda engine: engine.waitpoints.revoke(waitpoint))
    output.answer(
        {"waitpoint": waitpoint, "state": "closed", "why": why},
        f"{waitpoint} is closed: {why}",
        as_json=as_json,
    )


async def find(engine: Engine, name: str) -> str:
    """Return the waitpoint of that id, or the only one that an execution of that id waits at."""
    if "~w" in name:
        return name
    points = [one for one in await engine.waitpoints.of(name) if one.state is WaitpointState.OPEN]
    if len(points) == 1:
        return points[0].id
    if not points:
        raise WaitpointNotFound(f"execution {name} waits for no answer", id=name)
    listed = ", ".join(f"{one.id} ({one.name})" for one in points)
    message = f"execution {name} waits at {len(points)} waitpoints, choose one: {listed}"
    raise InvalidInput(message, field="waitpoint", waitpoints=[one.id for one in points])


def user() -> str:
    """Return who runs this command, for the history."""
    try:
        return f"cli:{getpass.getuser()}"
    except (OSError, KeyError):
        return "cli"
