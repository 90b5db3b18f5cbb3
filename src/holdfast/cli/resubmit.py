"""`holdfast resubmit`."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.terminal import inputs, opening, output
from holdfast.cli.terminal.options import ExecutionId, JsonOption, StoreOption
from holdfast.model.resubmissions import Resubmission


def resubmit(
    execution_id: ExecutionId,
    *,
    data: Annotated[
        str | None,
        typer.Option(
            "--input",
            "-i",
            metavar="JSON",
            help="Another input as JSON, @FILE or - (stdin).",
            show_default="the same",
        ),
    ] = None,
    lane: Annotated[
        str | None, typer.Option("--lane", help="Another lane.", show_default="the same")
    ] = None,
    priority: Annotated[
        int | None, typer.Option("--priority", help="Another priority.", show_default="the same")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Submit another execution like this one, with the same or another input."""
    changes = Resubmission(
        input=None if data is None else inputs.payload(data), lane=lane, priority=priority
    )
    made = opening.ask(store, lambda engine: engine.executions.resubmit(execution_id, changes))
    output.answer(
        {"id": made.id, "state": made.state, "origin": execution_id}, made.id, as_json=as_json
    )
