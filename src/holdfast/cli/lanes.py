"""`holdfast lanes`: what is on each lane: list, pause, resume, drain, weights of tenants."""

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
    found = opening.ask(store, lambda engine: engine.lanes.views())
    if as_json:
        output.emit({"items": found})
        return
    states = shown_states([view.counts for view in found])
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
        for view in found
    ]
    columns = ("lane", "setting", *shown, "ended", "workers", "weights")
    output.show_table(columns, rows, nothing="no lanes")


@app.command()
def pause(lane: Lane, *, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Claim nothing from a lane until it is resumed; what runs goes on."""
    _set(store, lambda engine: engine.lanes.pause(lane), lane, "paused", as_json=as_json)


@app.command()
def resume(lane: Lane, *, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Open a lane again."""
    _set(store, lambda engine: engine.lanes.resume(lane), lane, "open", as_json=as_json)


@app.command()
def drain(lane: Lane, *, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Accept nothing new on a lane; what is there runs."""
    _set(store, lambda engine: engine.lanes.drain(lane), lane, "draining", as_json=as_json)


@app.command()
def weights(
    lane: Lane,
    shares: Annotated[
        list[str], typer.Argument(metavar="TENANT=WEIGHT...", help="`TENANT=` goes back to 1.")
    ],
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set tenants' shares of a lane's claims, 0.001 to 1000."""
    wanted = {tenant: _weight(text) for tenant, text in inputs.pairs("weights", shares).items()}
    opening.ask(store, lambda engine: engine.lanes.set_weights(lane, wanted), create=True)
    if as_json:
        output.emit({"lane": lane, "weights": wanted})
    else:
        shown = " ".join(f"{tenant}={weight or 1:g}" for tenant, weight in wanted.items())
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
