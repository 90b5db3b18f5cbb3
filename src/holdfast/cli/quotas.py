"""`holdfast quotas`: how many executions run or start: list, create, limits, delete, rules."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli import limits
from holdfast.cli.terminal import inputs, opening, output
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, StoreOption, WhoseOption
from holdfast.model.quotas import Quota

app: typer.Typer = typer.Typer(cls=Noun)

QuotaId = Annotated[str, typer.Argument(metavar="ID", help="The id of the quota.")]
Concurrent = Annotated[
    int | None, typer.Option("--max-concurrent", min=0, help="So many run at once.")
]
PerWindow = Annotated[
    int | None, typer.Option("--max-per-window", min=0, help="So many start in a window.")
]
Window = Annotated[str | None, typer.Option("--window", help="The window: 1s, 1m, 1h.")]
Tag = Annotated[
    str | None, typer.Option("--value", help="Count one value of the tag of its rule only.")
]


@app.command()
def ls(
    *,
    tenant: limits.Tenant = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the quotas with what counts against them."""
    found = opening.ask(store, lambda engine: limits.every(engine.quotas.list, tenant))
    if as_json:
        output.emit({"items": found})
        return
    rows = [(one.id, one.tenant, _running(one), _started(one), one.waiting) for one in found]
    columns = ("quota", "tenant", "running", "in window", "waiting")
    output.show_table(columns, rows, nothing="no quotas")


def _running(quota: Quota) -> str:
    most = quota.max_concurrent
    return f"{quota.running}" if most is None else f"{quota.running} of {most}"


def _started(quota: Quota) -> str | None:
    if quota.max_per_window is None:
        return None
    return f"{quota.in_window} of {quota.max_per_window} in {quota.window_ms} ms"


@app.command()
def show(
    quota_id: QuotaId,
    *,
    value: Tag = None,
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a quota: its limits, and what counts against them."""
    found = opening.ask(
        store, lambda engine: engine.quotas.get(quota_id, value=value, tenant=tenant)
    )
    if as_json:
        output.emit(found)
        return
    output.say(f"quota       {found.id}   tenant {found.tenant}")
    output.say(f"running     {_running(found)}")
    if started := _started(found):
        output.say(f"in window   {started}")
    output.say(f"waiting     {found.waiting}, and {found.promised} are about to start")


@app.command()
def create(
    quota_id: QuotaId,
    *,
    max_concurrent: Concurrent = None,
    max_per_window: PerWindow = None,
    window: Window = None,
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a quota. The same again is no error."""
    window_ms = inputs.optional_ms("window", window)
    found, created = opening.ask(
        store,
        lambda engine: engine.quotas.create(
            quota_id,
            tenant=tenant,
            window_ms=window_ms,
            max_per_window=max_per_window,
            max_concurrent=max_concurrent,
        ),
        create=True,
    )
    limits.say_created("quota", found, is_new=created, as_json=as_json)


@app.command("set")
def set_(
    quota_id: QuotaId,
    *,
    max_concurrent: Concurrent = None,
    max_per_window: PerWindow = None,
    window: Window = None,
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace the limits; executions that wait go on if there is room."""
    window_ms = inputs.optional_ms("window", window)
    found = opening.ask(
        store,
        lambda engine: engine.quotas.set(
            quota_id,
            window_ms=window_ms,
            max_per_window=max_per_window,
            max_concurrent=max_concurrent,
            tenant=tenant,
        ),
    )
    if as_json:
        output.emit(found)
    else:
        parts = [f"running {_running(found)}", _started(found)]
        output.say(f"quota {found.id}: {', '.join(part for part in parts if part)}")


@app.command()
def delete(
    quota_id: QuotaId,
    *,
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a quota and its rules; whoever waits for it goes on."""
    opening.ask(store, lambda engine: engine.quotas.delete(quota_id, tenant=tenant))
    output.answer(
        {"id": quota_id, "deleted": True}, f"quota {quota_id} is deleted", as_json=as_json
    )


limits.add_rules(app, "quota")
