"""`holdfast schedules`: executions submitted by the clock: list, create, pause, fire times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.terminal import inputs, opening, output, times
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, StoreOption, WhoseOption
from holdfast.errors import InvalidInput
from holdfast.model.executions import NewExecution
from holdfast.model.schedules import NewSchedule

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from holdfast.api import Engine
    from holdfast.model.schedules import Schedule

app: typer.Typer = typer.Typer(cls=Noun)

ScheduleId = Annotated[str, typer.Argument(metavar="ID", help="The id of the schedule.")]

COLUMNS = ("id", "kind", "when", "state", "next", "last", "fired", "running", "queued", "tenant")

_PAGE = 200


@app.command()
def ls(
    *,
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Only schedules of this tenant.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the schedules."""

    async def work(engine: Engine) -> list[Schedule]:
        schedules: list[Schedule] = []
        cursor: str | None = None
        while True:
            page = await engine.schedules.list(tenant=tenant, limit=_PAGE, cursor=cursor)
            schedules += page.items
            cursor = page.next_cursor
            if cursor is None:
                return schedules

    schedules = opening.ask(store, work)
    if as_json:
        output.emit({"items": [schedule.view() for schedule in schedules]})
    else:
        output.show_table(
            COLUMNS, [_row(schedule) for schedule in schedules], nothing="no schedules"
        )


def _row(schedule: Schedule) -> tuple[object, ...]:
    plan = schedule.plan
    return (
        schedule.id,
        plan.execution.kind,
        _when(schedule),
        _state(schedule),
        times.ago(schedule.next_at),
        times.ago(schedule.last_at),
        schedule.fired,
        schedule.running,
        schedule.queued,
        schedule.tenant,
    )


def _when(schedule: Schedule) -> str:
    timing = schedule.plan.timing
    if timing.cron is not None:
        return timing.cron if timing.timezone == "UTC" else f"{timing.cron} {timing.timezone}"
    if timing.every_ms is not None:
        return f"every {times.span(timing.every_ms / 1000)}"
    return f"at {times.stamp(timing.at)}"


def _state(schedule: Schedule) -> str:
    if schedule.plan.paused:
        return "paused"
    return "active" if schedule.next_ms is not None else "finished"


