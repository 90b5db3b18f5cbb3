"""`holdfast server`: serve HTTP and run maintenance on a store."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import uvloop

from holdfast.cli.terminal import inputs, opening, output
from holdfast.cli.terminal.failures import INTERRUPTED
from holdfast.cli.terminal.options import JsonOption, OwnStoreOption
from holdfast.cli.worker import configure_logging
from holdfast.errors import InvalidInput
from holdfast.server.chat.doors import Door
from holdfast.server.run import run, run_maintenance
from holdfast.server.settings import ServerSettings, parse_listen
from holdfast.tracing import set_up_from_environment

if TYPE_CHECKING:
    from holdfast.server.settings import ServerSettings

LISTEN_VARIABLE = "HOLDFAST_LISTEN"
DEFAULT_LISTEN = "127.0.0.1:8080"
_ROLES = ("http", "maintenance")
ALL_ROLES = frozenset(_ROLES)

Listen = Annotated[
    str | None,
    typer.Option(
        "--listen",
        metavar="HOST:PORT",
        help="The address to serve HTTP at; port 0 takes a free port.",
        show_default=f"{LISTEN_VARIABLE}, or {DEFAULT_LISTEN}",
    ),
]
Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--roles", metavar="ROLE", help=f"A role to run: {' or '.join(_ROLES)}; repeatable."
    ),
]
Rate = Annotated[
    int, typer.Option("--rate", help="Maximum calls per second per API key; 0 for no limit.")
]
MostWaits = Annotated[
    int, typer.Option("--max-waits", help="Maximum concurrent long polls per tenant.")
]
MostTails = Annotated[
    int, typer.Option("--max-tails", help="Maximum concurrent live streams per tenant.")
]
TailLife = Annotated[
    str, typer.Option("--tail-life", help="How long a live stream lasts; clients reconnect.")
]
Cors = Annotated[
    list[str] | None,
    typer.Option(
        "--cors", metavar="ORIGIN", help="An origin whose pages may call the API; repeatable."
    ),
]
WebChats = Annotated[
    list[str] | None,
    typer.Option(
        "--web-chat",
        metavar="ENV/DEPLOYMENT",
        help="Open the web chat of a deployment to anyone; ENV/TENANT/DEPLOYMENT for a tenant; "
        "repeatable.",
    ),
]
WebChatOrigins = Annotated[
    list[str] | None,
    typer.Option(
        "--web-chat-origin",
        metavar="ORIGIN",
        help="An origin whose pages may show web chats in a frame; repeatable.",
    ),
]
WebChatRate = Annotated[
    int,
    typer.Option("--web-chat-rate", help="Messages per second that web chats take of an address."),
]
TrustedProxies = Annotated[
    list[str] | None,
    typer.Option(
        "--trusted-proxy",
        metavar="ADDRESS",
        help="A proxy whose X-Forwarded-For header is trusted; repeatable.",
    ),
]
TlsCertificate = Annotated[
    Path | None, typer.Option("--tls-cert", help="Serve TLS with this certificate (PEM).")
]
TlsKey = Annotated[
    Path | None, typer.Option("--tls-key", help="The private key of the certificate (PEM).")
]
LogLevel = Annotated[
    str, typer.Option("--log-level", metavar="LEVEL", help="debug, info, warning, error.")
]


def server(
    *,
    listen: Listen = None,
    roles: Roles = None,
    rate: Rate = 5_000,
    most_waits: MostWaits = 2_000,
    most_tails: MostTails = 1_000,
    tail_life: TailLife = "1h",
    cors: Cors = None,
    web_chats: WebChats = None,
    web_chat_origins: WebChatOrigins = None,
    web_chat_rate: WebChatRate = 10,
    trusted_proxies: TrustedProxies = None,
    tls_cert: TlsCertificate = None,
    tls_key: TlsKey = None,
    log_level: LogLevel = "info",
    store: OwnStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Serve the HTTP API and fire timers. SIGTERM or Ctrl-C drains; a second one stops at once."""
    host, port = parse_listen(listen or os.environ.get(LISTEN_VARIABLE) or DEFAULT_LISTEN)
    settings = ServerSettings(
        host=host,
        port=port,
        rate=rate,
        most_waits=most_waits,
        most_tails=most_tails,
        tail_s=inputs.duration_ms("tail-life", tail_life) / 1000,
        cors=tuple(cors or ()),
        web_chats=tuple(Door.parse(text) for text in web_chats or ()),
        web_chat_origins=tuple(web_chat_origins or ()),
        web_chat_rate=web_chat_rate,
        trusted_proxies=tuple(trusted_proxies or ()),
        tls_certificate=tls_cert,
        tls_key=tls_key,
    )
    serve(settings, _parts(roles), store, log_level=log_level, as_json=as_json)


def serve(
    settings: ServerSettings,
    parts: frozenset[str],
    store: str | None,
    *,
    log_level: str,
    as_json: bool,
) -> None:
    """Serve a store until a signal arrives."""
    configure_logging(log_level, as_json=as_json)
    set_up_from_environment("holdfast-server")
    text, _ = opening.store_text(store)
    opening.parse_store(text)
    _serve(settings, parts, text, as_json=as_json)


def _parts(roles: list[str] | None) -> frozenset[str]:
    """Return the roles that this process runs."""
    parts = frozenset(inputs.names(roles or ())) or ALL_ROLES
    if parts - set(_ROLES):
        raise InvalidInput(f"roles: must be {' or '.join(_ROLES)}", field="roles")
    return parts


def _serve(settings: ServerSettings, parts: frozenset[str], store: str, *, as_json: bool) -> None:

    def announce(url: str) -> None:
        shown = str(opening.parse_store(store))
        if as_json:
            output.emit({"event": "started", "url": url, "store": shown, "roles": sorted(parts)})
            return
        output.say(f"holdfast serves {url}" if url else "holdfast fires timers")
        output.say(f"  store    {shown}")
        if url:
            output.say(f"  docs     {url}/docs")

    if "http" in parts:
        work = run(store, settings, maintenance="maintenance" in parts, announce=announce)
    else:
        work = run_maintenance(store, announce=announce)
    if uvloop.run(work) == signal.SIGINT:
        raise typer.Exit(INTERRUPTED)
