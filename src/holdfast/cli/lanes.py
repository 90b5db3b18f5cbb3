"""`holdfast lanes`: executions and settings by lane: list, pause, resume, drain, weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal import inputs, opening, output
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.errors import InvalidInput
from holdfast.model.snapshots import shown_states

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from holdfast.api import Engine

app: typer.Typer = typer.Typer(cls=Noun)

Lane = Annotated[str, typer.Argument(metavar="LANE")]


@app.command()
def ls(*, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List the lanes that have executions, workers or settings."""
    lanes = opening.ask(store, lambda engine: engine.lanes.views())
    if as_json:
        output.emit({"items": lanes})
        return
    states = shown_states([view.counts for view in lanes])
    shown = [state for state in states if not state.is_terminal]
    rows = [
        (
            view.lane,
            view.setting,
            *(view.counts.get(state, 0) for state in shown),
            sum(count for state, count in view.counts.items() if state.is_terminal),
            view.workers,
            " ".join(f"{tenant}={weight:g}" for tenant, weight in view.weights.items()),
        )
        for view in lanes
    ]
    columns = ("lane", "setting", *shown, "ended", "workers", "weights")
    output.show_table(columns, rows, nothing="no lanes")


@app.command()
def pause(lane: Lane, *, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Stop claims from a lane until it is resumed; running executions continue."""
    _set(store, lambda engine: engine.lanes.pause(lane), lane, "paused", as_json=as_json)


@app.command()
def resume(lane: Lane, *, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Resume a lane that is paused or draining."""
    _set(store, lambda engine: engine.lanes.resume(lane), lane, "open", as_json=as_json)


@app.command()
def drain(lane: Lane, *, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Refuse new executions on a lane; those already there still run."""
    _set(store, lambda engine: engine.lanes.drain(lane), lane, "draining", as_json=as_json)


@app.command()
def weights(
    lane: Lane,
    shares: Annotated[
        list[str],
        typer.Argument(metavar="TENANT=WEIGHT...", help="`TENANT=` resets the weight to 1."),
    ],
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set tenants' weights in a lane's claims, 0.001 to 1000."""
    chosen = {tenant: _weight(text) for tenant, text in inputs.pairs("weights", shares).items()}
    opening.ask(store, lambda engine: engine.lanes.set_weights(lane, chosen), create=True)
    if as_json:
        output.emit({"lane": lane, "weights": chosen})
    else:
        shown = " ".join(f"{tenant}={weight or 1:g}" for tenant, weight in chosen.items())
        output.say(f"lane {lane}: {shown}")


def _weight(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise InvalidInput(f"weights: {text!r} is not a number", field="weights") from None


def _set(
    store: str | None,
    work: Callable[[Engine], Awaitable[None]],
    lane: str,
    setting: str,
    *,
    as_json: bool,
) -> None:
    opening.ask(store, work, create=True)
    output.answer({"lane": lane, "setting": setting}, f"lane {lane} is {setting}", as_json=as_json)
