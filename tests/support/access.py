"""Short ways to make keys and audit entries, for tests."""

from __future__ import annotations

from typing import Any

from holdfast.model.api_keys import ApiKey, NewKey, Role
from holdfast.model.audit import AuditEntry
from holdfast.model.sight import Payloads
from holdfast.store.store import Store


async def store_key(store: Store, key_id: str = "k1", **fields: Any) -> ApiKey:
    """Store a key, an operator key unless the fields say otherwise."""
    defaults: dict[str, Any] = {
        "name": "name",
        "tenant": None,
        "roles": frozenset({Role.ADMIN}),
        "ttl_ms": None,
        "secret": "",
        "payloads": Payloads.REDACTED,
    }
    digest = fields.pop("digest", "d" * 64)
    return await store.api_keys.create(key_id, digest, NewKey(**{**defaults, **fields}))


def entry(request: str, **fields: Any) -> AuditEntry:
    """Return an entry of a call."""
    defaults: dict[str, Any] = {
        "key": "k1",
        "tenant": "acme",
        "address": "127.0.0.1",
        "method": "POST",
        "route": "/v1/executions",
        "target": {},
        "status": 201,
    }
    return AuditEntry(request=request, **{**defaults, **fields})
