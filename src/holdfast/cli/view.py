"""`holdfast view`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from holdfast.cli import archived
from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.failures import printable
from holdfast.cli.terminal.options import ExecutionId, JsonOption, StoreOption

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.model.views import View

#: One wait for a newer view; the next follows at once.
_WAIT_S = 20.0


def view(
    execution_id: ExecutionId,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Print each new view until the execution ends.")
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the view that an execution has set with `ctx.set_view`, as JSON.

    With --json, the state, the version and the time are printed with it, on one line.
    """

    def show(found: View) -> None:
        if as_json:
            output.emit(
                {
                    "id": execution_id,
                    "state": found.state,
                    "version": found.version,
                    "at": found.at,
                    "view": found.value,
                }
            )
        elif found.data is None:
            output.note(f"execution {execution_id} has set no view; it is {found.state}")
        else:
            if follow and found.at is not None:
                output.note(f"version {found.version}, {times.stamp(found.at)}")
            output.say(printable(msgspec.json.format(found.data, indent=2).decode()))

    async def work(engine: Engine) -> None:
        found = await archived.either(
            engine, execution_id, engine.view, lambda exported: exported.view()
        )
        show(found)
        while follow and not found.state.is_terminal:
            newer = await engine.view(execution_id, after=found.version, timeout_s=_WAIT_S)
            if newer.data is not None:
                show(newer)
            found = newer

    opening.ask(store, work, maintenance=follow)
