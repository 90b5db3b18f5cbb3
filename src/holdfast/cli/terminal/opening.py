"""Opening a store for the length of one command."""

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

#: A person waits: a store that does not answer is reported sooner than a worker would.
BOOT_TIMEOUT_MS = 3_000
CALL_TIMEOUT_MS = 10_000


def store_text(option: str | None) -> tuple[str, str]:
    """Return the URL that is in force and where it comes from."""
    if option is not None:
        return option, "--store"
    if found := os.environ.get(STORE_VARIABLE):
        return found, STORE_VARIABLE
    return DEFAULT_STORE, "default"


def is_remote(text: str) -> bool:
    """Whether a store's URL is that of a server."""
    return text.startswith(("http://", "https://"))


def parse_store(text: str) -> StoreUrl:
    """Parse the URL of a store itself; the error never shows what may be a password."""
    if is_remote(text):
        raise _needs_store(text)
    try:
        return urls.parse(text)
    except InvalidInput as error:
        message, _, _ = error.message.partition(", got ")
        raise InvalidInput(message, **error.context) from None


def existing(option: str | None, *, create: bool) -> str:
    """Return the URL in force. Unless `create`, an embedded store must exist: asking makes none."""
    text, _ = store_text(option)
    if is_remote(text):
        return text
    url = parse_store(text)
    if url.path is not None and not create and not url.path.is_dir():
        message = (
            f"there is no store in {url.path}: start one with `holdfast dev MODULE:APP`, "
            "or say with --store where it is"
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

    Commands that wait pass `maintenance`: with no other process there, timers must still fire.
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
    """Do work that needs the store itself; raises NotOverHttp where it is behind a server."""
    text = existing(option, create=create)
    if is_remote(text):
        raise _needs_store(text)
    return asyncio.run(_ask_store(text, work, maintenance=maintenance))


async def _ask_store(
    text: str, work: Callable[[NearEngine], Awaitable[T]], *, maintenance: bool
) -> T:
    from holdfast.engine import open_engine  # noqa: PLC0415 - loads the client library

    async with open_engine(text, store_settings(), maintenance=maintenance) as engine:
        return await work(engine)


def store_settings() -> StoreSettings:
    """Return how a command uses a store."""
    from holdfast.store.store import StoreSettings  # noqa: PLC0415 - loads the client library

    return StoreSettings(call_timeout_ms=CALL_TIMEOUT_MS, boot_timeout_ms=BOOT_TIMEOUT_MS)


async def _ask_server(url: str, work: Callable[[Client], Awaitable[T]]) -> T:
    """Do the work over HTTP; what goes wrong is told in the words of the command line."""
    from holdfast.client import Client  # noqa: PLC0415 - loads the web client
    from holdfast.client.client import KEY_VARIABLE  # noqa: PLC0415

    try:
        async with Client(url, timeout_ms=CALL_TIMEOUT_MS, patience_ms=BOOT_TIMEOUT_MS) as client:
            return await work(client)
    except msgspec.MsgspecError as error:
        message = f"{url} does not answer as a server of Holdfast does ({error})"
        raise StoreIncompatible(message, store=url) from error
    except Unauthorized as error:
        if type(error) is not Unauthorized:
            raise
        message = f"{error.message} (it is taken from {KEY_VARIABLE})"
        raise Unauthorized(message, **error.context) from None


def _needs_store(url: str) -> NotOverHttp:
    message = f"this needs the store itself, and {url} is a server: say with --store where it is"
    return NotOverHttp(message, store=url)
