"""`holdfast host`: serve the packs that are deployed in an env until a signal stops it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer
import uvloop

from holdfast.cli.deployment_options import EnvOption
from holdfast.cli.process.serving import noting_ctrl_c
from holdfast.cli.terminal import inputs, opening, output
from holdfast.cli.terminal.failures import INTERRUPTED
from holdfast.cli.terminal.options import JsonOption, OwnStoreOption
from holdfast.cli.worker import Capabilities, LogLevel, Slots, configure_logging
from holdfast.concurrency import first_of
from holdfast.tracing import set_up_from_environment
from holdfast.worker.worker import stop_on_signals

if TYPE_CHECKING:
    from holdfast.host.host import Host
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
    )
    text, _ = opening.store_text(store)
    shown = str(opening.parse_store(text))

    def announce(_host: Host) -> None:
        if as_json:
            output.emit({"event": "started", "env": env, "store": shown})
            return
        output.say(f"holdfast hosts the env {env}")
        output.say(f"  store    {shown}")
        output.say(f"  tenants  {', '.join(sorted(settings.tenants)) or 'all'}")

    if uvloop.run(_serve(text, settings, announce)):
        raise typer.Exit(INTERRUPTED)


async def _serve(store: str, settings: HostSettings, announce: Callable[[Host], None]) -> bool:
    """Serve until a signal stops the host; return whether it was Ctrl-C."""
    from holdfast.engine import open_engine
    from holdfast.host.host import Host

    async with open_engine(store) as engine:
        host = Host(engine, settings)
        with stop_on_signals(host), noting_ctrl_c() as interrupted:
            running = asyncio.ensure_future(host.run())
            await first_of(running, host.started.wait())
            if not running.done():
                announce(host)
            await running
    return interrupted.is_set()
