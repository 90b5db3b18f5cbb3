"""`holdfast quotas`: limits on how many executions run or start: list, create, set, rules."""

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
    int | None,
    typer.Option("--max-concurrent", min=0, help="Maximum concurrent executions."),
]
PerWindow = Annotated[
    int | None,
    typer.Option("--max-per-window", min=0, help="Maximum starts within a window."),
]
Window = Annotated[str | None, typer.Option("--window", help="The window: 1s, 1m, 1h.")]
Tag = Annotated[
    str | None, typer.Option("--value", help="Count only this value of the tag of its rule.")
]


@app.command()
def ls(
    *,
    tenant: limits.Tenant = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the quotas with their current counts."""
    quotas = opening.ask(store, lambda engine: limits.every(engine.quotas.list, tenant))
    if as_json:
        output.emit({"items": quotas})
        return
    rows = [
        (quota.id, quota.tenant, _running(quota), _started(quota), quota.waiting)
        for quota in quotas
    ]
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
    """Show a quota: its limits and its current counts."""
    quota = opening.ask(
        store, lambda engine: engine.quotas.get(quota_id, value=value, tenant=tenant)
    )
    if as_json:
        output.emit(quota)
        return
    output.say(f"quota       {quota.id}   tenant {quota.tenant}")
    output.say(f"running     {_running(quota)}")
    if started := _started(quota):
        output.say(f"in window   {started}")
    output.say(f"waiting     {quota.waiting}, and {quota.promised} are about to start")


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
    """Create a quota. Safe to repeat."""
    window_ms = inputs.optional_ms("window", window)
    quota, created = opening.ask(
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
    limits.say_created("quota", quota, is_new=created, as_json=as_json)


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
    """Replace the limits. Waiting executions start if there is room."""
    window_ms = inputs.optional_ms("window", window)
    quota = opening.ask(
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
        output.emit(quota)
    else:
        parts = [f"running {_running(quota)}", _started(quota)]
        output.say(f"quota {quota.id}: {', '.join(part for part in parts if part)}")


@app.command()
def delete(
    quota_id: QuotaId,
    *,
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a quota and its rules. Executions that wait for it continue."""
    opening.ask(store, lambda engine: engine.quotas.delete(quota_id, tenant=tenant))
    output.answer(
        {"id": quota_id, "deleted": True}, f"quota {quota_id} is deleted", as_json=as_json
    )


limits.add_rules(app, "quota")
