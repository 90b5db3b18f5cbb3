"""Names that belong to a tenant: queues and writer leases.

Two tenants may use the same name for different objects. An object of the tenant `default` is stored
under its own name, so that programs on the store use the same one. An object of another tenant is
stored under a name that no caller over HTTP can write.
"""

from __future__ import annotations

from holdfast.errors import InvalidInput
from holdfast.model import checks, names
from holdfast.model.names import DEFAULT_TENANT
from holdfast.server.http.call import Call
from holdfast.server.views.fields import Name, Query

#: The prefix of the writer leases of every tenant except `default`.
TENANTS = "tenants/"


class TenantQuery(Query):
    """The tenant of the object, for a key without a tenant; `default` if absent."""

    tenant: Name | None = None


def queue(call: Call, name: str, field: str = "queue") -> str:
    """Return the stored name of a queue of the tenant that the call acts for."""
    checks.name(field, name)
    return names.stored(call.tenant or DEFAULT_TENANT, name)


def seen(stored: str, tenant: str) -> str:
    """Return the name of a queue as its tenant knows it; other tenants get the full name."""
    owner, name = names.parse(stored)
    return name if owner == tenant else stored


def lease(call: Call, key: str) -> str:
    """Return the stored key of a writer lease of the tenant that the call acts for."""
    if key.startswith(TENANTS):
        raise InvalidInput(f"key: {TENANTS} is reserved; name the tenant instead", field="key")
    tenant = call.tenant or DEFAULT_TENANT
    return key if tenant == DEFAULT_TENANT else f"{TENANTS}{tenant}/{key}"


def seen_lease(stored: str) -> str:
    """Return the key of a writer lease as its tenant knows it."""
    if not stored.startswith(TENANTS):
        return stored
    return stored.removeprefix(TENANTS).partition("/")[2]
