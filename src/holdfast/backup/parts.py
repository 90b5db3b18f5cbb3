"""Parts of a backup: some keys with their values, compressed, perhaps sealed, with a digest."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence

import msgspec

from holdfast.backup.manifest import Part, place
from holdfast.errors import InvalidRecord, PayloadUnreadable
from holdfast.fencing.objects import ObjectStore
from holdfast.model.codec import Codec, missing

#: A key, when it expires (ms since 1970, 0: never), and its value as the server dumps it.
Row = tuple[bytes, int, bytes]

#: Parts are about as large, before they are compressed.
BYTES = 8 << 20
_LEVEL = 1
_decode = msgspec.msgpack.Decoder(list[tuple[bytes, int, bytes]]).decode


async def write(
    objects: ObjectStore, name: str, part: str, rows: Sequence[Row], codec: Codec | None
) -> Part:
    """Write a part under a name that no other backup uses."""
    body = zlib.compress(msgspec.msgpack.encode(rows), _LEVEL)
    if codec is not None:
        _, body = codec.seal(body, _about(name, part))
    await objects.put_if_absent(place(name, part), body)
    digest = hashlib.sha256(body).hexdigest()
    return Part(name=part, keys=len(rows), bytes=len(body), sha256=digest)


async def read(objects: ObjectStore, name: str, part: Part) -> bytes:
    """Return the body of a part; raises InvalidRecord if it is not the one that was written."""
    stored = await objects.get(place(name, part.name))
    if stored is None:
        raise InvalidRecord(f"backup {name} lacks {part.name}", name=name)
    if hashlib.sha256(stored.body).hexdigest() != part.sha256:
        raise InvalidRecord(f"{part.name} of backup {name} is damaged", name=name)
    return stored.body


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


def _about(name: str, part: str) -> bytes:
    return f"backup {name} {part}".encode()
