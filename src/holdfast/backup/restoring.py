"""Restore a backup into an empty store."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from holdfast.backup import manifest, parts
from holdfast.backup.manifest import Manifest
from holdfast.backup.parts import Row
from holdfast.errors import InvalidRecord, StoreFault, StoreIncompatible, StoreUnavailable
from holdfast.fencing.objects import ObjectStore
from holdfast.model.codec import Codec
from holdfast.store.valkey import boot, keys, library
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.failures import CallFailed
from holdfast.store.valkey.urls import StoreUrl

#: Called with a word for what is done, and how many keys since the last call.
Advance = Callable[[str, int], None]

_AT_ONCE = 256
#: How long to wait for replicas or the disk when all is written.
_ACK_S = 60.0
_PAUSE_S = 0.1
_RUN_ID = re.compile("^run_id:(.*)$", re.MULTILINE)


async def latest(objects: ObjectStore) -> str:
    """Return the name of the last backup that can be read; raises InvalidRecord if none can."""
    names = await manifest.names(objects)
    if not names:
        raise InvalidRecord(f"{objects.name} has no backup that can be read", name="")
    return names[-1]


async def restore(
    client: Client,
    url: StoreUrl,
    objects: ObjectStore,
    name: str,
    *,
    codec: Codec | None = None,
    force: bool = False,
    unsealed: bool = False,
    advance: Advance | None = None,
) -> Manifest:
    """Write a backup into a store; the digests of all parts are compared first.

    Raises StoreIncompatible if the store has keys, unless `force` removes them, or if the backup
    does not fit; InvalidRecord if it is not whole, or without a seal, which with a codec only
    `unsealed` accepts; PayloadUnreadable without its key. If interrupted, the store stays closed.
    """
    report = advance or (lambda _what, _done: None)
    made = await manifest.read(objects, name, codec, unsealed=unsealed)
    _check(made, url)
    async for rows in _rows(objects, name, made, codec):
        report("checking", len(rows))
    try:
        if not force:
            await _require_empty(client, url.prefix)
        servers = await _servers(client)
        # First, because a store that is half removed must not be opened either.
        await _close(client, url.prefix)
        await _empty(client, url.prefix)
        meta, tags = await _write_all(client, made, _rows(objects, name, made, codec), report)
        await _acknowledge(client, url, tags)
        if await _servers(client) != servers:
            message = (
                "the store has other servers than when the restore began: repeat it with --force"
            )
            raise StoreUnavailable(message)
        # Only now can the store be opened.
        await _write(client, [meta])
        await _acknowledge(client, url, [_tag(meta[0])])
    except CallFailed as failure:
        kind = StoreFault if failure.answered else StoreUnavailable
        raise kind(f"the store cannot be restored: {failure.text}") from failure
    return made


async def _rows(
    objects: ObjectStore, name: str, made: Manifest, codec: Codec | None
) -> AsyncIterator[Sequence[Row]]:
    """Return the keys of a backup, part by part."""
    for part in made.parts:
        body = await parts.read(objects, name, part)
        yield parts.rows_of(name, part, body, made.kid, codec)


async def _write_all(
    client: Client, made: Manifest, portions: AsyncIterator[Sequence[Row]], report: Advance
) -> tuple[Row, set[bytes]]:
    """Write all keys but the one that opens the store; returns that one, and the tags of all."""
    meta: Row | None = None
    tags = set[bytes]()
    async for rows in portions:
        opening = [row for row in rows if row[0] == _meta(made.prefix)]
        meta = opening[0] if opening else meta
        await _write(client, [row for row in rows if row not in opening])
        tags.update(_tag(key) for key, _, _ in rows)
        report("restoring", len(rows))
    if meta is None:
        raise StoreIncompatible(f"backup {made.name} lacks the facts of its store")
    return meta, tags


def _check(made: Manifest, url: StoreUrl) -> None:
    if made.data_format != boot.FORMAT:
        message = (
            f"backup {made.name} has data of format {made.data_format}, "
            f"this version reads {boot.FORMAT}"
        )
        raise StoreIncompatible(message)
    if made.prefix != url.prefix:
        message = f"backup {made.name} is of the prefix {made.prefix}: add ?prefix={made.prefix}"
        raise StoreIncompatible(message)
    if url.partitions not in (None, made.partitions):
        message = f"backup {made.name} has {made.partitions} partitions: leave `partitions` out"
        raise StoreIncompatible(message)


def _meta(prefix: str) -> bytes:
    return f"{keys.global_tag(prefix)}:meta".encode()


async def _require_empty(client: Client, prefix: str) -> None:
    async for names in _keys(client, prefix):
        if names:
            message = "the store has keys: restore into an empty one, or --force removes them"
            raise StoreIncompatible(message)


async def _empty(client: Client, prefix: str) -> None:
    """Remove all keys but the mark."""
    kept = _meta(prefix)
    async for names in _keys(client, prefix):
        await asyncio.gather(*(client.call(("UNLINK", name)) for name in names if name != kept))


async def _close(client: Client, prefix: str) -> None:
    """Mark the store as one that cannot be opened."""
    marks = ("partitions", "1", "format", str(boot.RESTORING))
    await client.call(("HSET", _meta(prefix), *marks))


async def _keys(client: Client, prefix: str) -> AsyncIterator[Sequence[bytes]]:
    for server in client.primaries():
        cursor = b"0"
        while True:
            command = ("SCAN", cursor, "MATCH", f"{prefix}:{{*", "COUNT", "512")
            cursor, names = await server.call(command)
            yield names
            if cursor == b"0":
                break


async def _write(client: Client, rows: Sequence[Row]) -> None:
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        await asyncio.gather(*(client.call(_command(*row)) for row in some))


def _tag(key: bytes) -> bytes:
    return key.partition(b"}")[0] + b"}"


async def _acknowledge(client: Client, url: StoreUrl, tags: Iterable[bytes]) -> None:
    """Wait until replicas, or the disk, have all that was written, if the URL asks for it.

    Only calls of functions wait, so one follows for each tag that has keys.
    """
    if url.ack is None:
        return
    touch = library.script("hf_admin_touch")
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + _ACK_S
    for tag in tags:
        while True:
            try:
                await client.call(("EVAL", touch, "1", tag))
                break
            except CallFailed as failure:
                if failure.answered or loop.time() > give_up_at:
                    raise
            await asyncio.sleep(_PAUSE_S)


async def _servers(client: Client) -> set[str]:
    """Return the identities of all primaries, which change with a restart or a failover.

    A server that takes over may lack what was written before, and its replicas do so too.
    """
    infos = await client.on_primaries(["INFO", "server"])
    return {text[1].strip() for info in infos if (text := _RUN_ID.search(info.decode()))}


def _command(key: bytes, expires_at: int, value: bytes) -> tuple[str | bytes, ...]:
    return ("RESTORE", key, str(expires_at), parts.portable(value), "REPLACE", "ABSTTL")
