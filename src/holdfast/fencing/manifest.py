"""A manifest: the one object that says which data objects are real.

Data objects are written first, under unique names, and mean nothing until a manifest names them.
The manifest changes only by compare-and-swap and carries the token of its last writer, so a writer
that lost its lease fails there, no matter what its clock says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from holdfast.errors import InvalidRecord
from holdfast.fencing import paths, record
from holdfast.fencing.objects import ObjectStore
from holdfast.model.times import SystemTimes, Times
from holdfast.model.writer_leases import Token, Version, check_key

if TYPE_CHECKING:
    from holdfast.fencing.writer import ManifestWriter

FORMAT = 1


class Authority(Protocol):
    """The right to write: a WriterLease, or anything else with a token."""

    @property
    def token(self) -> Token:
        """The fencing token."""
        ...

    @property
    def holder(self) -> str:
        """The stable name of the holder."""
        ...

    @property
    def incarnation(self) -> str:
        """The id of this start of the holder."""
        ...

    def check(self) -> None:
        """Raise StaleLease or Fenced unless writing is allowed right now."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A manifest as it was read or committed."""

    token: Token
    holder: str
    incarnation: str
    #: The number of commits.
    sequence: int
    nonce: str
    committed_at_ms: int
    #: The data objects that are real, by name, each with the writer's facts about it.
    objects: Mapping[str, Any] = field(default_factory=dict)
    #: Other facts that the writer keeps.
    facts: Mapping[str, Any] = field(default_factory=dict)
    #: Objects that are no longer real and may still exist.
    dropped: tuple[str, ...] = ()
    #: None before it is committed.
    version: Version | None = None

    def to_json(self) -> bytes:
        """Encode."""
        return msgspec.json.encode(
            {
                "format": FORMAT,
                "token": {"term": self.token.term, "generation": self.token.generation},
                "holder_id": self.holder,
                "incarnation": self.incarnation,
                "sequence": self.sequence,
                "nonce": self.nonce,
                "committed_at_ms": self.committed_at_ms,
                "objects": self.objects,
                "facts": self.facts,
                "dropped": self.dropped,
            }
        )


def parse(body: bytes, version: Version, where: str) -> Snapshot:
    """Decode a manifest; raises InvalidRecord for anything that is not one."""
    values = record.document(body, where)
    if values.get("format") != FORMAT:
        message = f"{where} has format {values.get('format')!r}, this version reads {FORMAT}"
        raise InvalidRecord(message, object=where)
    try:
        return Snapshot(
            token=Token(**values["token"]),
            holder=values["holder_id"],
            incarnation=values["incarnation"],
            sequence=values["sequence"],
            nonce=values["nonce"],
            committed_at_ms=values["committed_at_ms"],
            objects=values["objects"],
            facts=values["facts"],
            dropped=tuple(values["dropped"]),
            version=version,
        )
    except (KeyError, TypeError) as error:
        raise InvalidRecord(f"{where} is not a manifest ({error})", object=where) from error


class FencedManifest:
    """The manifest of a key. Any process may read it; `open` needs the writer lease of the key."""

    def __init__(self, store: ObjectStore, key: str, times: Times | None = None) -> None:
        self.store = store
        self.key: str = check_key(key)
        self.where: str = paths.manifest(self.key)
        self.times: Times = times or SystemTimes()

    async def read(self) -> Snapshot | None:
        """Return the manifest, None if nothing was ever committed."""
        stored = await self.store.get(self.where)
        return None if stored is None else parse(stored.body, stored.version, self.where)

    async def get(self, name: str) -> bytes | None:
        """Return a data object. None means that it is no longer real: read the manifest again."""
        stored = await self.store.get(name)
        return None if stored is None else stored.body

    async def get_range(self, name: str, start: int, length: int) -> bytes | None:
        """Return a part of a data object. None means: read the manifest again."""
        return await self.store.get_range(name, start, length)

    async def open(self, authority: Authority) -> ManifestWriter:
        """Stamp the manifest with the token of a lease, so that no earlier writer can commit."""
        from holdfast.fencing.writer import open_writer  # noqa: PLC0415 - it builds on this module

        return await open_writer(self, authority)
