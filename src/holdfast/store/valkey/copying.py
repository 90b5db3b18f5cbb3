"""Frozen copies of servers: how they were at one moment, while they go on.

A copy is a server of our own that follows the original as a replica and leaves it as soon as it has
everything. It can then be read at leisure. The copies of a cluster are frozen together: writes wait
for the milliseconds in which all copies catch up and leave.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from holdfast.errors import StoreIncompatible, StoreUnavailable
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.embedded import server_binary
from holdfast.store.valkey.failures import CallFailed
from holdfast.store.valkey.node import Node
from holdfast.store.valkey.ports import free_port
from holdfast.store.valkey.urls import StoreUrl

#: How long a copy may take to start, and to leave after it has everything.
_START_S = 30.0
_FREEZE_S = 10.0
_POLL_S = 0.01
#: The first column with slots in what a server knows of the cluster.
_SLOTS_FROM = 8

#: The server ends with this process, whatever ends it: then there is nothing more to read.
_ATTENDED = '"$1" "$2" & read -r _; kill -9 $! 2>/dev/null; cd /; rm -rf "$3"'

#: Called with the number of bytes that were copied since the last call.
Advance = Callable[[int], None]


@contextlib.asynccontextmanager
async def frozen(client: Client, url: StoreUrl, advance: Advance) -> AsyncIterator[Sequence[Node]]:
    """Copy every primary as of one moment; raises StoreUnavailable or StoreIncompatible."""
    if url.tls:
        message = "a backup follows the servers without TLS: run it where valkey:// reaches them"
        raise StoreIncompatible(message)
    async with contextlib.AsyncExitStack() as stack:
        originals = client.primaries()
        copies = [await stack.enter_async_context(_running()) for _ in originals]
        try:
            for original, copy in zip(originals, copies, strict=True):
                await _follow(copy, original, url)
            await asyncio.gather(*(_synced(copy, advance) for copy in copies))
            await _freeze(originals, copies, cluster=client.cluster)
        except CallFailed as failure:
            message = f"the store cannot be copied: {failure.text}"
            if client.cluster:
                # The server of a copy dies of a slot that its original imports.
                message += "; if slots are moving, try again when they have arrived"
            raise StoreUnavailable(message) from failure
        yield copies


@contextlib.asynccontextmanager
async def _running() -> AsyncIterator[Node]:
    """Start an empty server in a folder that is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-copy-"))
    password, port = secrets.token_urlsafe(24), free_port()
    config = folder / "valkey.conf"
    config.touch(mode=0o600)
    lines = (
        *("bind 127.0.0.1", f"port {port}", f"requirepass {password}", f'dir "{folder}"'),
        *('save ""', "appendonly no", "logfile valkey.log", "maxmemory-policy noeviction"),
        *("repl-diskless-load on-empty-db", "rdb-del-sync-files yes", ""),
    )
    config.write_text("\n".join(lines))
    process = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", _ATTENDED, "sh", str(server_binary()), str(config), str(folder)),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    node: Client | None = None
    try:
        url = StoreUrl(addresses=(("127.0.0.1", port),), password=password)
        try:
            async with asyncio.timeout(_START_S):
                while node is None:
                    with contextlib.suppress(StoreUnavailable):
                        node = await Client.connect(url, timeout_ms=1_000, try_timeout_ms=60_000)
                    await asyncio.sleep(_POLL_S)
        except TimeoutError as error:
            message = f"the server for the copy of the store does not start within {_START_S:g} s"
            raise StoreUnavailable(message) from error
        yield node.primaries()[0]
    finally:
        if node is not None:
            await node.close()
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()


async def _follow(copy: Node, original: Node, url: StoreUrl) -> None:
    if url.password is not None:
        await copy.call(("CONFIG", "SET", "primaryauth", url.password))
        await copy.call(("CONFIG", "SET", "primaryuser", url.username or ""))
    host, port = original.address
    await copy.call(("REPLICAOF", host, str(port)))


async def _synced(copy: Node, advance: Advance) -> None:
    """Wait until a copy has everything; a server that refuses it says why in its state."""
    done = 0
    loop = asyncio.get_running_loop()
    moved_at = loop.time()
    while True:
        facts = await _replication(copy)
        if facts.get("master_link_status") == "up":
            return
        read = int(facts.get("master_sync_read_bytes", 0))
        if read > done or facts.get("master_sync_in_progress") == "1":
            moved_at = loop.time()
        advance(max(0, read - done))
        done = max(done, read)
        if loop.time() > moved_at + _START_S:
            message = "the store cannot be copied: its server does not accept a replica from here"
            raise StoreUnavailable(message)
        await asyncio.sleep(_POLL_S * 5)


async def _freeze(originals: Sequence[Node], copies: Sequence[Node], *, cluster: bool) -> None:
    """Let all copies leave at one moment. A single server needs no pause."""
    if not cluster:
        await copies[0].call(("REPLICAOF", "NO", "ONE"))
        return
    pause = ("CLIENT", "PAUSE", str(int(_FREEZE_S * 1000)), "WRITE")
    try:
        await asyncio.gather(*(original.call(pause) for original in originals))
        async with asyncio.timeout(_FREEZE_S / 2):
            for original, copy in zip(originals, copies, strict=True):
                await _caught_up(original, copy)
            await asyncio.gather(*(copy.call(("REPLICAOF", "NO", "ONE")) for copy in copies))
        await _require_all_slots(originals)
    except TimeoutError as error:
        message = "the store cannot be copied: the copies did not catch up in time"
        raise StoreUnavailable(message) from error
    finally:
        await asyncio.gather(*(original.call(("CLIENT", "UNPAUSE")) for original in originals))


async def _require_all_slots(originals: Sequence[Node]) -> None:
    """Raise StoreUnavailable if other servers have slots: there are no copies of those."""
    tables = await asyncio.gather(*(original.call(("CLUSTER", "NODES")) for original in originals))
    rows = [line.split() for table in tables for line in table.decode().splitlines()]
    copied = {row[0] for row in rows if "myself" in row[2].split(",")}
    having = {row[0] for row in rows if row[_SLOTS_FROM:]}
    # A slot that is about to move, key by key, is shown with the other server.
    if not having <= copied or any("[" in text for row in rows for text in row[_SLOTS_FROM:]):
        message = (
            "the store cannot be copied: slots of the cluster have moved or are moving, or another "
            "server has taken over; try again when the cluster is at rest"
        )
        raise StoreUnavailable(message)


async def _caught_up(original: Node, copy: Node) -> None:
    target = int((await _replication(original))["master_repl_offset"])
    while int((await _replication(copy)).get("slave_repl_offset", 0)) < target:  # noqa: ASYNC110
        await asyncio.sleep(_POLL_S)


async def _replication(node: Node) -> dict[str, str]:
    text: Any = await node.call(("INFO", "replication"))
    lines = (text.decode() if isinstance(text, bytes) else str(text)).splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)
