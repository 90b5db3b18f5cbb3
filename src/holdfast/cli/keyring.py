"""`holdfast keyring`: keys that sign tokens: show, rotate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal import inputs, opening, output, times
from holdfast.cli.terminal.groups import Settings
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.model.moments import from_ms

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.model.tokens import KeyRing

app: typer.Typer = typer.Typer(cls=Settings)


@app.command()
def show(*, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List the signing keys by kid and fingerprint; secrets are never shown."""

    async def work(engine: Engine) -> KeyRing:
        return await engine.keyring.ring()

    ring = opening.ask(store, work)
    columns = ("kid", "state", "fingerprint", "until")
    rows = [
        (
            key.kid,
            "current" if key.kid == ring.current else "retired",
            key.fingerprint(),
            None if key.until_ms is None else from_ms(key.until_ms),
        )
        for key in ring.keys.values()
    ]
    if as_json:
        items = [dict(zip(columns, row, strict=True)) for row in rows]
        output.emit({"current": ring.current, "previous": ring.previous, "items": items})
        return
    shown = [(*row[:3], times.stamp(row[3])) for row in rows]
    output.show_table(columns, shown, nothing="no keys")


@app.command()
def rotate(
    *,
    kid: Annotated[
        str | None, typer.Option("--kid", help="A name that was never used; made up if absent.")
    ] = None,
    secret: Annotated[
        str | None,
        typer.Option(
            "--secret-hex", metavar="@FILE", help="The secret in hex: @FILE, or - for stdin."
        ),
    ] = None,
    grace: Annotated[
        str, typer.Option("--grace", help="How long tokens of the outgoing key stay good.")
    ] = "1d",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Sign tokens with a new key from now on."""
    grace_ms = inputs.duration_ms("grace", grace)
    secret_hex = None if secret is None else inputs.secret("secret_hex", secret)

    async def work(engine: Engine) -> tuple[str, str | None]:
        return await engine.keyring.rotate(kid, secret_hex, grace_ms=grace_ms)

    current, previous = opening.ask(store, work, create=True)
    output.answer(
        {"kid": current, "previous": previous},
        f"signing with {current}; tokens of {previous or 'no key'} are good for {grace}",
        as_json=as_json,
    )
