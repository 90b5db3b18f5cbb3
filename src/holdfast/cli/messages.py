"""`holdfast queues push`, `read`, `tail` and others: the messages of queues."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.terminal import inputs, opening, output, times
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.errors import HoldfastError
from holdfast.model import bounds
from holdfast.model.deliveries import Delivery, Settle, Verb
from holdfast.model.executions import JSON_CONTENT_TYPE
from holdfast.model.messages import Message, NewMessage, Pushed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.api import Engine

app: typer.Typer = typer.Typer()

Name = Annotated[str, typer.Argument(metavar="QUEUE")]
Group = Annotated[str | None, typer.Option("--group", help="A group of a fanout queue.")]
Count = Annotated[int, typer.Option("--count", "-n", help="Maximum messages to return.")]
Payload = Annotated[
    str, typer.Argument(metavar="PAYLOAD", help="The payload as JSON, @FILE or - (stdin).")
]
Raw = Annotated[bool, typer.Option("--raw", help="Accept any bytes as the payload, not only JSON.")]

#: The most messages to read at once while following a queue.
_TAIL_COUNT = 100
_TAIL_WAIT_MS = 60_000


# A negative priority must not be parsed as an option.
@app.command(context_settings={"ignore_unknown_options": True})
def push(
    name: Name,
    payload: Payload,
    *,
    raw: Raw = False,
    lines: Annotated[bool, typer.Option("--lines", help="Push each line as a message.")] = False,
    message_id: Annotated[str | None, typer.Option("--id", help="The id of the message.")] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="Messages with the same key go out one at a time.")
    ] = None,
    dedup: Annotated[
        str | None, typer.Option("--dedup", help="Deduplication key: pushed once per window.")
    ] = None,
    priority: Annotated[
        int, typer.Option("--priority", help="-1000 to 1000; higher is sooner.")
    ] = 0,
    delay: Annotated[
        str | None, typer.Option("--delay", help="Deliver it after this long.")
    ] = None,
    ttl: Annotated[str | None, typer.Option("--ttl", help="It expires after this long.")] = None,
    left: Annotated[bool, typer.Option("--left", help="Push it to the front.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Push a message, or one per line, and print the ids."""
    fields: dict[str, Any] = {
        "key": key,
        "dedup": dedup,
        "priority": priority,
        "delay_ms": inputs.optional_ms("delay", delay) or 0,
        "ttl_ms": inputs.optional_ms("ttl", ttl),
        "side": "left" if left else "right",
        "id": message_id,
    }
    data = inputs.payload(payload, raw=raw or lines)
    bodies = [line for line in data.split(b"\n") if line.strip()] if lines else [data]
    items = [NewMessage(payload=body, **fields) for body in bodies]
    answers = opening.ask(store, lambda engine: _push(engine, name, items))
    for answer in answers:
        if isinstance(answer, HoldfastError):
            raise answer
        output.answer(
            answer, f"{answer.id}{' (duplicate)' if answer.duplicate else ''}", as_json=as_json
        )


async def _push(engine: Engine, name: str, items: list[NewMessage]) -> list[Pushed | HoldfastError]:
    answers: list[Pushed | HoldfastError] = []
    for first in range(0, len(items), bounds.BATCH_ITEMS):
        answers += await engine.queues.push_many(name, items[first : first + bounds.BATCH_ITEMS])
    return answers


