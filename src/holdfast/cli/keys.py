"""`holdfast keys`: API keys of the HTTP server: create, list, revoke, and your own."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.terminal import inputs, opening, output, times
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, StoreOption

if TYPE_CHECKING:
    from holdfast.model.api_keys import ApiKey

app: typer.Typer = typer.Typer(cls=Noun)

_ROLES = "viewer, submitter, worker, operator, admin"


@app.command()
def create(
    *,
    roles: Annotated[
        list[str], typer.Option("--role", metavar="ROLE", help=f"A role: {_ROLES}; repeatable.")
    ],
    tenant: Annotated[
        str | None,
        typer.Option(
            "--tenant",
            help="The only tenant that the key can act for.",
            show_default="all: an operator key",
        ),
    ] = None,
    name: Annotated[str, typer.Option("--name", help="A name that says what the key is for.")] = "",
    ttl: Annotated[
        str | None,
        typer.Option(
            "--ttl",
            metavar="DURATION",
            help="The key expires after this long.",
            show_default="never",
        ),
    ] = None,
    payloads: Annotated[
        str,
        typer.Option(
            "--payloads",
            metavar="all|redacted|none",
            help="Which payloads the key sees; rules redact parts of them (`holdfast redactions`).",
        ),
    ] = "redacted",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create an API key. Its secret is shown only this once."""
    ttl_ms = None if ttl is None else inputs.duration_ms("ttl", ttl)
    key, secret = opening.ask(
        store,
        lambda engine: engine.api_keys.create(
            roles=inputs.names(roles), tenant=tenant, name=name, ttl_ms=ttl_ms, payloads=payloads
        ),
        create=True,
    )
    if as_json:
        output.emit({**_shown(key), "secret": secret})
        return
    output.note(f"key {key.id} ({_whose(key)}); keep the secret, which is not shown again:")
    output.say(secret)


@app.command()
def ls(
    *,
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Only keys of this tenant.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List API keys, including those that ended in the last 30 days."""
    keys = opening.ask(store, lambda engine: engine.api_keys.list(tenant=tenant))
    if as_json:
        output.emit({"items": [_shown(key) for key in keys]})
        return
    rows = [
        (
            key.id,
            key.name,
            key.tenant or "all",
            " ".join(sorted(key.roles)),
            key.payloads,
            times.ago(key.created_at),
            times.ago(key.expires_at),
            times.ago(key.revoked_at),
            times.ago(key.last_used_at),
        )
        for key in keys
    ]
    columns = (
        "id",
        "name",
        "tenant",
        "roles",
        "payloads",
        "created",
        "expires",
        "revoked",
        "last used",
    )
    output.show_table(columns, rows, nothing="no API keys")


@app.command()
def revoke(
    key: Annotated[str, typer.Argument(metavar="ID", help="The id of the key.")],
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke an API key; servers refuse it within 5 s."""
    opening.ask(store, lambda engine: engine.api_keys.revoke(key))
    output.answer({"id": key, "revoked": True}, f"key {key} is revoked", as_json=as_json)


@app.command()
def me(
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which key the commands use, and what it may see and do."""
    caller = opening.ask(store, lambda engine: engine.api_keys.me())
    if as_json:
        output.emit(asdict(caller))
        return
    facts = {
        "key": caller.key or "none",
        "tenant": caller.tenant or "all",
        "roles": " ".join(sorted(caller.roles)),
        "payloads": caller.payloads,
        "tenants": " ".join(caller.tenants) + (" ..." if caller.more_tenants else ""),
        "version": caller.version,
    }
    for name, value in facts.items():
        output.say(f"{name:<12}{value}")
    if caller.banner:
        output.note(caller.banner)


def _whose(key: ApiKey) -> str:
    roles = " ".join(sorted(key.roles))
    return f"{roles}, tenant {key.tenant}" if key.tenant else f"{roles}, all tenants"


def _shown(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "tenant": key.tenant,
        "roles": sorted(key.roles),
        "payloads": key.payloads,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "last_used_at": key.last_used_at,
    }
