"""`holdfast queues`: message queues: define, push, read, tail, dead letters, counts."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli import messages
from holdfast.cli.messages import Group, Name
from holdfast.cli.terminal import inputs, opening, output, times
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.errors import InvalidInput, QueueNotFound
from holdfast.model.messages import LetterFilter, Start
from holdfast.model.queues import Queue, QueueStats

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from holdfast.api import Engine

app: typer.Typer = typer.Typer(cls=Noun)
app.add_typer(messages.app)

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count the messages.")]
MaxAttempts = Annotated[
    int, typer.Option("--max-attempts", help="Maximum deliveries of a message.")
]
DeadLetter = Annotated[
    str | None,
    typer.Option(
        "--dead-letter", metavar="QUEUE", help="Where failed messages go; created if missing."
    ),
]
Waits = Annotated[
    list[str] | None,
    typer.Option("--backoff", metavar="WAIT", help="The wait after a nack; repeatable."),
]
DedupWindow = Annotated[str, typer.Option("--dedup-window", help="How long ids are remembered.")]
MaxSize = Annotated[int | None, typer.Option("--max-size", help="Maximum messages to store.")]
MaxInFlight = Annotated[
    int | None, typer.Option("--max-in-flight", help="Maximum deliveries in flight per group.")
]
MaxPerConsumer = Annotated[
    int | None,
    typer.Option("--max-per-consumer", help="Maximum deliveries in flight per consumer."),
]

_COUNTS = ("ready", "delayed", "in_flight", "acked", "dead", "dropped", "expired", "purged")
#: Far more queues than a person reads.
_MOST = 1000


@app.command()
def ls(*, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List the queues with their counts."""
    queues = opening.ask(store, _look)
    if as_json:
        output.emit({"items": [{"queue": queue, "stats": stats} for queue, stats in queues]})
        return
    rows = [
        (
            queue.name if name == "default" else f"{queue.name} > {name}",
            queue.settings.mode,
            "paused" if queue.paused or name in queue.paused_groups else "open",
            *(getattr(group, count) for count in _COUNTS),
        )
        for queue, stats in queues
        for name, group in sorted(stats.groups.items())
    ]
    rows += [
        (queue.name, "fanout", "no groups", stats.stored, *[None] * (len(_COUNTS) - 1))
        for queue, stats in queues
        if not stats.groups
    ]
    rows.sort(key=lambda row: str(row[0]))
    output.show_table(("queue", "mode", "state", *_COUNTS), rows, nothing="no queues")


async def _look(engine: Engine) -> list[tuple[Queue, QueueStats]]:
    looked: list[tuple[Queue, QueueStats]] = []
    for queue in sorted(await engine.queues.list(limit=_MOST), key=lambda queue: queue.name):
        # It may be removed after it was listed.
        with contextlib.suppress(QueueNotFound):
            looked.append((queue, await engine.queues.stats(queue.name)))
    return looked