@app.command()
def read(
    name: Name,
    *,
    group: Group = None,
    consumer: Annotated[str, typer.Option("--consumer", help="The name of the consumer.")] = "cli",
    count: Count = 1,
    wait: Annotated[
        str, typer.Option("--wait", help="How long to wait for the first message.")
    ] = "0",
    right: Annotated[bool, typer.Option("--right", help="Read from the right end.")] = False,
    ack: Annotated[bool, typer.Option("--ack", help="Acknowledge the messages.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read messages. Without --ack they are delivered again when their locks expire."""
    wait_ms = inputs.duration_ms("wait", wait)

    async def work(engine: Engine) -> Sequence[Delivery]:
        deliveries = await engine.queues.read(
            name,
            group=group,
            consumer=consumer,
            count=count,
            side="right" if right else "left",
            wait_ms=wait_ms,
        )
        if ack:
            await _ack(engine, name, deliveries)
        return deliveries

    deliveries = opening.ask(store, work, maintenance=wait_ms > 0)
    for delivery in deliveries:
        _show(delivery, as_json=as_json)
    if not deliveries and not as_json:
        output.note("no messages")


async def _ack(engine: Engine, name: str, deliveries: Sequence[Delivery]) -> None:
    items = [Settle(handle=delivery.handle) for delivery in deliveries]
    for answer in await engine.queues.settle(name, "ack", items):
        if isinstance(answer, HoldfastError):
            raise answer


@app.command()
def tail(
    name: Name,
    *,
    group: Group = None,
    consumer: Annotated[str, typer.Option("--consumer", help="The name of the consumer.")] = "cli",
    limit: Annotated[
        int | None, typer.Option("--limit", help="Stop after this many messages.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read and acknowledge messages as they arrive, until Ctrl-C."""

    async def work(engine: Engine) -> None:
        left = limit
        while left is None or left > 0:
            deliveries = await engine.queues.read(
                name,
                group=group,
                consumer=consumer,
                count=min(_TAIL_COUNT, left or _TAIL_COUNT),
                wait_ms=_TAIL_WAIT_MS,
            )
            for delivery in deliveries:
                _show(delivery, as_json=as_json)
            await _ack(engine, name, deliveries)
            left = None if left is None else left - len(deliveries)

    opening.ask(store, work, maintenance=True)


@app.command()
def settle(
    name: Name,
    verb: Annotated[str, typer.Argument(metavar="VERB", help="ack, nack, release or reject.")],
    handles: Annotated[list[str], typer.Argument(metavar="HANDLE...")],
    *,
    reason: Annotated[
        str, typer.Option("--reason", help="The reason, kept with the message.")
    ] = "",
    delay: Annotated[
        str | None, typer.Option("--delay", help="How long to wait after a nack.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Settle deliveries by the handles that `read` prints."""
    items = [
        Settle(handle=handle, reason=reason, delay_ms=inputs.optional_ms("delay", delay))
        for handle in handles
    ]
    chosen: Verb = verb  # type: ignore[assignment]
    answers = opening.ask(store, lambda engine: engine.queues.settle(name, chosen, items))
    for answer in answers:
        if isinstance(answer, HoldfastError):
            raise answer
        output.answer(
            {"ok": True, "repeated": answer.repeated},
            "repeated" if answer.repeated else "done",
            as_json=as_json,
        )


@app.command()
def peek(
    name: Name,
    *,
    group: Group = None,
    count: Count = 10,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the next messages without reading them."""
    messages = opening.ask(store, lambda engine: engine.queues.peek(name, group=group, count=count))
    if as_json:
        output.emit({"items": [_plain(message) for message in messages]})
        return
    rows = [
        (
            message.id,
            message.key,
            message.attempt,
            times.ago(message.enqueued_at),
            message.dead_letter and f"{message.dead_letter.origin}: {message.dead_letter.reason}",
            _text(message.payload),
        )
        for message in messages
    ]
    columns = ("id", "key", "attempts", "pushed", "dead letter", "payload")
    output.show_table(columns, rows, nothing="no messages")


@app.command()
def pending(
    name: Name,
    *,
    group: Group = None,
    count: Count = 50,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the deliveries in flight, soonest to expire first."""
    deliveries = opening.ask(
        store, lambda engine: engine.queues.pending(name, group=group, limit=count)
    )
    if as_json:
        output.emit({"items": deliveries})
        return
    rows = [
        (
            delivery.id,
            delivery.key,
            delivery.consumer,
            delivery.attempt,
            times.ago(delivery.since),
            times.ago(delivery.deadline),
        )
        for delivery in deliveries
    ]
    columns = ("id", "key", "consumer", "attempt", "since", "deadline")
    output.show_table(columns, rows, nothing="nothing in flight")


def _plain(message: Message) -> dict[str, object]:
    """Return a message as a JSON value."""
    return {
        "id": message.id,
        "payload": output.payload(message.payload),
        "key": message.key,
        "attempt": message.attempt,
        "enqueued_at": message.enqueued_at,
        "dead_letter": message.dead_letter,
    }


def _show(delivery: Delivery, *, as_json: bool) -> None:
    if as_json:
        output.emit(
            {
                "handle": delivery.handle,
                "message": _plain(delivery.message),
                "deadline": delivery.deadline,
            }
        )
        return
    output.write_payload(delivery.message.payload, JSON_CONTENT_TYPE)
    if sys.stdout.isatty():
        output.note(f"  {delivery.message.id} attempt {delivery.message.attempt} {delivery.handle}")


def _text(payload: bytes) -> str:
    return payload.decode("utf-8", "backslashreplace")
