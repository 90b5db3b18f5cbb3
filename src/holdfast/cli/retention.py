"""`holdfast retention`: how long ended executions are kept, for all tenants or one: list, set."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.terminal import inputs, opening, output, times
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, StoreOption

app: typer.Typer = typer.Typer(cls=Noun)

EVERYONE = "all"


@app.command()
def ls(*, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List the settings by tenant and state."""
    settings = opening.ask(store, lambda engine: engine.lanes.retention())
    if as_json:
        output.emit({"items": [{"tenant": t, "keep_ms": keep} for t, keep in settings.items()]})
        return
    rows = [
        (tenant or EVERYONE, state, times.span(keep_ms / 1000))
        for tenant, keep in settings.items()
        for state, keep_ms in keep.items()
    ]
    output.show_table(("tenant", "state", "kept for"), rows, nothing="no settings")


@app.command(name="set")
def set_(
    times_: Annotated[
        list[str],
        typer.Argument(
            metavar="STATE=TIME...", help="Such as completed=1h; `STATE=` restores the default."
        ),
    ],
    *,
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="For this tenant only.", show_default=EVERYONE)
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set how long executions are kept after they end, by final state. Applies to later ends."""
    keep_ms = {
        state: inputs.duration_ms(state, text) if text else None
        for state, text in inputs.pairs("retention", times_).items()
    }
    opening.ask(
        store, lambda engine: engine.lanes.set_retention(keep_ms, tenant=tenant), create=True
    )
    if as_json:
        output.emit({"tenant": tenant, "keep_ms": keep_ms})
        return
    for state, keep in keep_ms.items():
        shown = "the default" if keep is None else times.span(keep / 1000)
        output.say(f"retention of {state}, tenant {tenant or EVERYONE}: {shown}")
