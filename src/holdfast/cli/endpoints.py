"""`holdfast endpoints`: where webhooks of providers arrive: put, ls, show, rm."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from holdfast.channels import ALL_NAMES, provider
from holdfast.cli.deployment_options import EnvOption, PageOfEnv
from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.bundles import spread
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, StoreOption, WhoseOption
from holdfast.errors import InvalidInput
from holdfast.model.endpoints import DEFAULT_RATE, Endpoint, EndpointRef, NewEndpoint

app: typer.Typer = typer.Typer(cls=Noun)

EndpointId = Annotated[str, typer.Argument(metavar="ENDPOINT", help="The id of the endpoint.")]
TenantOption = Annotated[str | None, typer.Option("--tenant", help="Only if it is this tenant's.")]


@app.command()
def put(
    endpoint: EndpointId,
    *,
    provider_name: Annotated[
        str, typer.Option("--provider", help=f"The provider: {', '.join(ALL_NAMES)}.")
    ],
    deployment: Annotated[
        str | None, typer.Option("--deployment", help="The deployment that answers.")
    ] = None,
    conversation: Annotated[
        str | None, typer.Option("--conversation", help="A conversation of workers that answers.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the provider; repeatable."),
    ] = None,
    secrets: Annotated[
        list[str] | None,
        typer.Option(
            "--secret",
            metavar="NAME=@FILE",
            help="A secret from a file, `@-` for stdin; NAME alone prompts; repeatable.",
        ),
    ] = None,
    rate: Annotated[
        int, typer.Option("--rate", help="Maximum messages per second and server.")
    ] = DEFAULT_RATE,
    env: EnvOption = "local",
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create an endpoint or replace it. Secrets that you leave out keep their value."""
    provider(provider_name)
    new = NewEndpoint(
        id=endpoint,
        env=env,
        tenant=tenant,
        provider=provider_name,
        deployment=deployment,
        conversation=conversation,
        settings=_settings(settings or ()),
        secrets=_secrets(secrets or ()),
        rate=rate,
    )
    found, created = opening.ask(store, lambda engine: engine.endpoints.put(new), create=True)
    verb = "created" if created else "replaced"
    text = f"endpoint {found.id} is {verb}; {_place(found)}/{env}/{found.id}"
    output.answer(found, text, as_json=as_json)


def _place(endpoint: Endpoint) -> str:
    is_chat = endpoint.provider == "webchat"
    return "visitors talk at /chat" if is_chat else "its webhooks arrive at /ingress"


def _settings(given: Sequence[str]) -> dict[str, Any]:
    """Return settings; a value is JSON if it reads as JSON, else text."""
    found: dict[str, Any] = {}
    for text in given:
        name, separator, value = text.partition("=")
        if not separator:
            raise InvalidInput("set: must be NAME=VALUE", field="set")
        try:
            found[name] = msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeDecodeError):
            found[name] = value
        if isinstance(found[name], int | float) and not isinstance(found[name], bool):
            # Numbers of phones and accounts are names.
            found[name] = value
    return found


def _secrets(given: Sequence[str]) -> dict[str, str]:
    return {text.partition("=")[0]: _secret(*text.partition("=")[::2]) for text in given}


def _secret(name: str, source: str) -> str:
    """Read a secret; never from an argument, which other users of the machine can see."""
    if not source:
        typed: str = typer.prompt(name, hide_input=True, err=True)
        return typed
    if not source.startswith("@"):
        raise InvalidInput("secret: must be NAME=@FILE, or NAME to be asked", field="secret")
    try:
        data = sys.stdin.buffer.read() if source == "@-" else Path(source[1:]).read_bytes()
        return data.decode().removesuffix("\n").removesuffix("\r")
    except OSError as error:
        message = f"secret: cannot read {source[1:]} ({error.strerror})"
        raise InvalidInput(message, field="secret") from error
    except UnicodeDecodeError:
        raise InvalidInput("secret: must be text in UTF-8", field="secret") from None


@app.command()
@spread
def ls(options: PageOfEnv) -> None:
    """List the endpoints of an env."""
    page = opening.ask(
        options.store,
        lambda engine: engine.endpoints.list(
            options.env, tenant=options.tenant, limit=options.limit, cursor=options.cursor
        ),
    )
    if options.as_json:
        output.emit(page)
        return
    rows = [
        (one.id, one.tenant, one.provider, one.deployment or one.conversation or "by route")
        for one in page.items
    ]
    columns = ("endpoint", "tenant", "provider", "answered by")
    output.show_table(columns, rows, nothing=f"no endpoints in {options.env}")
    if page.next_cursor is not None:
        output.note(f"more: --cursor {page.next_cursor}")


@app.command()
def show(
    endpoint: EndpointId,
    *,
    env: EnvOption = "local",
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show an endpoint, with the names of its secrets."""
    ref = EndpointRef(id=endpoint, env=env, tenant=tenant)
    found = opening.ask(store, lambda engine: engine.endpoints.get(ref))
    if as_json:
        output.emit(found)
        return
    output.say(f"endpoint  {found.id}   env {found.env}   tenant {found.tenant}")
    output.say(f"provider  {found.provider}   {msgspec.json.encode(found.settings).decode()}")
    output.say(f"answered  by {found.deployment or found.conversation or 'its host and path'}")
    output.say(f"webhooks  /ingress/{found.env}/{found.id}   {found.rate} messages a second")
    output.say(f"secrets   {', '.join(found.secrets)}")
    output.say(f"updated   {times.stamp(found.updated_at)}")


@app.command()
def rm(
    endpoint: EndpointId,
    *,
    env: EnvOption = "local",
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete an endpoint and its secrets."""
    ref = EndpointRef(id=endpoint, env=env, tenant=tenant)
    opening.ask(store, lambda engine: engine.endpoints.delete(ref))
    output.answer(
        {"id": endpoint, "deleted": True}, f"endpoint {endpoint} is deleted", as_json=as_json
    )