@app.command()
def define(
    name: Name,
    *,
    mode: Annotated[str, typer.Option("--mode", help="work or fanout.")] = "work",
    max_attempts: MaxAttempts = 3,
    lock: Annotated[str, typer.Option("--lock", help="How long a delivery stays locked.")] = "30s",
    dead_letter: DeadLetter = None,
    backoff: Waits = None,
    dedup_window: DedupWindow = "5m",
    ttl: Annotated[
        str | None, typer.Option("--ttl", help="Messages expire after this long.")
    ] = None,
    max_size: MaxSize = None,
    priority: Annotated[
        bool, typer.Option("--priority", help="Deliver higher priorities first.")
    ] = False,
    max_in_flight: MaxInFlight = None,
    max_per_consumer: MaxPerConsumer = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Define a queue, or change its definition. Its messages stay; its mode cannot change."""
    fields: dict[str, Any] = {
        "mode": mode,
        "max_attempts": max_attempts,
        "lock_ms": inputs.duration_ms("lock", lock),
        "dead_letter": dead_letter,
        "backoff": tuple(inputs.duration_ms("backoff", wait) for wait in backoff or ()),
        "dedup_window_ms": inputs.duration_ms("dedup-window", dedup_window),
        "ttl_ms": inputs.optional_ms("ttl", ttl),
        "max_size": max_size,
        "priority": priority,
        "max_in_flight": max_in_flight,
        "max_in_flight_per_consumer": max_per_consumer,
    }
    is_new = opening.ask(store, lambda engine: engine.queues.define(name, **fields), create=True)
    output.answer(
        {"queue": name, "created": is_new},
        f"queue {name} is {'defined' if is_new else 'changed'}",
        as_json=as_json,
    )


@app.command()
def show(name: Name, *, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show a queue: its definition, its groups, and the messages it dropped recently."""
    queue = opening.ask(store, lambda engine: engine.queues.describe(name))
    if as_json:
        output.emit(queue)
        return
    settings = queue.settings
    output.say(f"queue {queue.name}, {settings.mode}, created {times.ago(queue.created_at)}")
    for field in settings.__dataclass_fields__:
        value = getattr(settings, field)
        if value not in (None, (), False):
            output.say(f"  {field} {value}")
    output.say(f"  groups {', '.join(queue.groups) or 'none'}")
    if queue.paused or queue.paused_groups:
        output.say(f"  paused {'all' if queue.paused else ', '.join(queue.paused_groups)}")
    for letter in queue.dropped:
        output.say(f"  dropped {letter.id} {times.ago(letter.last_at)}: {letter.reason}")


@app.command()
def rm(name: Name, *, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Remove a queue and its messages."""
    _do(store, lambda engine: engine.queues.delete(name), f"queue {name} is removed", as_json)


@app.command()
def group(
    name: Name,
    group_name: Annotated[str, typer.Argument(metavar="GROUP")],
    *,
    start: Annotated[
        str, typer.Option("--start", help="Where to start: first, end, after:ID or at:TIME.")
    ] = "first",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a group to a fanout queue. An existing group does not change."""
    place = _start(start)
    _do(
        store,
        lambda engine: engine.queues.add_group(name, group_name, place),
        f"queue {name} has group {group_name}",
        as_json,
    )


def _start(text: str) -> Start:
    word, _, rest = text.partition(":")
    if word == "after":
        return Start(place="after", after=rest)
    if word == "at":
        return Start(place="at", at=inputs.moment("start", rest))
    if word in ("first", "end") and not rest:
        return Start(place="first" if word == "first" else "end")
    raise InvalidInput("start: must be first, end, after:ID or at:TIME", field="start")


@app.command()
def ungroup(
    name: Name,
    group_name: Annotated[str, typer.Argument(metavar="GROUP")],
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a group. Messages that only it had not settled are collected."""
    _do(
        store,
        lambda engine: engine.queues.remove_group(name, group_name),
        f"queue {name} has no group {group_name}",
        as_json,
    )


@app.command()
def pause(
    name: Name, *, group: Group = None, store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """Stop deliveries until the queue is resumed; messages in flight can still be settled."""
    _do(store, lambda engine: engine.queues.pause(name, group), f"queue {name} is paused", as_json)


@app.command()
def resume(
    name: Name, *, group: Group = None, store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """Resume deliveries."""
    _do(store, lambda engine: engine.queues.resume(name, group), f"queue {name} is open", as_json)


@app.command()
def stats(
    name: Name, *, group: Group = None, store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """Show exact counts: `pushed` is the sum of the others."""
    stats = opening.ask(store, lambda engine: engine.queues.stats(name, group))
    if as_json:
        output.emit(stats)
        return
    rows = [
        (name, counts.pushed, *(getattr(counts, count) for count in _COUNTS))
        for name, counts in stats.groups.items()
    ]
    output.show_table(("group", "pushed", *_COUNTS), rows, nothing="no groups")
    if stats.mode == "fanout":
        output.say(
            f"stored {stats.stored}, collected {stats.collected}, expired {stats.expired}, "
            f"purged {stats.purged} of {stats.pushed} pushed"
        )
    if stats.owed:
        messages = output.count(stats.owed, "message")
        output.say(f"{messages} in transit to other queues")


@app.command()
def purge(name: Name, *, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Remove all messages, including those in flight. The definition and groups stay."""
    purged = opening.ask(store, lambda engine: engine.queues.purge(name))
    _count("purged", purged, as_json)


@app.command()
def move(
    name: Name,
    to: Annotated[str, typer.Argument(metavar="TARGET")],
    *,
    limit: Annotated[int, typer.Option("--limit", help="Maximum messages to move.")] = 1,
    dry_run: DryRun = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move ready messages to another queue; their attempts start again at zero."""
    moved = opening.ask(store, lambda engine: engine.queues.move(name, to, limit, dry_run=dry_run))
    _count("moved", moved, as_json, dry_run=dry_run)


@app.command()
def redrive(
    name: Name,
    *,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="QUEUE", help="Send them here instead of to their origin."),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", help="Maximum messages to move.")] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", help="Maximum messages per second.")
    ] = None,
    origin: Annotated[
        str | None, typer.Option("--origin", help="Only letters from this queue.")
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", help="Only letters from this group.")
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", help="Only letters whose reason contains this text.")
    ] = None,
    dry_run: DryRun = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send dead letters back to the queues they came from."""
    wanted = LetterFilter(origin=origin, group=group, reason=reason)
    redriven = opening.ask(
        store,
        lambda engine: engine.queues.redrive(
            name, to=to, wanted=wanted, limit=limit, rate_per_s=rate, dry_run=dry_run
        ),
    )
    _count("redriven", redriven, as_json, dry_run=dry_run)


def _count(
    what: str,
    number: int,
    as_json: bool,  # noqa: FBT001
    *,
    dry_run: bool = False,
) -> None:
    text = f"{number} would be {what}" if dry_run else f"{number} {what}"
    output.answer({what: number, **({"dry_run": True} if dry_run else {})}, text, as_json=as_json)


def _do(
    store: str | None,
    work: Callable[[Engine], Awaitable[object]],
    message: str,
    as_json: bool,  # noqa: FBT001
) -> None:
    opening.ask(store, work)
    output.answer({"done": message}, message, as_json=as_json)
