"""`holdfast mcp`: serve tools to an agent on stdin and stdout."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal import inputs, opening
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.cli.worker import LogLevel, configure_logging
from holdfast.errors import InvalidInput
from holdfast.model.store_urls import is_remote

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from holdfast.api import Engine

Tasks = Annotated[
    list[str] | None,
    typer.Option(
        "--task",
        metavar="NAME",
        help="A task that is a tool; repeatable.",
        show_default="all that workers have published",
    ),
]


def mcp(
    *,
    tasks: Tasks = None,
    no_operate: Annotated[
        bool, typer.Option("--no-operate", help="Serve no tools for operators.")
    ] = False,
    tenant: Annotated[
        str | None,
        typer.Option(
            "--tenant",
            help="Act for this tenant only.",
            show_default="that of the key, or all",
        ),
    ] = None,
    wait: Annotated[
        str,
        typer.Option("--wait", metavar="TIME", help="How long a tool waits for its result."),
    ] = "20s",
    max_chars: Annotated[
        int, typer.Option("--max-chars", help="The longest result that is returned at once.")
    ] = 50_000,
    log_level: LogLevel = "warning",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Serve tasks and operations as MCP tools on stdin and stdout, for agents."""
    configure_logging(log_level, as_json=as_json)
    try:
        from holdfast.integrations.mcp import Desk, new_server, serve_stdio
    except ModuleNotFoundError as error:
        message = f'mcp: needs {error.name}: pip install "holdfast[mcp]"'
        raise InvalidInput(message, field="mcp") from error
    wait_s = inputs.duration_ms("wait", wait) / 1000
    text = opening.existing(store, create=False)

    async def serve() -> None:
        async with _opened(text, tenant) as engine:
            whose = tenant or (await engine.api_keys.me()).tenant
            desk = Desk(engine, whose, wait_s, max_chars)
            await serve_stdio(
                new_server(desk, tasks=inputs.names(tasks or ()), operate=not no_operate)
            )

    asyncio.run(serve())


def _opened(text: str, tenant: str | None) -> AbstractAsyncContextManager[Engine]:
    """Open a store, whose timers fire here as well, or a server."""
    if is_remote(text):
        from holdfast.client import Client

        return Client(text, tenant=tenant)
    from holdfast.engine import open_engine

    return open_engine(text, opening.store_settings())
