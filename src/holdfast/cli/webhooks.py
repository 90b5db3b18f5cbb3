"""`holdfast webhooks`: calls to addresses of yours: secret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal import opening, output
from holdfast.cli.terminal.groups import Settings
from holdfast.cli.terminal.options import JsonOption, StoreOption

if TYPE_CHECKING:
    from holdfast.api import Engine

app: typer.Typer = typer.Typer(cls=Settings)


@app.command()
def secret(
    *,
    tenant: Annotated[str, typer.Option("--tenant", help="Whose webhooks.")] = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the secret that signs the webhooks of a tenant, for their receivers."""

    async def work(engine: Engine) -> str:
        return await engine.webhooks.secret(tenant)

    found = opening.ask(store, work)
    output.answer({"tenant": tenant, "secret": found}, found, as_json=as_json)
