"""Races that always happen: something else is done just before a call of the store."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from holdfast.store.client import Client


@contextlib.contextmanager
def meanwhile(
    client: Client, function: str, action: Callable[[], Awaitable[Any]]
) -> Iterator[None]:
    """Do something before every call of a function of the library, but not for its own calls."""
    call = client.call
    acting = False

    async def interrupted(command: Any) -> Any:
        nonlocal acting
        if command[1] == function and not acting:
            acting = True
            await action()
            acting = False
        return await call(command)

    client.call = interrupted  # type: ignore[method-assign]
    try:
        yield
    finally:
        client.call = call  # type: ignore[method-assign]
