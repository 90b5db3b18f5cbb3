"""`holdfast packs`: the packs in the store: list, delete."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, StoreOption, WhoseOption

app: typer.Typer = typer.Typer(cls=Noun)


@app.command()
def ls(
    *,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only of this tenant.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many on a page.")] = 50,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Continue where a page ended.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the packs that were uploaded."""
    packs, more = opening.ask(
        store, lambda engine: engine.packs.list(tenant, limit=limit, cursor=cursor)
    )
    if as_json:
        output.emit({"items": packs, "next_cursor": more})
        return
    rows = [
        (one.id, one.version, one.tenant, one.size, times.ago(one.uploaded_at), one.digest)
        for one in packs
    ]
    columns = ("pack", "version", "tenant", "bytes", "uploaded", "digest")
    output.show_table(columns, rows, nothing="no packs")
    if more is not None:
        output.note(f"more: --cursor {more}")


@app.command()
def delete(
    digest: Annotated[str, typer.Argument(metavar="DIGEST", help="The digest of the pack.")],
    *,
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a pack that no revision needs, and its archive."""
    opening.ask(store, lambda engine: engine.packs.delete(digest, tenant=tenant))
    output.answer({"digest": digest, "deleted": True}, f"pack {digest} is deleted", as_json=as_json)
