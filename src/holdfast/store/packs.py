"""Packs: archives in parts, each under a tag of its own, and the packs of each tenant."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from holdfast.errors import PackNotFound, StoreFault
from holdfast.model import bounds, checks
from holdfast.model.moments import from_ms
from holdfast.model.packs import PackUpload, StoredPack, digest_of
from holdfast.store.domain import Domain
from holdfast.store.valkey import keys

#: A part of an archive. A call with one takes the store about a millisecond.
PART_BYTES = 512 << 10
#: Parts that are on their way at once.
_PARTS_AT_ONCE = 4
#: Parts of an archive that is never sealed expire.
_KEEP_MS = 3_600_000
_SWEPT_AT_ONCE = 100

_pack, _unpack = msgspec.msgpack.encode, msgspec.msgpack.decode


class Packs(Domain):
    """Packs of tenants. An archive is stored once, whichever tenants upload it."""

    async def put(self, upload: PackUpload, tenant: str) -> tuple[StoredPack, bool]:
        """Store a pack; returns what is stored and whether it is new for the tenant."""
        archive = digest_of(upload.archive)
        await self._write(archive, upload.archive)
        word, known = await self._call.write(
            "hf_pack_register",
            self._store.global_tag,
            tenant,
            upload.digest,
            upload.id,
            upload.version,
            archive,
            str(len(upload.archive)),
            _pack(upload.signers),
            upload.entry or "",
            _pack(list(upload.flows.items())),
        )
        return _stored(f"{tenant}|{upload.digest}", _unpack(known)), bool(word == b"created")

    async def _write(self, archive: str, data: bytes) -> None:
        tag = keys.archive_tag(self._store.prefix, archive)
        starts = range(0, len(data), PART_BYTES)
        slots = asyncio.Semaphore(_PARTS_AT_ONCE)

        async def write(number: int, start: int) -> None:
            async with slots:
                part = data[start : start + PART_BYTES]
                await self._call.write("hf_pack_chunk", tag, str(number), part, str(_KEEP_MS))

        await asyncio.gather(*(write(number, start) for number, start in enumerate(starts)))
        (word,) = await self._call.write("hf_pack_seal", tag, str(len(starts)), str(len(data)))
        if word != b"sealed":
            raise StoreFault(f"the store lost parts of the archive {archive}; upload it again")

    async def archive(self, archive: str) -> bytes:
        """Return an archive by its digest, which is checked."""
        tag = keys.archive_tag(self._store.prefix, archive)
        count, first = await self._call.read("hf_pack_read", tag, "0")
        if not count:
            raise PackNotFound(f"no archive has the digest {archive}", digest=archive)
        parts = [first]
        for number in range(1, int(count)):
            _, part = await self._call.read("hf_pack_read", tag, str(number))
            parts.append(part)
        data = b"".join(parts)
        if digest_of(data) != archive:
            raise StoreFault(f"the archive {archive} is damaged in the store; upload it again")
        return data

    async def remove(self, digest: str, tenant: str) -> bool:
        """Remove a pack from those of a tenant; returns whether it was there."""
        tag = self._store.global_tag
        (word,) = await self._once("hf_pack_remove", tag, tenant, digest)
        await self.sweep()
        return bool(word == b"removed")

    async def sweep(self) -> None:
        """Let the parts of archives expire that nothing uses.

        An archive is in another partition than what uses it. So its parts expire slowly, and it is
        looked at once more: what has begun to use it meanwhile keeps it.
        """
        for archive, used in await self._call.read(
            "hf_pack_unused", self._store.global_tag, str(_SWEPT_AT_ONCE)
        ):
            kept = bool(used)
            while not await self._swept(archive.decode(), kept=kept):
                kept = not kept

    async def _swept(self, archive: str, *, kept: bool) -> bool:
        """Keep an archive or let it expire; returns whether that is still right."""
        parts = keys.archive_tag(self._store.prefix, archive)
        if kept:
            await self._call.write("hf_pack_reseal", parts)
        else:
            await self._call.write("hf_pack_unseal", parts, str(_KEEP_MS))
        (word,) = await self._call.write(
            "hf_pack_swept", self._store.global_tag, archive, "1" if kept else "0"
        )
        return bool(word == b"done")

    async def page(
        self, tenant: str | None, limit: int, cursor: str | None
    ) -> tuple[list[StoredPack], str | None]:
        """Return a page in the order of tenant and digest, and the next cursor."""
        if cursor is not None:
            checks.text("cursor", cursor, 2 * bounds.ID_CHARS)
        rows = await self._call.read(
            "hf_pack_list", self._store.global_tag, tenant or "", cursor or "", str(limit + 1)
        )
        more = rows[limit - 1][0].decode() if len(rows) > limit else None
        return [_stored(entry.decode(), _unpack(known)) for entry, known in rows[:limit]], more


def _stored(entry: str, known: dict[str, Any]) -> StoredPack:
    tenant, _, digest = entry.partition("|")
    return StoredPack(
        digest=digest,
        id=known["id"],
        version=known["version"],
        tenant=tenant,
        archive=known["archive"],
        size=int(known["size"]),
        signers=tuple(known["signers"]),
        uploaded_at=from_ms(int(known["at"])),
    )
