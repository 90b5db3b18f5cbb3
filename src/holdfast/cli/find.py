"""`holdfast find`."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.terminal import opening, output
from holdfast.cli.terminal.options import JsonOption, StoreOption


def find(
    text: Annotated[str, typer.Argument(metavar="ID", help="The id of anything.")],
    *,
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Only what belongs to this tenant.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find what has an id: an execution, a graph, a session, a worker, and so on."""
    found = opening.ask(store, lambda engine: engine.operability.find(text, tenant=tenant))
    if as_json:
        output.emit({"items": found})
        return
    rows = [(one.noun, one.id, one.title, one.tenant) for one in found]
    output.show_table(("noun", "id", "title", "tenant"), rows, nothing=f"nothing has the id {text}")
