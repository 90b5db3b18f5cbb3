"""Boot checks: can Holdfast use this store? Each failure says what to do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from holdfast.errors import StoreIncompatible, StoreUnavailable
from holdfast.model import partitions
from holdfast.store.valkey import library
from holdfast.store.valkey.call import final_error
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.failures import CallFailed
from holdfast.store.valkey.library import Library

log: logging.Logger = logging.getLogger(__name__)

T = TypeVar("T")

OLDEST_MAJOR = 8
#: Increases when the layout of the data changes in a way that old code cannot read.
FORMAT = 2
#: The first release of the library that reads it; an older one serves stores of another format.
OLDEST_RELEASE = 55
#: The format of a store that is being restored: nobody can read it.
RESTORING = 1_000_000


def check_server(info: str) -> None:
    """Check one server's INFO: kind, version, eviction."""
    facts = dict(line.split(":", 1) for line in info.splitlines() if ":" in line)
    version = facts.get("valkey_version")
    if facts.get("server_name") != "valkey" or version is None:
        version_text = facts.get("redis_version", "an unknown server")
        message = (
            f"the server is not Valkey but Redis or a fork of it ({version_text}): "
            f"use Valkey {OLDEST_MAJOR} or newer, or embedded://PATH"
        )
        raise StoreIncompatible(message, version=version_text)
    major = version.split(".", 1)[0]
    if not major.isdecimal() or int(major) < OLDEST_MAJOR:
        message = f"Valkey {version} is too old: use Valkey {OLDEST_MAJOR} or newer"
        raise StoreIncompatible(message, version=version)
    policy = facts.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        message = (
            f"maxmemory-policy is {policy}, so the server may evict work: "
            "run CONFIG SET maxmemory-policy noeviction and put it into its configuration"
        )
        raise StoreIncompatible(message, policy=policy)


async def check_servers(client: Client) -> None:
    """Check every primary."""
    for section in await client.on_primaries(["INFO", "everything"]):
        check_server(_text(section))


async def until_answered(work: Callable[[], Awaitable[T]], timeout_ms: int) -> T:
    """Repeat a part of opening until it is answered: servers load, and connections drop."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_ms / 1000
    while True:
        try:
            return await work()
        except CallFailed as failure:
            if (error := final_error(failure)) is not None:
                raise error from failure
            if loop.time() > deadline:
                message = f"the server was not ready after {timeout_ms} ms: {failure.text}"
                raise StoreUnavailable(message) from failure
            await asyncio.sleep(0.1)


async def wait_until_loaded(client: Client, timeout_ms: int) -> None:
    """Wait for a server that is still reading its data."""
    await until_answered(lambda: client.on_primaries(["PING"]), timeout_ms)


async def load_library(client: Client, composed: Library) -> None:
    """Load the library on every primary that has none or an older one."""
    loaded = await _loaded_libraries(client)
    newest = max((release for release, _ in loaded), default=0)
    if any(0 < release < OLDEST_RELEASE for release, _ in loaded):
        message = (
            "the server has the library of a version that reads another format of the data, which "
            "would lose its functions: use another server, or stop all processes of that version "
            f"and run FUNCTION DELETE {library.NAME}"
        )
        raise StoreIncompatible(message)
    if newest > composed.release:
        log.warning("the store has a newer library, which is kept: upgrade this process")
    if any(release < composed.release for release, _ in loaded) or any(
        release == composed.release and digest != composed.digest for release, digest in loaded
    ):
        if newest > composed.release:
            message = (
                f"the primaries disagree on the library: one has release {newest}, "
                f"this process {composed.release}: start a process of the newer version"
            )
            raise StoreIncompatible(message)
        await client.on_primaries(["FUNCTION", "LOAD", "REPLACE", composed.code])


async def has_older_library(client: Client, composed: Library) -> bool:
    """Whether a primary has no library, or an older one."""
    return any(release < composed.release for release, _ in await _loaded_libraries(client))


async def _loaded_libraries(client: Client) -> list[tuple[int, str]]:
    """Return release and digest of the library of each primary, 0 if it has none."""
    listings = await client.on_primaries(["FUNCTION", "LIST", "LIBRARYNAME", library.NAME])
    return [_loaded_library(listing) for listing in listings]


def _loaded_library(listing: Any) -> tuple[int, str]:
    """Return release and digest of a primary's loaded library, 0 if it has none."""
    for name in _function_names(listing):
        marker = library.parse_marker(name)
        if marker is not None:
            return marker
    return 0, ""


def _function_names(value: Any) -> list[str]:
    """Find the names in a FUNCTION LIST reply, which is nested maps or lists."""
    if isinstance(value, dict):
        return _function_names(list(value.values()))
    if isinstance(value, list):
        return [name for item in value for name in _function_names(item)]
    return [value.decode()] if isinstance(value, bytes) else []


async def check_stored_format(client: Client, global_tag: str) -> None:
    """Refuse a store of another format before its processes get another library."""
    stored = await client.call(["HGET", f"{global_tag}:meta", "format"])
    if stored is not None:
        check_format(int(stored))


def check_format(stored_format: int) -> None:
    """Check that this version reads the data."""
    if stored_format == RESTORING:
        message = (
            "the store is being restored, or a restore was interrupted: repeat it with --force"
        )
        raise StoreIncompatible(message, format=stored_format)
    if stored_format != FORMAT:
        message = (
            f"the data has format {stored_format}, this version reads {FORMAT}: "
            "use the version of Holdfast that wrote it, or another prefix"
        )
        raise StoreIncompatible(message, format=stored_format)


def check_partitions(stored: int, asked: int | None, stored_format: int) -> int:
    """Compare the stored number of partitions with the requested one."""
    check_format(stored_format)
    if asked is not None and asked != stored:
        message = (
            f"the store was made with {stored} partitions, which cannot change, but "
            f"{asked} were asked for: leave `partitions` out, or use another prefix"
        )
        raise StoreIncompatible(message, stored=stored, asked=asked)
    return stored


def default_partitions(client: Client) -> int:
    """Return how many partitions a new store gets."""
    if client.cluster:
        return partitions.DEFAULT_ON_CLUSTER
    return partitions.DEFAULT_ON_ONE_SERVER


def _text(section: Any) -> str:
    return section.decode() if isinstance(section, bytes) else str(section)
