"""`holdfast env`: targets of deployments, and whose packs they accept: list, show, put, delete."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.model.envs import Env

app: typer.Typer = typer.Typer(cls=Noun)

EnvName = Annotated[str, typer.Argument(metavar="ENV", help="The name of the env.")]


@app.command()
def ls(*, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List envs. `local` always exists."""
    envs = opening.ask(store, lambda engine: engine.envs.list())
    if as_json:
        output.emit({"items": envs})
        return
    rows = [
        (env.name, _accepts(env), times.ago(env.created_at) if env.created_at else None)
        for env in envs
    ]
    output.show_table(("env", "accepts", "created"), rows, nothing="no envs")


def _accepts(env: Env) -> str:
    if env.unsigned_packs:
        return "all packs"
    return f"packs signed by {output.count(len(env.trust), 'key')}"


@app.command()
def show(name: EnvName, *, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show an env and the keys that it trusts."""
    env = opening.ask(store, lambda engine: engine.envs.get(name))
    if as_json:
        output.emit(env)
        return
    output.say(f"env {env.name}: accepts {_accepts(env)}")
    for key in env.trust:
        output.say(key)


@app.command()
def put(
    name: EnvName,
    *,
    unsigned_packs: Annotated[
        bool, typer.Option("--unsigned-packs", help="Accept packs that no trusted key signed.")
    ] = False,
    trust: Annotated[
        list[str] | None,
        typer.Option(
            "--trust",
            metavar="KEY",
            help="A public key that is trusted: ed25519:..., or a file with one. Repeatable.",
        ),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create an env, or replace what it trusts."""
    from holdfast.host.packs import PublicKey

    keys = [
        str(PublicKey.parse(key) if ":" in key else PublicKey.read(Path(key)))
        for key in trust or ()
    ]
    env, created = opening.ask(
        store,
        lambda engine: engine.envs.put(name, unsigned_packs=unsigned_packs, trust=keys),
        create=True,
    )
    word = "created" if created else "put"
    output.answer(env, f"{word} env {env.name}: it accepts {_accepts(env)}", as_json=as_json)


@app.command()
def delete(name: EnvName, *, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Delete an env without deployments. `local` always exists."""
    opening.ask(store, lambda engine: engine.envs.delete(name))
    output.answer({"env": name, "deleted": True}, f"env {name} is deleted", as_json=as_json)
