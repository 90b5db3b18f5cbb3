"""`holdfast server`: HTTP and maintenance on a store."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli import inputs, output, session
from holdfast.cli.failures import INTERRUPTED
from holdfast.cli.options import JsonOption, StoreOption
from holdfast.cli.worker import configure_logging
from holdfast.errors import InvalidInput

LISTEN_VARIABLE = "HOLDFAST_LISTEN"
DEFAULT_LISTEN = "127.0.0.1:8080"
_ROLES = ("http", "maintenance")


def server(
    *,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            metavar="HOST:PORT",
            help="Where; port 0 takes any that is free.",
            show_default=f"{LISTEN_VARIABLE}, or {DEFAULT_LISTEN}",
        ),
    ] = None,
    roles: Annotated[
        list[str] | None,
        typer.Option("--roles", metavar="ROLE", help=f"{', '.join(_ROLES)}; repeatable."),
    ] = None,
    rate: Annotated[
        int, typer.Option("--rate", help="Calls in a second of one API key; 0: no limit.")
    ] = 5_000,
    most_waits: Annotated[
        int, typer.Option("--max-waits", help="Long polls of one tenant at once.")
    ] = 2_000,
    most_tails: Annotated[
        int, typer.Option("--max-tails", help="Live streams of one tenant at once.")
    ] = 1_000,
    cors: Annotated[
        list[str] | None,
        typer.Option("--cors", metavar="ORIGIN", help="Pages that may call; repeatable."),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", help="Serve TLS with this certificate (PEM).")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="And this key.")] = None,
    log_level: Annotated[
        str, typer.Option("--log-level", metavar="LEVEL", help="debug, info, warning, error.")
    ] = "info",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Serve the HTTP API and fire timers. SIGTERM or Ctrl-C stops it cleanly."""
    from holdfast.cli.serving import loop_factory  # noqa: PLC0415 - loads the SDK
    from holdfast.engine.tracing import set_up_from_environment  # noqa: PLC0415
    from holdfast.server.run import run, run_maintenance  # noqa: PLC0415 - loads the web server
    from holdfast.server.settings import ServerSettings, parse_listen  # noqa: PLC0415

    configure_logging(log_level, as_json=as_json)
    set_up_from_environment("holdfast-server")
    parts = set(inputs.names(roles or ())) or set(_ROLES)
    if parts - set(_ROLES):
        raise InvalidInput(f"roles: must be of {', '.join(_ROLES)}", field="roles")
    host, port = parse_listen(listen or os.environ.get(LISTEN_VARIABLE) or DEFAULT_LISTEN)
    settings = ServerSettings(
        host=host,
        port=port,
        rate=rate,
        most_waits=most_waits,
        most_tails=most_tails,
        cors=tuple(cors or ()),
        tls_certificate=tls_cert,
        tls_key=tls_key,
    )
    text = session.existing(store, create=True)

    def announce(url: str) -> None:
        shown = str(session.parse_store(text))
        if as_json:
            output.emit({"event": "started", "url": url, "store": shown, "roles": sorted(parts)})
        else:
            output.say(f"holdfast serves {url}" if url else "holdfast fires timers")
            output.say(f"  store    {shown}")
            if url:
                output.say(f"  docs     {url}/docs")

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        if "http" in parts:
            work = run(text, settings, maintenance="maintenance" in parts, announce=announce)
        else:
            work = run_maintenance(text, announce=announce)
        if runner.run(work) == signal.SIGINT:
            raise typer.Exit(INTERRUPTED)
