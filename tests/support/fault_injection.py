"""Faults and races that always happen: something is done just before a call of the store."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from unittest import mock

from holdfast.store.valkey.client import Client
from holdfast.store.valkey.wire import Command


@contextlib.contextmanager
def before_calls(client: Client, act: Callable[[Command], Awaitable[Any]]) -> Iterator[None]:
    """Do something before every command that is sent; what it raises the call raises."""
    call = client.call

    async def interrupted(command: Command) -> Any:
        await act(command)
        return await call(command)

    with mock.patch.object(client, "call", interrupted):
        yield


@contextlib.contextmanager
def meanwhile(
    client: Client, function: str, action: Callable[[], Awaitable[Any]]
) -> Iterator[None]:
    """Do something before every call of a function of the library, but not for its own calls."""
    acting = False

    async def act(command: Command) -> None:
        nonlocal acting
        if command[1] == function and not acting:
            acting = True
            await action()
            acting = False

    with before_calls(client, act):
        yield


def once(action: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
    """Return what does something the first time, and nothing after that."""
    done = False

    async def act() -> None:
        nonlocal done
        if not done:
            done = True
            await action()

    return act