@app.command()
def show(
    schedule_id: ScheduleId,
    *,
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a schedule: its plan, its state and its counters."""
    schedule = opening.ask(store, lambda engine: engine.schedules.get(schedule_id, tenant=tenant))
    if as_json:
        output.emit(schedule.view())
        return
    plan = schedule.plan
    facts: dict[str, object] = {
        "kind": plan.execution.kind,
        "tenant": schedule.tenant,
        "lane": "the task's" if "lane" in plan.execution.unset else plan.execution.lane,
        "when": _when(schedule),
        "state": _state(schedule),
        "next": times.stamp(schedule.next_at),
        "last": times.stamp(schedule.last_at),
        "last execution": schedule.last_execution,
        "catch up": plan.catch_up,
        "overlap": plan.overlap,
        "jitter": times.span(plan.jitter_ms / 1000) if plan.jitter_ms else None,
        "fired": schedule.fired,
        "skipped": schedule.skipped,
        "missed": schedule.missed,
        "running": schedule.running,
        "queued": schedule.queued,
        "error": schedule.error,
        "changed": times.stamp(schedule.changed_at),
    }
    output.say(f"schedule {schedule.id}")
    for name, value in facts.items():
        if value is not None:
            output.say(f"  {name:<16}{value}")


Kind = Annotated[str, typer.Argument(metavar="KIND", help="The name of the task.")]
Cron = Annotated[
    str | None, typer.Option("--cron", help="Five cron fields, such as '0 6 * * MON-FRI'.")
]
Every = Annotated[str | None, typer.Option("--every", help="An interval: 30s, 10m, 2h.")]
At = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="TIME", help="Fire once, at a time or after a delay: 2026-01-31T12:00, 2h."
    ),
]
Zone = Annotated[
    str, typer.Option("--timezone", help="The time zone of the cron fields, such as Europe/Berlin.")
]
Input = Annotated[
    str,
    typer.Option(
        "--input", "-i", metavar="JSON", help="The arguments as JSON, @FILE or - (stdin)."
    ),
]
Lane = Annotated[str | None, typer.Option("--lane", show_default="the task's, or default")]
Tenant = Annotated[str, typer.Option("--tenant", help="The tenant that owns it.")]
Priority = Annotated[
    int | None,
    typer.Option(
        "--priority", help="-1000 to 1000; higher is sooner.", show_default="the task's, or 0"
    ),
]
NoCheck = Annotated[
    bool, typer.Option("--no-check", help="Do not check the input against the task.")
]
CatchUp = Annotated[
    str, typer.Option("--catch-up", help="Which missed ticks to fire: none, one or all.")
]
Overlap = Annotated[
    str, typer.Option("--overlap", help="If an earlier execution still runs: allow, skip or queue.")
]
Jitter = Annotated[str, typer.Option("--jitter", help="Fire each tick up to this much later.")]
Paused = Annotated[bool, typer.Option("--paused", help="Create it paused.")]


@app.command()
def create(
    schedule_id: ScheduleId,
    kind: Kind,
    *,
    cron: Cron = None,
    every: Every = None,
    at: At = None,
    timezone: Zone = "UTC",
    data: Input = "null",
    lane: Lane = None,
    tenant: Tenant = "default",
    priority: Priority = None,
    catch_up: CatchUp = "none",
    overlap: Overlap = "allow",
    jitter: Jitter = "0",
    paused: Paused = False,
    no_check: NoCheck = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a schedule."""
    overrides = {"lane": lane, "priority": priority}
    execution = NewExecution.from_fields(
        {
            "kind": kind,
            "input": inputs.payload(data),
            "tenant": tenant,
            "check": not no_check,
            **{name: value for name, value in overrides.items() if value is not None},
        }
    )
    given: dict[str, Any] = {
        "id": schedule_id,
        "cron": cron,
        "every_ms": inputs.optional_ms("every", every),
        "at": _moment(at),
        "timezone": timezone,
        "execution": execution,
        "catch_up": catch_up,
        "overlap": overlap,
        "jitter_ms": inputs.duration_ms("jitter", jitter),
        "paused": paused,
    }
    plan = NewSchedule.from_fields({k: v for k, v in given.items() if v is not None})
    schedule, _ = opening.ask(store, lambda engine: engine.schedules.create(plan), create=True)
    _tell(schedule, as_json=as_json)


def _moment(text: str | None) -> datetime | None:
    """Return a time from a date and time or from a delay."""
    try:
        wait_ms = inputs.optional_ms("at", text)
    except InvalidInput:
        return inputs.moment("at", text)
    return None if wait_ms is None else datetime.now(UTC) + timedelta(milliseconds=wait_ms)


@app.command()
def pause(
    schedule_id: ScheduleId,
    *,
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Pause a schedule. Executions that it has fired continue."""
    _change(
        store,
        lambda engine: engine.schedules.pause(schedule_id, tenant=tenant),
        as_json=as_json,
    )


@app.command()
def resume(
    schedule_id: ScheduleId,
    *,
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Resume a schedule at its next tick from now."""
    _change(
        store,
        lambda engine: engine.schedules.resume(schedule_id, tenant=tenant),
        as_json=as_json,
    )


def _change(
    store: str | None, work: Callable[[Engine], Awaitable[Schedule]], *, as_json: bool
) -> None:
    _tell(opening.ask(store, work), as_json=as_json)


def _tell(schedule: Schedule, *, as_json: bool) -> None:
    if as_json:
        output.emit(schedule.view())
    else:
        following = times.stamp(schedule.next_at)
        fires = f", fires next at {following}" if following else ""
        output.say(f"schedule {schedule.id} is {_state(schedule)}{fires}")


@app.command()
def trigger(
    schedule_id: ScheduleId,
    *,
    key: Annotated[
        str | None, typer.Option("--key", help="Idempotency key: triggers once.")
    ] = None,
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fire now, in addition to the ticks. Prints the id of the execution."""
    made = opening.ask(
        store, lambda engine: engine.schedules.trigger(schedule_id, key=key, tenant=tenant)
    )
    output.answer(made, made.id, as_json=as_json)


@app.command()
def delete(
    schedule_id: ScheduleId,
    *,
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a schedule. Executions that it has fired continue."""
    opening.ask(store, lambda engine: engine.schedules.delete(schedule_id, tenant=tenant))
    output.answer(
        {"id": schedule_id, "state": "deleted"},
        f"schedule {schedule_id} is deleted",
        as_json=as_json,
    )


@app.command(name="next")
def next_times(
    schedule_id: ScheduleId,
    *,
    count: Annotated[
        int, typer.Option("--count", "-n", min=1, max=1000, help="The number of times.")
    ] = 10,
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the next times at which a schedule fires."""
    moments = opening.ask(
        store, lambda engine: engine.schedules.next_times(schedule_id, count, tenant=tenant)
    )
    if as_json:
        output.emit({"items": moments})
        return
    for moment in moments:
        output.say(str(times.stamp(moment)))
    if not moments:
        output.note("the schedule does not fire again")
