"""Short ways to make keys and audit entries, for tests."""

from __future__ import annotations

from typing import Any

from holdfast.model.api_keys import ApiKey, Role
from holdfast.model.audit import AuditEntry
from holdfast.store.store import Store


async def store_key(store: Store, key_id: str = "k1", **fields: Any) -> ApiKey:
    """Store a key, an operator key unless the fields say otherwise."""
    defaults: dict[str, Any] = {
        "digest": "d" * 64,
        "name": "name",
        "tenant": None,
        "roles": [Role.ADMIN],
        "ttl_ms": None,
    }
    return await store.api_keys.create(key_id=key_id, **{**defaults, **fields})


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
