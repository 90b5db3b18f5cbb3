"""Parts of a backup: some keys with their values, compressed, perhaps sealed, with a digest."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import zlib
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec

from holdfast.backup.manifest import Part, place
from holdfast.errors import BackendFailed, InvalidRecord, PayloadUnreadable, VersionConflict
from holdfast.fencing.objects import ObjectStore
from holdfast.model.codec import Codec, missing

#: A key, when it expires (ms since 1970, 0: never), and its value as the server dumps it.
Row = tuple[bytes, int, bytes]

T = TypeVar("T")

#: How long to wait before the next tries of a request that failed.
_PAUSES_S = (0.2, 2.0)
#: Parts are about as large, before they are compressed.
BYTES = 8 << 20
_LEVEL = 1
#: What ends a value as the server dumps it: the version of its format, and a checksum.
_VERSION_AT, _CHECKSUM_AT = -10, -8
#: The format of Valkey 8. Newer servers use a newer one only for the types that it lacks.
_OLDEST_FORMAT = 11
_LAST_TYPE = 21
#: The polynomial of the checksum, with its bits reversed.
_POLYNOMIAL = 0x95AC9329AC4BC9B5
_decode = msgspec.msgpack.Decoder(list[tuple[bytes, int, bytes]]).decode


async def write(
    objects: ObjectStore, name: str, part: str, rows: Sequence[Row], codec: Codec | None
) -> Part:
    """Write a part under a name that no other backup uses."""
    body = zlib.compress(msgspec.msgpack.encode(rows), _LEVEL)
    if codec is not None:
        _, body = codec.seal(body, _about(name, part))
    # Its name is taken if an earlier try has succeeded, although it seemed to fail.
    with contextlib.suppress(VersionConflict):
        await _persistently(lambda: objects.put_if_absent(place(name, part), body))
    digest = hashlib.sha256(body).hexdigest()
    return Part(name=part, keys=len(rows), bytes=len(body), sha256=digest)


async def read(objects: ObjectStore, name: str, part: Part) -> bytes:
    """Return the body of a part; raises InvalidRecord if it is not the one that was written."""
    stored = await _persistently(lambda: objects.get(place(name, part.name)))
    if stored is None:
        raise InvalidRecord(f"backup {name} lacks {part.name}", name=name)
    if hashlib.sha256(stored.body).hexdigest() != part.sha256:
        raise InvalidRecord(f"{part.name} of backup {name} is damaged", name=name)
    return stored.body


async def _persistently(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask again after failures that may pass: one in thousands must not cost all others."""
    for pause_s in _PAUSES_S:
        try:
            return await ask()
        except BackendFailed:
            await asyncio.sleep(pause_s)
    return await ask()


def rows_of(
    name: str, part: Part, body: bytes, kid: str | None, codec: Codec | None
) -> Sequence[Row]:
    """Return the keys of a part; raises PayloadUnreadable without its key."""
    if kid is not None:
        if codec is None:
            raise missing(kid)
        body = codec.open(kid, body, _about(name, part.name))
    try:
        return _decode(zlib.decompress(body))
    except (zlib.error, msgspec.MsgspecError) as error:
        message = f"{part.name} of backup {name} cannot be read"
        raise PayloadUnreadable(message) from error


def portable(value: bytes) -> bytes:
    """Return a dumped value that Valkey 8 and newer read: a server refuses those of newer ones.

    The server that a backup reads is that of the package, however old the original is. Values of
    types that Valkey 8 lacks stay as they are.
    """
    made = int.from_bytes(value[_VERSION_AT:_CHECKSUM_AT], "little")
    if made <= _OLDEST_FORMAT or value[0] > _LAST_TYPE:
        return value
    # The checksum begins with 0 and inverts nothing, so what changes in it depends on nothing but
    # what changes in the value.
    changed = (made ^ _OLDEST_FORMAT).to_bytes(2, "little")
    checksum = int.from_bytes(value[_CHECKSUM_AT:], "little") ^ _crc64(changed)
    version = _OLDEST_FORMAT.to_bytes(2, "little")
    return value[:_VERSION_AT] + version + checksum.to_bytes(8, "little")


@functools.cache
def _crc64(data: bytes) -> int:
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
    return crc


def _about(name: str, part: str) -> bytes:
    return f"backup {name} {part}".encode()
