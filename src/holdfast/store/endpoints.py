"""Endpoints; each method is one call of one function. Their secrets are in `secrets.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from holdfast.model import bounds, checks
from holdfast.model.endpoints import Endpoint, EndpointRef, NewEndpoint
from holdfast.model.moments import from_ms
from holdfast.model.records import pairs
from holdfast.store.domain import Domain


class Endpoints(Domain):
    """Endpoints, in the global partition."""

    async def put(self, new: NewEndpoint) -> tuple[Endpoint, bool]:
        """Create or replace an endpoint; returns it and whether it is new."""
        fields: list[str | bytes] = ["provider", new.provider, "rate", str(new.rate)]
        fields += ["settings", new.packed_settings()]
        for name in ("deployment", "conversation"):
            value = getattr(new, name)
            fields += [] if value is None else [name, value]
        word, born, at = await self._call.write(
            "hf_endpoint_put",
            self._store.global_tag,
            new.env,
            new.id,
            new.tenant,
            str(bounds.ENDPOINTS),
            *fields,
        )
        record = pairs([*map(_bytes, fields), b"id", new.id.encode(), b"env", new.env.encode()])
        record |= {b"tenant": new.tenant.encode(), b"born": born, b"at": at}
        return _endpoint(record), bool(word == b"created")

    async def get(self, ref: EndpointRef) -> Endpoint:
        """Return an endpoint without its secrets; raises EndpointNotFound."""
        (fields,) = await self._call.read(
            "hf_endpoint_get", self._store.global_tag, ref.env, ref.id, ref.tenant or ""
        )
        return _endpoint(pairs(fields))

    async def page(
        self, env: str, tenant: str | None, limit: int, cursor: str | None
    ) -> tuple[list[Endpoint], str | None]:
        """Return a page in the order of tenant and id, and the next cursor."""
        if cursor is not None:
            checks.text("cursor", cursor, 2 * bounds.ID_CHARS)
        place = (env, tenant or "", cursor or "", str(limit + 1))
        rows = await self._call.read("hf_endpoint_list", self._store.global_tag, *place)
        found = [_endpoint(pairs(row)) for row in rows[:limit]]
        more = f"{found[-1].tenant}|{found[-1].id}" if len(rows) > limit else None
        return found, more

    async def remove(self, ref: EndpointRef) -> str | None:
        """Remove an endpoint; returns whose it was, or None if there was none."""
        tag, tenant = self._store.global_tag, ref.tenant or ""
        word, owner = await self._once("hf_endpoint_remove", tag, ref.env, ref.id, tenant)
        return owner.decode() if word == b"removed" else None


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _endpoint(record: Mapping[bytes, Any]) -> Endpoint:
    deployment, conversation = record.get(b"deployment"), record.get(b"conversation")
    return Endpoint(
        id=record[b"id"].decode(),
        env=record[b"env"].decode(),
        tenant=record[b"tenant"].decode(),
        provider=record[b"provider"].decode(),
        deployment=None if deployment is None else deployment.decode(),
        conversation=None if conversation is None else conversation.decode(),
        settings=msgspec.json.decode(record[b"settings"]),
        rate=int(record[b"rate"]),
        created_at=from_ms(int(record[b"born"])),
        updated_at=from_ms(int(record[b"at"])),
    )
