"""Options and arguments that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="The store: embedded://PATH, valkey://HOST, valkey-cluster://HOST,HOST; "
        "or a server: http://HOST:PORT, with the API key in HOLDFAST_KEY.",
        show_default="HOLDFAST_STORE, or embedded://.holdfast",
    ),
]

OwnStoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="The store: embedded://PATH, valkey://HOST, valkey-cluster://HOST,HOST.",
        show_default="HOLDFAST_STORE, or embedded://.holdfast",
    ),
]

AppStoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="The store or server to use instead of the app's.",
        show_default="the app's, HOLDFAST_STORE, or embedded://.holdfast",
    ),
]

JsonOption = Annotated[
    bool, typer.Option("--json", help="Write JSON: results to stdout, errors to stderr.")
]

WhoseOption = Annotated[
    str,
    typer.Option("--tenant", help="The tenant that owns it; over HTTP, the tenant of the API key."),
]

ExecutionId = Annotated[str, typer.Argument(metavar="ID", help="The id of the execution.")]

Reason = Annotated[str, typer.Option("--reason", help="The reason, for the history.")]

OptionalAppTarget = Annotated[
    str | None,
    typer.Argument(
        metavar="[MODULE:APP]",
        help="The app to run, such as shop.tasks:app.",
        show_default="none: only the store and HTTP",
    ),
]

DevTargets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[MODULE:APP] [FOLDER]...",
        help="The app to run, such as shop.tasks:app, and folders of packs to host.",
        show_default="none: only the store and HTTP",
    ),
]

AppTarget = Annotated[
    str, typer.Argument(metavar="MODULE:APP", help="The app to run, such as shop.tasks:app.")
]

#: Filters of commands that change many executions.
OfKind = Annotated[str | None, typer.Option("--kind", help="Only executions of this task.")]
OfTenant = Annotated[str | None, typer.Option("--tenant", help="Only executions of this tenant.")]
ErrorType = Annotated[
    str | None,
    typer.Option("--error", metavar="TYPE", help="Only executions with this type of error."),
]
Since = Annotated[
    str | None, typer.Option("--since", help="Created at or after this time: 2h, 2026-01-31T12:00.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only list the executions.")]
PrivateOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-private",
        metavar="ADDRESS",
        help="Of a pack: an address that it may call although it is not public, such as "
        "127.0.0.1:8099. Repeatable.",
    ),
]
