"""`holdfast secrets`: values that packs use and nobody reads: set, ls, rm, rotate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, OwnStoreOption, StoreOption, WhoseOption
from holdfast.errors import InvalidInput
from holdfast.model.session_keys import DEFAULT_ENV

app: typer.Typer = typer.Typer(cls=Noun)

SecretName = Annotated[str, typer.Argument(metavar="NAME", help="The name of the secret.")]
EnvOption = Annotated[str, typer.Option("--env", help="The env that the secret is for.")]


@app.command("set")
def set_(
    name: SecretName,
    *,
    file: Annotated[
        Path | None,
        typer.Option("--from-file", metavar="FILE", help="Read the value from a file, as it is."),
    ] = None,
    tenant: WhoseOption = "default",
    env: EnvOption = DEFAULT_ENV,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set a secret. Its value comes from stdin, a file, or a prompt; never from an argument."""
    value = _value(file)
    secret = opening.ask(
        store, lambda engine: engine.secrets.set(name, value, tenant=tenant, env=env), create=True
    )
    text = f"secret {name} of {secret.tenant} in {env} is set"
    output.answer(secret, text, as_json=as_json)


def _value(file: Path | None) -> str:
    """Return the value; one line break at the end of stdin belongs to the terminal."""
    if file is None and sys.stdin.isatty():
        typed: str = typer.prompt("Value", hide_input=True, confirmation_prompt=True, err=True)
        return typed
    try:
        data = sys.stdin.buffer.read() if file is None else file.read_bytes()
    except OSError as error:
        message = f"from-file: cannot read {file} ({error.strerror})"
        raise InvalidInput(message, field="from-file") from error
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InvalidInput("value: must be text in UTF-8", field="value") from None
    return text if file is not None else text.removesuffix("\n").removesuffix("\r")


@app.command()
def ls(
    *,
    tenant: WhoseOption = "default",
    env: EnvOption = DEFAULT_ENV,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the secrets of a tenant, without their values."""
    found = opening.ask(store, lambda engine: engine.secrets.list(tenant=tenant, env=env))
    if as_json:
        output.emit({"items": found})
        return
    rows = [(secret.name, secret.kid, times.stamp(secret.updated_at)) for secret in found]
    output.show_table(("secret", "key", "updated"), rows, nothing="no secrets")


@app.command()
def rm(
    name: SecretName,
    *,
    tenant: WhoseOption = "default",
    env: EnvOption = DEFAULT_ENV,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a secret."""
    opening.ask(store, lambda engine: engine.secrets.delete(name, tenant=tenant, env=env))
    output.answer({"name": name, "deleted": True}, f"secret {name} is deleted", as_json=as_json)


@app.command()
def rotate(*, store: OwnStoreOption = None, as_json: JsonOption = False) -> None:
    """Seal secrets with a new key. Older ones are sealed again when they are used."""
    kid = opening.ask_store(store, lambda engine: engine.secrets.rotate())
    output.answer({"kid": kid}, f"secrets are sealed with {kid} from now on", as_json=as_json)
