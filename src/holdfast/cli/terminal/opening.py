"""Open a store or a server for the duration of one command."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from holdfast.errors import (
    InvalidInput,
    NotOverHttp,
    StoreIncompatible,
    StoreUnavailable,
    Unauthorized,
)
from holdfast.model.store_urls import is_remote
from holdfast.store.valkey import urls
from holdfast.store.valkey.urls import StoreUrl

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.client import Client
    from holdfast.engine import Engine as NearEngine
    from holdfast.store.store import StoreSettings

T = TypeVar("T")

STORE_VARIABLE = "HOLDFAST_STORE"
DEFAULT_STORE = f"embedded://{urls.DEFAULT_EMBEDDED_PATH}"

#: Shorter than a worker's timeouts, because a person waits for the command.
BOOT_TIMEOUT_MS = 3_000
CALL_TIMEOUT_MS = 10_000


def store_text(option: str | None) -> tuple[str, str]:
    """Return the URL in force and where it comes from."""
    if option is not None:
        return option, "--store"
    if url := os.environ.get(STORE_VARIABLE):
        return url, STORE_VARIABLE
    return DEFAULT_STORE, "default"


def parse_store(text: str) -> StoreUrl:
    """Parse the URL of a store; errors leave out the URL, because it may contain a password."""
    if is_remote(text):
        raise _needs_store(text)
    try:
        return urls.parse(text)
    except InvalidInput as error:
        message, _, _ = error.message.partition(", got ")
        raise InvalidInput(message, **error.context) from None


def existing(option: str | None, *, create: bool) -> str:
    """Return the URL in force. Without `create`, an embedded store must already exist."""
    text, _ = store_text(option)
    if is_remote(text):
        return text
    url = parse_store(text)
    if url.path is not None and not create and not url.path.is_dir():
        message = (
            f"there is no store in {url.path}: start one with `holdfast dev MODULE:APP`, "
            "or pass its URL with --store"
        )
        raise StoreUnavailable(message, store=str(url))
    return text


def ask(
    option: str | None,
    work: Callable[[Engine], Awaitable[T]],
    *,
    create: bool = False,
    maintenance: bool = False,
) -> T:
    """Open the store, do the work, close the store.

    Commands that wait pass `maintenance`, so that timers fire even if no other process is running.
    """
    text = existing(option, create=create)
    if is_remote(text):
        return asyncio.run(_ask_server(text, work))
    return asyncio.run(_ask_store(text, work, maintenance=maintenance))


def ask_store(
    option: str | None,
    work: Callable[[NearEngine], Awaitable[T]],
    *,
    create: bool = False,
    maintenance: bool = False,
) -> T:
    """Do work that needs the store itself; raise NotOverHttp if the URL is that of a server."""
    text = near(option, create=create)
    return asyncio.run(_ask_store(text, work, maintenance=maintenance))


def near(option: str | None, *, create: bool) -> str:
    """Return the URL in force of a store itself; raise NotOverHttp if it is that of a server."""
    text = existing(option, create=create)
    if is_remote(text):
        raise _needs_store(text)
    return text


async def _ask_store(
    text: str, work: Callable[[NearEngine], Awaitable[T]], *, maintenance: bool
) -> T:
    from holdfast.engine import open_engine

    async with open_engine(text, store_settings(), maintenance=maintenance) as engine:
        return await work(engine)


def store_settings() -> StoreSettings:
    """Return the settings with which a command opens a store."""
    from holdfast.store.store import StoreSettings

    return StoreSettings(call_timeout_ms=CALL_TIMEOUT_MS, boot_timeout_ms=BOOT_TIMEOUT_MS)


async def _ask_server(url: str, work: Callable[[Client], Awaitable[T]]) -> T:
    """Do the work over HTTP; errors use the terms of the command line."""
    from holdfast.client import Client
    from holdfast.client.client import KEY_VARIABLE

    try:
        async with Client(url, timeout_ms=CALL_TIMEOUT_MS, patience_ms=BOOT_TIMEOUT_MS) as client:
            return await work(client)
    except msgspec.MsgspecError as error:
        message = f"{url} does not answer like a Holdfast server ({error})"
        raise StoreIncompatible(message, store=url) from error
    except Unauthorized as error:
        if type(error) is not Unauthorized:
            raise
        message = f"{error.message} (the key comes from {KEY_VARIABLE})"
        raise Unauthorized(message, **error.context) from None


def _needs_store(url: str) -> NotOverHttp:
    message = (
        f"this needs the store itself, and {url} is a server: pass the store's URL with --store"
    )
    return NotOverHttp(message, store=url)
