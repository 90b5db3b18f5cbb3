"""Commands that answer waitpoints: `holdfast approve`, `deny`, `signal` and `resume`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from holdfast.cli import changing
from holdfast.cli.terminal import inputs, opening, output
from holdfast.cli.terminal.options import (
    DryRun,
    JsonOption,
    OfKind,
    OfTenant,
    Since,
    StoreOption,
)
from holdfast.cli.waitpoints import Answered, user
from holdfast.errors import InvalidInput
from holdfast.model.listing import Filter
from holdfast.model.states import State
from holdfast.model.tokens import person_of
from holdfast.model.waitpoints import Effect, NewSignal, Source
from holdfast.operate.answering import find

if TYPE_CHECKING:
    from holdfast.api import Engine

Payload = Annotated[
    str | None, typer.Option("--payload", "-p", help="The payload as JSON, @FILE or - (stdin).")
]
Identity = Annotated[
    str | None,
    typer.Option("--as", metavar="IDENTITY", help="Who answers; the default is your user name."),
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token", metavar="@FILE", help="The token, yours if you are an approver: @FILE or -."
    ),
]
Comment = Annotated[str, typer.Option("--comment", help="A comment, added to the payload.")]

_WORDS = {
    Effect.RESUMED: "the execution continues",
    Effect.APPENDED: "counted; the execution still waits for more",
    Effect.BUFFERED: "kept until the execution waits for it",
    Effect.IGNORED: "recorded, but the execution does not wait for it",
    Effect.DUPLICATE: "already received; nothing changes",
}
#: Effects of signals to the code of an execution.
_SENT = {
    Effect.BUFFERED: "the execution receives it when its code asks for it",
    Effect.DUPLICATE: _WORDS[Effect.DUPLICATE],
}


def approve(
    waitpoint: Answered,
    *,
    comment: Comment = "",
    payload: Payload = None,
    identity: Identity = None,
    token: TokenOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Approve: send a signal named `approve`."""
    body = _decision(payload, comment, approved=True)
    _send(store, Answer(waitpoint, "approve", body, identity), token, as_json=as_json)


def deny(
    waitpoint: Answered,
    *,
    comment: Comment = "",
    payload: Payload = None,
    identity: Identity = None,
    token: TokenOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Deny: send a signal named `deny`."""
    body = _decision(payload, comment, approved=False)
    _send(store, Answer(waitpoint, "deny", body, identity), token, as_json=as_json)


def signal(
    waitpoint: Answered,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the signal.")] = "answer",
    *,
    to_code: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Send a signal of this name to the code of execution ID instead.",
        ),
    ] = None,
    payload: Payload = None,
    identity: Identity = None,
    key: Annotated[
        str | None, typer.Option("--key", help="Idempotency key: counts once per waitpoint.")
    ] = None,
    correlation: Annotated[
        str, typer.Option("--correlation", help="A correlation id, kept with the signal.")
    ] = "",
    token: TokenOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send a signal to a waitpoint, or with --name to the code of a running execution."""
    body = b"null" if payload is None else inputs.payload(payload)
    if to_code is not None:
        if token is not None or name != "answer":
            raise InvalidInput("signal: --name takes no NAME and no --token", field="name")
        answer = Answer(waitpoint, to_code, body, identity, key=key, correlation=correlation)
        effect = opening.ask(store, answer.send)
        output.answer(
            {"id": waitpoint, "effect": effect}, f"{effect}: {_SENT[effect]}", as_json=as_json
        )
        return
    answer = Answer(waitpoint, name, body, identity, key=key, correlation=correlation)
    _send(store, answer, token, as_json=as_json)


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
        change = changing.Change("resume", work, changing.is_misfit, dry_run=dry_run)
        changing.run(change, query, store, as_json=as_json)
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

    async def signal(self, engine: Engine, token: str | None) -> NewSignal:
        """Return the signal; raise InvalidInput if the execution waits at several waitpoints."""
        person = "" if token is None else person_of(token)
        return NewSignal(
            waitpoint=await find(engine, self.waitpoint),
            name=self.name,
            payload=self.payload,
            source=Source(type="user", identity=self.identity or person or user()),
            idempotency_key=self.key,
            correlation=self.correlation,
        )

    async def send(self, engine: Engine) -> Effect:
        """Send it to the code of an execution."""
        return await engine.signal(
            self.waitpoint,
            self.name,
            self.payload,
            source=Source(type="user", identity=self.identity or user()),
            idempotency_key=self.key,
            correlation=self.correlation,
        )


def _send(store: str | None, answer: Answer, token: str | None, *, as_json: bool) -> None:
    revealed = None if token is None else inputs.secret("token", token)

    async def work(engine: Engine) -> tuple[str, Effect]:
        signal = await answer.signal(engine, revealed)
        return signal.waitpoint, await engine.waitpoints.signal(signal, revealed)

    waitpoint, effect = opening.ask(store, work)
    output.answer(
        {"waitpoint": waitpoint, "effect": effect}, f"{effect}: {_WORDS[effect]}", as_json=as_json
    )
