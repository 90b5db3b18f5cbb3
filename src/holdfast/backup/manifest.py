"""The manifest of a backup: what it holds. It is written last: without one there is no backup."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

import msgspec

from holdfast.errors import BackendFailed, InvalidRecord, VersionConflict
from holdfast.fencing.objects import ObjectStore

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


def place(name: str, part: str = _FILE) -> str:
    """Return the key of an object of a backup."""
    return f"backups/{name}/{part}"


async def read(objects: ObjectStore, name: str) -> Manifest:
    """Return the manifest of a backup; raises InvalidRecord."""
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
    return manifest


async def require_free(objects: ObjectStore, name: str) -> None:
    """Raise VersionConflict if there is a backup of this name."""
    if await objects.get(place(name)) is not None:
        raise VersionConflict(f"there is a backup {name}: choose another name", key=name)


async def write(objects: ObjectStore, manifest: Manifest) -> None:
    """Make a backup whole; raises VersionConflict if the name is taken, or BackendFailed."""
    body = msgspec.json.format(msgspec.json.encode(manifest))
    try:
        await objects.put_if_absent(place(manifest.name), body)
    except BackendFailed:
        # Its answer may be lost. The names of the parts tell whose it is.
        stored = await objects.get(place(manifest.name))
        if stored is None or stored.body != body:
            raise


async def remove(objects: ObjectStore, name: str, parts: Sequence[Part]) -> None:
    """Remove a manifest that has these parts, if it is there; raises BackendFailed."""
    stored = await objects.get(place(name))
    if stored is not None and parts and parts[0].name.encode() in stored.body:
        await objects.delete(place(name))


async def read_all(objects: ObjectStore) -> list[Manifest]:
    """Return the manifests of all finished backups, oldest first; raises InvalidRecord."""
    suffix = f"/{_FILE}"
    keys = [entry.key async for entry in objects.list("backups/")]
    names = [key.split("/")[1] for key in keys if key.endswith(suffix)]
    found: list[Manifest] = []
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        found += await asyncio.gather(*(read(objects, name) for name in some))
    return sorted(found, key=lambda made: datetime.fromisoformat(made.taken_at))
