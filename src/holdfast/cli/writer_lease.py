"""`holdfast writer-lease`: writer leases: show, acquire, release, hand over, repair."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from holdfast.cli.terminal import inputs, opening, output, times
from holdfast.cli.terminal.groups import Settings
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.errors import InvalidInput, NotFound
from holdfast.fencing.contend import contend
from holdfast.fencing.leases import Leases
from holdfast.fencing.urls import open_objects
from holdfast.model.ids import new_id
from holdfast.model.moments import from_ms
from holdfast.model.writer_leases import Ask, Token

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from holdfast.api import WriterLeases
    from holdfast.fencing import LeaseRecord, Token

T = TypeVar("T")

app: typer.Typer = typer.Typer(cls=Settings)

Key = Annotated[
    str, typer.Argument(metavar="KEY", help="The key of the lease, such as reports/main.")
]
ObjectsOption = Annotated[
    str | None,
    typer.Option(
        "--objects",
        metavar="URL",
        help="Where the lease is kept: file:///PATH, s3://BUCKET/PREFIX, gs://, az://.",
        show_default="the store",
    ),
]
Holder = Annotated[str, typer.Option("--holder", help="The holder's stable name.")]
Incarnation = Annotated[
    str, typer.Option("--incarnation", help="The incarnation that `acquire` printed.")
]
TokenOption = Annotated[
    str,
    typer.Option("--token", metavar="TERM.GENERATION", help="The token that `acquire` printed."),
]


@app.command()
def show(
    key: Key,
    *,
    objects: ObjectsOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a lease: its holder and its previous holders."""

    async def work(leases: WriterLeases) -> LeaseRecord:
        held = await leases.read(key)
        if held is None:
            raise NotFound(f"writer lease {key} was never held", key=key)
        return held.record

    record = _with_leases(objects, store, work)
    if as_json:
        output.emit(as_value(record))
        return
    _print(record)
    rows = [
        (past.holder_id, f"{past.term}.{past.generation}", past.ended, _when(past.acquired_at_ms))
        for past in reversed(record.holders)
    ]
    if rows:
        output.say("\nBefore")
        output.show_table(("holder", "token", "ended", "acquired"), rows, nothing="")


@app.command()
def acquire(
    key: Key,
    *,
    holder: Holder,
    ttl: Annotated[
        str, typer.Option("--ttl", help="How long the lease lasts without a refresh.")
    ] = "60s",
    wait: Annotated[str, typer.Option("--wait", help="How long to wait for the lease.")] = "0s",
    term: Annotated[
        int | None, typer.Option("--term", help="The term.", show_default="the published one")
    ] = None,
    preempt: Annotated[
        bool, typer.Option("--preempt", help="Take it from a live holder with a lower term.")
    ] = False,
    objects: ObjectsOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Acquire a lease. Nothing refreshes it; `release` needs the values that this prints."""
    ttl_ms = inputs.duration_ms("ttl", ttl)
    wait_ms = inputs.duration_ms("wait", wait)

    async def work(leases: WriterLeases) -> LeaseRecord:

        ask = Ask(
            holder=holder,
            incarnation=new_id(),
            ttl_ms=ttl_ms,
            margin_ms=ttl_ms // 6,
            term=term,
            preempt=preempt,
        )
        return (await contend(leases, key, ask, wait_ms)).record

    record = _with_leases(objects, store, work, create=True)
    if as_json:
        output.emit(as_value(record))
    else:
        _print(record)


@app.command()
def release(
    key: Key,
    *,
    holder: Holder,
    incarnation: Incarnation,
    token: TokenOption,
    objects: ObjectsOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Release a lease, so that the next holder does not have to wait."""
    fence = _token(token)

    async def work(leases: WriterLeases) -> None:
        await leases.release(await leases.current(key, holder, incarnation, fence))

    _with_leases(objects, store, work)
    output.answer(
        {"key": key, "released": True}, f"writer lease {key} is released", as_json=as_json
    )


@app.command("hand-over")
def hand_over(
    key: Key,
    to: Annotated[
        str, typer.Argument(metavar="SUCCESSOR", help="The holder that may take it at once.")
    ],
    *,
    holder: Holder,
    incarnation: Incarnation,
    token: TokenOption,
    objects: ObjectsOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hand a lease over to a named holder; others wait as if it were still held."""
    fence = _token(token)

    async def work(leases: WriterLeases) -> None:
        await leases.hand_over(await leases.current(key, holder, incarnation, fence), to)

    _with_leases(objects, store, work)
    output.answer(
        {"key": key, "successor": to}, f"writer lease {key} is reserved for {to}", as_json=as_json
    )


@app.command()
def repair(
    key: Key,
    *,
    token: Annotated[
        str,
        typer.Option(
            "--token", metavar="TERM.GENERATION", help="At least as high as any token ever granted."
        ),
    ],
    objects: ObjectsOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace an unreadable record with a released one."""
    floor = _token(token)
    record = _with_leases(objects, store, lambda leases: leases.repair(key, floor))
    output.answer(
        as_value(record), f"writer lease {key} starts after {record.token}", as_json=as_json
    )


def as_value(record: LeaseRecord) -> dict[str, object]:
    """Return a record as a JSON value, with the field names of the HTTP API."""
    return {
        "key": record.database_key,
        "holder": record.holder_id,
        "incarnation": record.incarnation,
        "token": {"term": record.term, "generation": record.generation},
        "acquired_at": from_ms(record.acquired_at_ms),
        "expires_at": from_ms(record.expires_at_ms),
        "ttl_ms": record.ttl_ms,
        "released": record.released,
        "successor": record.successor,
        "holders": record.holders,
    }


def _print(record: LeaseRecord) -> None:
    state = "released" if record.released else "held, unless its holder stopped refreshing it"
    if record.successor:
        state = f"reserved for {record.successor}"
    facts = {
        "writer lease": record.database_key,
        "state": state,
        "holder": record.holder_id,
        "incarnation": record.incarnation or "none: a legacy record",
        "token": str(record.token),
        "acquired": _when(record.acquired_at_ms),
        "expires": f"{_when(record.expires_at_ms)}, by the holder's clock",
    }
    for name, value in facts.items():
        output.say(f"{name:<14}{value}")


def _when(ms: int) -> str:
    moment = from_ms(ms)
    return f"{times.stamp(moment)} ({times.ago(moment)})"


def _token(text: str) -> Token:

    term, _, generation = text.partition(".")
    if not (term.isdecimal() and generation.isdecimal()):
        raise InvalidInput("token: must be TERM.GENERATION, such as 1.7", field="token")
    return Token(int(term), int(generation))


def _with_leases(
    objects: str | None,
    store: str | None,
    work: Callable[[WriterLeases], Awaitable[T]],
    *,
    create: bool = False,
) -> T:
    """Do the work on the leases of an object store or of the Valkey store."""
    if objects is not None:
        return asyncio.run(_in_objects(objects, work))

    return opening.ask(store, lambda engine: work(engine.writer_leases), create=create)


async def _in_objects(url: str, work: Callable[[WriterLeases], Awaitable[T]]) -> T:

    return await work(Leases(await open_objects(url)))
