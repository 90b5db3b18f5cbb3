"""`holdfast workers`: the live workers: list, drain."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.model.workers import Worker

app: typer.Typer = typer.Typer(cls=Noun)

COLUMNS = ("instance", "lanes", "capabilities", "slots", "busy", "state", "heartbeat", "since")


@app.command()
def ls(*, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List the live workers."""
    workers = opening.ask(store, lambda engine: engine.workers.list())
    if as_json:
        output.emit({"items": workers})
    else:
        output.show_table(COLUMNS, [row(worker) for worker in workers], nothing="no workers")


def row(worker: Worker) -> tuple[object, ...]:
    """Return the row of a worker."""
    return (
        worker.instance,
        ", ".join(worker.lanes),
        ", ".join(worker.capabilities),
        worker.slots,
        worker.busy,
        "draining" if worker.draining else "working",
        times.ago(worker.heartbeat_at),
        times.ago(worker.registered_at),
    )


@app.command()
def drain(
    instance: Annotated[
        str, typer.Argument(metavar="INSTANCE", help="The instance, as `workers ls` prints it.")
    ],
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a worker to finish its executions and stop. It notices at its next heartbeat."""
    opening.ask(store, lambda engine: engine.workers.drain(instance))
    output.answer(
        {"instance": instance, "state": "draining"}, f"{instance} is draining", as_json=as_json
    )
