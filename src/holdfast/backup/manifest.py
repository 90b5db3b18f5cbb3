"""The manifest of a backup: what it holds. It is written last: without one there is no backup."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
from datetime import UTC, datetime
from typing import Any

import msgspec

from holdfast.errors import BackendFailed, InvalidRecord, VersionConflict
from holdfast.fencing.objects import ObjectStore
from holdfast.model.codec import Codec

log: logging.Logger = logging.getLogger(__name__)

#: Increases when older versions cannot read new backups.
FORMAT = 1
_FILE = "manifest.json"
_AT_ONCE = 16


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """An object with some of the keys."""

    name: str
    keys: int
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup holds."""

    format: int
    name: str
    #: When the copy of the store was frozen, by the clock of the machine that took it.
    taken_at: str
    holdfast: str
    valkey: str
    #: The layout of the store.
    prefix: str
    partitions: int
    data_format: int
    servers: int
    keys: int
    #: How many there are of what users know: executions, graphs, sessions and so on.
    counts: dict[str, int]
    #: The id of the key that sealed the parts; None if they are not sealed.
    kid: str | None
    parts: list[Part]
    #: With the key of the parts, over all other fields. None if they are not sealed, and in
    #: backups of versions that did not seal it.
    seal: str | None = None


def place(name: str, part: str = _FILE) -> str:
    """Return the key of an object of a backup."""
    return f"backups/{name}/{part}"


async def read(
    objects: ObjectStore, name: str, codec: Codec | None = None, *, unsealed: bool = False
) -> Manifest:
    """Return the manifest of a backup; raises InvalidRecord.

    With a codec, raises PayloadUnreadable if it is not the one that was written, and InvalidRecord
    if it has no seal, unless `unsealed` accepts that.
    """
    stored = await objects.get(place(name))
    if stored is None:
        message = f"{objects.name} has no backup {name}, or one that was not finished"
        raise InvalidRecord(message, name=name)
    try:
        manifest = msgspec.json.decode(stored.body, type=Manifest)
    except msgspec.MsgspecError as error:
        raise InvalidRecord(f"the manifest of backup {name} is damaged: {error}") from error
    if manifest.format != FORMAT:
        message = f"backup {name} has format {manifest.format}, this version reads {FORMAT}"
        raise InvalidRecord(message, name=name)
    if codec is not None:
        _check_seal(name, stored.body, manifest, codec, unsealed=unsealed)
    return manifest


def sealed(manifest: Manifest, codec: Codec) -> Manifest:
    """Return a manifest that nobody without the key can alter."""
    about = _about(manifest.name, msgspec.to_builtins(manifest))
    _, seal = codec.seal(b"", about)
    return msgspec.structs.replace(manifest, seal=base64.b64encode(seal).decode())


def _check_seal(
    name: str, body: bytes, manifest: Manifest, codec: Codec, *, unsealed: bool
) -> None:
    if manifest.kid is None or manifest.seal is None:
        if unsealed:
            return
        message = (
            f"the manifest of backup {name} has no seal, so anyone who can write there may have "
            "altered it: --unsealed restores it nevertheless"
        )
        raise InvalidRecord(message, name=name)
    try:
        seal = base64.b64decode(manifest.seal, validate=True)
    except ValueError as error:
        raise InvalidRecord(f"the seal of backup {name} is damaged", name=name) from error
    # Of the object itself: a newer version may have written fields that this one does not know.
    codec.open(manifest.kid, seal, _about(name, msgspec.json.decode(body)))


def _about(name: str, fields: dict[str, Any]) -> bytes:
    """Return what the seal of a manifest is bound to."""
    fields.pop("seal", None)
    digest = hashlib.sha256(msgspec.json.encode(fields, order="sorted")).hexdigest()
    return f"backup {name} manifest {digest}".encode()


async def require_free(objects: ObjectStore, name: str) -> None:
    """Raise VersionConflict if there is a backup of this name."""
    if await objects.get(place(name)) is not None:
        raise _taken(name)


def _taken(name: str) -> VersionConflict:
    return VersionConflict(f"there is a backup {name}: choose another name", key=name)


async def write(objects: ObjectStore, manifest: Manifest) -> None:
    """Make a backup whole; raises VersionConflict if the name is taken.

    Raises BackendFailed, whose `maybe_done` says whether the manifest may be there, or land later.
    """
    name = manifest.name
    body = msgspec.json.format(msgspec.json.encode(manifest))
    try:
        await objects.put_if_absent(place(name), body)
    except (BackendFailed, VersionConflict) as error:
        if isinstance(error, BackendFailed) and not error.maybe_done:
            raise
        # The answer may be lost, or be to a repetition. The names of the parts tell whose it is.
        found = await _find(objects, name)
        if found is None:
            message = (
                f"{error}: backup {name} may be whole, so its parts stay; take another, and remove "
                f"{place(name, '')} if no {_FILE} appears there"
            )
            raise BackendFailed(message, maybe_done=True) from error
        if found != body:
            raise _taken(name) from error


async def _find(objects: ObjectStore, name: str) -> bytes | None:
    """Return a manifest, if the storage says that it is there."""
    try:
        stored = await objects.get(place(name))
    except BackendFailed:
        return None
    return None if stored is None else stored.body


async def names(objects: ObjectStore) -> list[str]:
    """Return the names of all finished backups, the one that was taken last at the end.

    What cannot be read is passed over.
    """
    suffix = f"/{_FILE}"
    keys = [entry.key async for entry in objects.list("backups/")]
    found = [key.split("/")[1] for key in keys if key.endswith(suffix)]
    dated: list[tuple[datetime, str]] = []
    for start in range(0, len(found), _AT_ONCE):
        some = found[start : start + _AT_ONCE]
        times = await asyncio.gather(*(_taken_at(objects, name) for name in some))
        dated += [(at, name) for at, name in zip(times, some, strict=True) if at is not None]
    return [name for _, name in sorted(dated)]


async def _taken_at(objects: ObjectStore, name: str) -> datetime | None:
    try:
        return datetime.fromisoformat((await read(objects, name)).taken_at).astimezone(UTC)
    except (InvalidRecord, ValueError) as error:
        log.warning("backup %s is passed over: %s", name, error)
        return None
