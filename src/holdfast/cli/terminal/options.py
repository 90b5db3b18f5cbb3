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
        "or a server of it: http://HOST:PORT, with the key HOLDFAST_KEY.",
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
        help="The store, or a server of it, instead of the one that the app names.",
        show_default="the app's, HOLDFAST_STORE, or embedded://.holdfast",
    ),
]

JsonOption = Annotated[
    bool, typer.Option("--json", help="Write JSON for programs; errors as well, to stderr.")
]

WhoseOption = Annotated[
    str, typer.Option("--tenant", help="Whose it is; over HTTP that of the key.")
]

ExecutionId = Annotated[str, typer.Argument(metavar="ID", help="The id of the execution.")]

Reason = Annotated[str, typer.Option("--reason", help="Kept in the history.")]

OptionalAppTarget = Annotated[
    str | None,
    typer.Argument(
        metavar="[MODULE:APP]",
        help="Where the app is, such as shop.tasks:app.",
        show_default="none: store and HTTP only",
    ),
]

AppTarget = Annotated[
    str, typer.Argument(metavar="MODULE:APP", help="Where the app is, such as shop.tasks:app.")
]
