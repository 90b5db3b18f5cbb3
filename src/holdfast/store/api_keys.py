"""API keys as they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.model import bounds, records
from holdfast.model.api_keys import ApiKey, NewKey, Role
from holdfast.model.moments import from_ms
from holdfast.model.sight import Payloads
from holdfast.store.domain import Domain


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The answer to a look-up."""

    #: On the store's clock.
    now: datetime
    #: The total number of keys.
    count: int
    key: ApiKey | None


class ApiKeys(Domain):
    """API keys, in the global partition."""

    async def create(self, key_id: str, digest: str, new: NewKey) -> ApiKey:
        """Store a key; an existing one stays as it is."""
        (fields,) = await self._call.write(
            "hf_key_create",
            self._store.global_tag,
            key_id,
            digest,
            new.name,
            new.tenant or "",
            ",".join(sorted(new.roles)),
            "" if new.ttl_ms is None else str(new.ttl_ms),
            str(bounds.API_KEYS),
            new.payloads,
        )
        return _key(key_id, fields)

    async def find(self, key_id: str) -> Found:
        """Look a key up."""
        now, count, fields = await self._call.read("hf_key_find", self._store.global_tag, key_id)
        return Found(now=from_ms(now), count=count, key=_key(key_id, fields) if fields else None)

    async def list(self) -> list[ApiKey]:
        """Return all keys, oldest first."""
        rows = await self._call.read("hf_key_list", self._store.global_tag)
        keys = [_key(key_id.decode(), fields) for key_id, fields in rows]
        return sorted(keys, key=lambda key: (key.created_at, key.id))

    async def revoke(self, key_id: str, tenant: str | None) -> datetime:
        """Revoke a key, only of this tenant if one is given; returns the time of its revocation."""
        (revoked,) = await self._call.write(
            "hf_key_revoke", self._store.global_tag, key_id, tenant or ""
        )
        return from_ms(int(revoked))

    async def touch(self, key_ids: Sequence[str]) -> None:
        """Record that keys were used."""
        await self._call.write("hf_key_touch", self._store.global_tag, *key_ids)


def _key(key_id: str, fields: Sequence[bytes]) -> ApiKey:
    record = records.pairs(fields)
    return ApiKey(
        id=key_id,
        name=record[b"name"].decode(),
        tenant=record[b"tenant"].decode() or None,
        roles=frozenset(Role(name) for name in records.names(record[b"roles"])),
        digest=record[b"digest"].decode(),
        created_at=from_ms(int(record[b"created"])),
        expires_at=records.moment(record.get(b"expires")),
        revoked_at=records.moment(record.get(b"revoked")),
        last_used_at=records.moment(record.get(b"used")),
        payloads=Payloads(record.get(b"payloads", Payloads.REDACTED.encode()).decode()),
    )
