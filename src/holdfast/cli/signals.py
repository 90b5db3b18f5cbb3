"""Commands that answer waitpoints: `holdfast approve`, `deny`, `signal` and `resume`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from holdfast.cli import bulk
from holdfast.cli.terminal import inputs, opening, output
from holdfast.cli.terminal.options import (
    DryRun,
    JsonOption,
    OfKind,
    OfTenant,
    Since,
    StoreOption,
)
from holdfast.cli.waitpoints import Answered, find, user
from holdfast.errors import InvalidInput
from holdfast.model.listing import Filter
from holdfast.model.states import State
from holdfast.model.waitpoints import Effect, NewSignal, Source

if TYPE_CHECKING:
    from holdfast.api import Engine

Payload = Annotated[
    str | None, typer.Option("--payload", "-p", help="The payload as JSON, @FILE or - (stdin).")
]
Identity = Annotated[
    str | None,
    typer.Option("--as", metavar="IDENTITY", help="Who answers; the default is your user name."),
]
Comment = Annotated[str, typer.Option("--comment", help="A comment, added to the payload.")]

_WORDS = {
    Effect.RESUMED: "the execution continues",
    Effect.APPENDED: "counted; the execution still waits for more",
    Effect.BUFFERED: "kept until the execution waits for it",
    Effect.IGNORED: "recorded, but the execution does not wait for it",
    Effect.DUPLICATE: "already received; nothing changes",
}


def approve(
    waitpoint: Answered,
    *,
    comment: Comment = "",
    payload: Payload = None,
    identity: Identity = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Approve: send a signal named `approve`."""
    body = _decision(payload, comment, approved=True)
    _send(store, Answer(waitpoint, "approve", body, identity), as_json=as_json)


def deny(
    waitpoint: Answered,
    *,
    comment: Comment = "",
    payload: Payload = None,
    identity: Identity = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Deny: send a signal named `deny`."""
    body = _decision(payload, comment, approved=False)
    _send(store, Answer(waitpoint, "deny", body, identity), as_json=as_json)


def signal(
    waitpoint: Answered,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the signal.")] = "answer",
    *,
    payload: Payload = None,
    identity: Identity = None,
    key: Annotated[
        str | None, typer.Option("--key", help="Idempotency key: counts once per waitpoint.")
    ] = None,
    correlation: Annotated[
        str, typer.Option("--correlation", help="A correlation id, kept with the signal.")
    ] = "",
    token: Annotated[
        str | None,
        typer.Option("--token", metavar="@FILE", help="The waitpoint's token: @FILE or - (stdin)."),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send a signal to a waitpoint."""
    body = b"null" if payload is None else inputs.payload(payload)
    revealed = None if token is None else inputs.secret("token", token)
    answer = Answer(waitpoint, name, body, identity, key=key, correlation=correlation)
    _send(store, answer, revealed, as_json=as_json)


def resume(
    execution_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The id of the execution.")
    ] = None,
    *,
    mismatched: Annotated[
        bool,
        typer.Option(
            "--mismatched", help="Resume all executions whose code did not fit, by the filters."
        ),
    ] = False,
    kind: OfKind = None,
    tenant: OfTenant = None,
    since: Since = None,
    dry_run: DryRun = False,
    payload: Payload = None,
    identity: Identity = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Resume a suspended execution without the answer that it waits for."""
    if mismatched == (execution_id is not None):
        raise InvalidInput("resume: give the ID of an execution, or --mismatched", field="ID")
    body = b"null" if payload is None else inputs.payload(payload)

    async def work(engine: Engine, held: str) -> State:
        return await engine.waitpoints.resume(held, body, identity=identity or user())

    if execution_id is None:
        query = Filter(
            state=State.SUSPENDED, kind=kind, tenant=tenant, since=inputs.moment("since", since)
        )
        change = bulk.Change("resume", work, bulk.is_misfit, dry_run=dry_run)
        bulk.run(change, query, store, as_json=as_json)
        return
    if dry_run or any((kind, tenant, since)):
        raise InvalidInput("resume: --dry-run and filters need --mismatched", field="mismatched")

    state = opening.ask(store, lambda engine: work(engine, execution_id))
    done = {"id": execution_id, "state": state}
    output.answer(done, f"resumed {execution_id}: it is {state}", as_json=as_json)


def _decision(payload: str | None, comment: str, *, approved: bool) -> bytes:
    if payload is not None:
        return inputs.payload(payload)
    decision: dict[str, object] = {"approved": approved}
    if comment:
        decision["comment"] = comment
    return msgspec.json.encode(decision)


@dataclass(frozen=True, slots=True)
class Answer:
    """The caller's answer to a waitpoint, or to the only open waitpoint of an execution."""

    waitpoint: str
    name: str
    payload: bytes
    identity: str | None
    key: str | None = None
    correlation: str = ""

    async def signal(self, engine: Engine) -> NewSignal:
        """Return the signal; raise InvalidInput if the execution waits at several waitpoints."""
        return NewSignal(
            waitpoint=await find(engine, self.waitpoint),
            name=self.name,
            payload=self.payload,
            source=Source(type="user", identity=self.identity or user()),
            idempotency_key=self.key,
            correlation=self.correlation,
        )


def _send(store: str | None, answer: Answer, token: str | None = None, *, as_json: bool) -> None:
    async def work(engine: Engine) -> tuple[str, Effect]:
        signal = await answer.signal(engine)
        return signal.waitpoint, await engine.waitpoints.signal(signal, token)

    waitpoint, effect = opening.ask(store, work)
    output.answer(
        {"waitpoint": waitpoint, "effect": effect}, f"{effect}: {_WORDS[effect]}", as_json=as_json
    )
