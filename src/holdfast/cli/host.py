"""`holdfast host`: serve the packs that are deployed in an env until a signal stops it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import uvloop

from holdfast.cli.deployment_options import EnvOption
from holdfast.cli.terminal import inputs, opening, output
from holdfast.cli.terminal.failures import INTERRUPTED
from holdfast.cli.terminal.options import JsonOption, OwnStoreOption, PrivateOption
from holdfast.cli.worker import Capabilities, LogLevel, Slots, configure_logging
from holdfast.tracing import set_up_from_environment

if TYPE_CHECKING:
    from holdfast.host.settings import HostSettings


def host(
    *,
    env: EnvOption = "local",
    tenants: Annotated[
        list[str] | None,
        typer.Option(
            "--tenant",
            metavar="TENANT",
            help="Serve only this tenant; repeatable.",
            show_default="all",
        ),
    ] = None,
    slots: Slots = 100,
    capabilities: Capabilities = None,
    lease: Annotated[
        str, typer.Option("--lease", help="How soon the store notices that a host has died.")
    ] = "30s",
    trusted: Annotated[
        bool,
        typer.Option(
            "--run-unsigned-python",
            help="Run Python components of packs that no trusted key has signed.",
        ),
    ] = False,
    allow_private: PrivateOption = None,
    log_level: LogLevel = "info",
    store: OwnStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Serve the packs deployed in an env. SIGTERM or Ctrl-C drains; a second one stops at once."""
    from holdfast.host.settings import HostSettings

    configure_logging(log_level, as_json=as_json)
    set_up_from_environment("holdfast-host")
    settings = HostSettings(
        env=env,
        tenants=frozenset(tenants or ()),
        capabilities=inputs.names(capabilities or ()),
        slots=slots,
        lease_ms=inputs.duration_ms("lease", lease),
        trusted=trusted,
        allow_private=tuple(allow_private or ()),
    )
    serve(settings, store, as_json=as_json)


def serve(
    settings: HostSettings,
    store: str | None,
    *,
    as_json: bool,
    listen: str | None = None,
    folders: Sequence[Path] = (),
) -> None:
    """Run a host; for `holdfast dev` also HTTP, and packs that are deployed on every save."""
    from holdfast.cli.process.hosting import serve_host

    text, _ = opening.store_text(store)
    shown = str(opening.parse_store(text))

    def announce(url: str | None) -> None:
        if as_json:
            about = {"event": "started", "env": settings.env, "store": shown}
            output.emit(about | ({"url": url} if url else {}))
            return
        output.say(f"holdfast hosts the env {settings.env}")
        output.say(f"  store    {shown}")
        output.say(f"  tenants  {', '.join(sorted(settings.tenants)) or 'all'}")
        if url is not None:
            output.say(f"  http     {url}")
            output.say(f"  console  {url}/console/")
            output.say(f"  docs     {url}/docs")

    if uvloop.run(serve_host(text, settings, announce, listen=listen, folders=folders)):
        raise typer.Exit(INTERRUPTED)
