"""`holdfast server`: serve HTTP and run maintenance on a store."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
import uvloop

from holdfast import garbage
from holdfast.cli.process.member import Member, following, number_of
from holdfast.cli.terminal import inputs, opening, output
from holdfast.cli.terminal.failures import INTERRUPTED
from holdfast.cli.terminal.options import JsonOption, OwnStoreOption
from holdfast.cli.worker import configure_logging, processes_of, run_crew
from holdfast.errors import InvalidInput
from holdfast.model.files import FileLimits
from holdfast.server.chat.doors import Door
from holdfast.server.run import run, run_maintenance
from holdfast.server.settings import ServerSettings, parse_listen
from holdfast.server.sockets import reserved
from holdfast.tracing import set_up_from_environment

if TYPE_CHECKING:
    from holdfast.server.settings import ServerSettings

LISTEN_VARIABLE = "HOLDFAST_LISTEN"
DEFAULT_LISTEN = "127.0.0.1:8080"
_ROLES = ("http", "maintenance")
ALL_ROLES = frozenset(_ROLES)
#: Python searches for garbage when there are as many new objects: the calls under way have about as
#: many on a busy server, and hardly any of them is garbage that only a search finds.
_NEW_OBJECTS = 10_000

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
WebChatFiles = Annotated[
    int,
    typer.Option(
        "--web-chat-files",
        metavar="BYTES",
        help="Let visitors of web chats send files, of at most this size; 0: they cannot.",
    ),
]
WebChatFileTypes = Annotated[
    list[str] | None,
    typer.Option(
        "--web-chat-file-type",
        metavar="TYPE",
        help="A type of files that visitors may send, such as image/*; repeatable.",
        show_default="all that docs/web-chat.md lists",
    ),
]
TrustedProxies = Annotated[
    list[str] | None,
    typer.Option(
        "--trusted-proxy",
        metavar="ADDRESS",
        help="A proxy whose X-Forwarded-For header is trusted; repeatable.",
    ),
]
TrustedPeers = Annotated[
    list[str] | None,
    typer.Option(
        "--trusted-peer",
        metavar="ADDRESS",
        help="A peer that may send webhooks without naming an endpoint; repeatable.",
    ),
]
TlsCertificate = Annotated[
    Path | None, typer.Option("--tls-cert", help="Serve TLS with this certificate (PEM).")
]
TlsKey = Annotated[
    Path | None, typer.Option("--tls-key", help="The private key of the certificate (PEM).")
]
Processes = Annotated[
    int,
    typer.Option(
        "--processes", metavar="COUNT", help="How many processes serve; 0 for one per CPU."
    ),
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
    web_chat_files: WebChatFiles = 0,
    web_chat_file_types: WebChatFileTypes = None,
    trusted_proxies: TrustedProxies = None,
    trusted_peers: TrustedPeers = None,
    tls_cert: TlsCertificate = None,
    tls_key: TlsKey = None,
    processes: Processes = 1,
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
        web_chat_files=FileLimits(
            most_bytes=web_chat_files, types=tuple(web_chat_file_types or ())
        ),
        trusted_proxies=tuple(trusted_proxies or ()),
        trusted_peers=tuple(trusted_peers or ()),
        tls_certificate=tls_cert,
        tls_key=tls_key,
    )
    count = processes_of(processes)
    serve(settings, _parts(roles), store, log_level=log_level, as_json=as_json, processes=count)


def serve(
    settings: ServerSettings,
    parts: frozenset[str],
    store: str | None,
    *,
    log_level: str,
    as_json: bool,
    processes: int = 1,
) -> None:
    """Serve a store until a signal arrives."""
    member = Member.from_environment()
    configure_logging(log_level, as_json=as_json, process=number_of(member))
    text, _ = opening.store_text(store)
    opening.parse_store(text)
    if member is not None:
        settings = _shared(settings, member)
    elif processes > 1:
        with reserved(settings) as port, TemporaryDirectory(prefix="holdfast-") as folder:
            run_crew(processes, as_json=as_json, port=port, folder=folder)
        return
    set_up_from_environment("holdfast-server")
    _serve(settings, parts, text, member, as_json=as_json)


def _shared(settings: ServerSettings, member: Member) -> ServerSettings:
    """Return the settings of one of several processes."""
    return replace(
        settings,
        port=member.port or settings.port,
        is_shared=True,
        shared_metrics=None if member.folder is None else Path(member.folder),
    )


def _parts(roles: list[str] | None) -> frozenset[str]:
    """Return the roles that this process runs."""
    parts = frozenset(inputs.names(roles or ())) or ALL_ROLES
    if parts - set(_ROLES):
        raise InvalidInput(f"roles: must be {' or '.join(_ROLES)}", field="roles")
    return parts


def _serve(
    settings: ServerSettings,
    parts: frozenset[str],
    store: str,
    member: Member | None,
    *,
    as_json: bool,
) -> None:

    def announce(url: str) -> None:
        shown = str(opening.parse_store(store))
        if as_json:
            started = {"event": "started", "url": url, "store": shown, "roles": sorted(parts)}
            output.emit(started if member is None else {**started, "process": member.number})
        elif member is None or member.number == 1:
            # The first of several says it for all.
            output.say(f"holdfast serves {url}" if url else "holdfast fires timers")
            output.say(f"  store    {shown}")
            if url:
                output.say(f"  docs     {url}/docs")
        if member is not None:
            member.report()
        garbage.leave_out_what_is_loaded()

    if "http" in parts:
        work = run(store, settings, maintenance="maintenance" in parts, announce=announce)
    else:
        work = run_maintenance(store, announce=announce)
    garbage.search_rarely(_NEW_OBJECTS)

    async def follow() -> int:
        async with following(member):
            return await work

    if uvloop.run(follow()) == signal.SIGINT:
        raise typer.Exit(INTERRUPTED)
