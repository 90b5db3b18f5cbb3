"""`holdfast schedules`: executions by the clock: list, create, pause, trigger, fire times."""

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
    tenant: Annotated[str | None, typer.Option("--tenant", help="Of this tenant only.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the schedules."""

    async def work(engine: Engine) -> list[Schedule]:
        found: list[Schedule] = []
        cursor: str | None = None
        while True:
            page = await engine.schedules.list(tenant=tenant, limit=_PAGE, cursor=cursor)
            found += page.items
            cursor = page.next_cursor
            if cursor is None:
                return found

    found = opening.ask(store, work)
    if as_json:
        output.emit({"items": [schedule.view() for schedule in found]})
    else:
        output.show_table(COLUMNS, [_row(schedule) for schedule in found], nothing="no schedules")


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
    """Show all about a schedule."""
    found = opening.ask(store, lambda engine: engine.schedules.get(schedule_id, tenant=tenant))
    if as_json:
        output.emit(found.view())
        return
    plan = found.plan
    facts: dict[str, object] = {
        "kind": plan.execution.kind,
        "tenant": found.tenant,
        "lane": "the task's" if "lane" in plan.execution.unset else plan.execution.lane,
        "when": _when(found),
        "state": _state(found),
        "next": times.stamp(found.next_at),
        "last": times.stamp(found.last_at),
        "last execution": found.last_execution,
        "catch up": plan.catch_up,
        "overlap": plan.overlap,
        "jitter": times.span(plan.jitter_ms / 1000) if plan.jitter_ms else None,
        "fired": found.fired,
        "skipped": found.skipped,
        "missed": found.missed,
        "running": found.running,
        "queued": found.queued,
        "error": found.error,
        "changed": times.stamp(found.changed_at),
    }
    output.say(f"schedule {found.id}")
    for name, value in facts.items():
        if value is not None:
            output.say(f"  {name:<16}{value}")


Kind = Annotated[str, typer.Argument(metavar="KIND", help="The name of the task.")]
Cron = Annotated[str | None, typer.Option("--cron", help="Five fields, such as '0 6 * * MON-FRI'.")]
Every = Annotated[str | None, typer.Option("--every", help="An interval: 30s, 10m, 2h.")]
At = Annotated[
    str | None, typer.Option("--at", metavar="TIME", help="Once: 2026-01-31T12:00, or in 2h.")
]
Zone = Annotated[str, typer.Option("--timezone", help="Of the cron fields, such as Europe/Berlin.")]
Input = Annotated[
    str, typer.Option("--input", "-i", metavar="JSON", help="Arguments; @FILE and - work too.")
]
Lane = Annotated[str | None, typer.Option("--lane", show_default="the task's, or default")]
Tenant = Annotated[str, typer.Option("--tenant", help="On whose behalf.")]
Priority = Annotated[
    int | None,
    typer.Option("--priority", help="-1000 to 1000.", show_default="the task's, or 0"),
]
NoCheck = Annotated[
    bool, typer.Option("--no-check", help="The input need not fit what the task takes.")
]
CatchUp = Annotated[str, typer.Option("--catch-up", help="Missed ticks: none, one or all.")]
Overlap = Annotated[
    str, typer.Option("--overlap", help="While an earlier one runs: allow, skip or queue.")
]
Jitter = Annotated[str, typer.Option("--jitter", help="Fire up to this much later.")]
Paused = Annotated[bool, typer.Option("--paused", help="Fire nothing until resumed.")]


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
    said = {"lane": lane, "priority": priority}
    execution = NewExecution.from_fields(
        {
            "kind": kind,
            "input": inputs.payload(data),
            "tenant": tenant,
            "check": not no_check,
            **{name: value for name, value in said.items() if value is not None},
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
    found, _ = opening.ask(store, lambda engine: engine.schedules.create(plan), create=True)
    _tell(found, as_json=as_json)


def _moment(text: str | None) -> datetime | None:
    """Return a moment: a date and time, or in how long."""
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
    """Fire nothing until it is resumed; what was fired goes on."""
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
    """Go on with the next tick from now."""
    _change(
        store,
        lambda engine: engine.schedules.resume(schedule_id, tenant=tenant),
        as_json=as_json,
    )


def _change(
    store: str | None, work: Callable[[Engine], Awaitable[Schedule]], *, as_json: bool
) -> None:
    _tell(opening.ask(store, work), as_json=as_json)


def _tell(found: Schedule, *, as_json: bool) -> None:
    if as_json:
        output.emit(found.view())
    else:
        following = times.stamp(found.next_at)
        fires = f", fires next at {following}" if following else ""
        output.say(f"schedule {found.id} is {_state(found)}{fires}")


@app.command()
def trigger(
    schedule_id: ScheduleId,
    *,
    key: Annotated[str | None, typer.Option("--key", help="The same key triggers once.")] = None,
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fire now, besides the ticks. Prints the id of the execution."""
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
    """Remove a schedule; what it has fired goes on."""
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
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=1000, help="How many.")] = 10,
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print when it fires next."""
    found = opening.ask(
        store, lambda engine: engine.schedules.next_times(schedule_id, count, tenant=tenant)
    )
    if as_json:
        output.emit({"items": found})
        return
    for moment in found:
        output.say(str(times.stamp(moment)))
    if not found:
        output.note("it never fires again")
