"""Names and ids that callers choose belong to their tenant: two tenants may use the same one.

The stored name contains the tenant, so finding a resource needs no look-up of its owner. A resource
of the tenant `default` is stored under its own name, a resource of another tenant under

- `TENANT/NAME` for names: queues, budgets, quotas;
- `TENANT=ID` for ids: executions, graphs, and schedules, whose ids become part of the ids of their
  executions. An id may contain a slash, so the separator is another character.

Ids that Holdfast mints are unique everywhere and carry no tenant.
"""

from __future__ import annotations

import re

DEFAULT_TENANT = "default"
#: Separate the tenant from a name, and from an id. Callers cannot use them in names and ids.
NAME_SEPARATOR = "/"
ID_SEPARATOR = "="

#: An id of `new_id`, of a key or of a session, with a g for graphs; a part may follow `~`.
_MINTED = re.compile(r"g?(?:0[0-9a-hjkmnp-tv-z]{19}|[ks][0-9a-hjkmnp-tv-z]{24})(?:~|\Z)")
#: The id of an idempotency key, which is computed from tenant and key.
_OF_KEY = re.compile(r"g?k[0-9a-hjkmnp-tv-z]{24}\Z")


def stored(tenant: str, name: str) -> str:
    """Return the stored name of a tenant's resource; a full name, TENANT/NAME, names its owner."""
    if NAME_SEPARATOR in name:
        tenant, _, name = name.partition(NAME_SEPARATOR)
    return name if tenant == DEFAULT_TENANT else f"{tenant}{NAME_SEPARATOR}{name}"


def parse(name: str) -> tuple[str, str]:
    """Return the tenant of a stored name, and the tenant's own name for it."""
    return _parse(name, NAME_SEPARATOR)


def seen(name: str, tenant: str) -> str:
    """Return a stored name as a tenant uses it: the full name for another tenant's resource."""
    owner, rest = parse(name)
    return rest if owner == tenant else f"{owner}{NAME_SEPARATOR}{rest}"


def stored_id(tenant: str, own: str) -> str:
    """Return the stored id of a tenant's resource; minted ids and full ids stay unchanged."""
    if ID_SEPARATOR in own or is_minted(own):
        return own
    return stored_schedule(tenant, own)


def stored_schedule(tenant: str, own: str) -> str:
    """Return the stored id of a tenant's schedule; such ids are never minted."""
    return own if tenant == DEFAULT_TENANT else f"{tenant}{ID_SEPARATOR}{own}"


def parse_id(full: str) -> tuple[str, str]:
    """Return the tenant of a stored id, `default` if it names none, and the tenant's own id."""
    return _parse(full, ID_SEPARATOR)


def seen_id(full: str, tenant: str | None) -> str:
    """Return a stored id as a tenant uses it; `stored_id` is the reverse."""
    owner, rest = parse_id(full)
    return rest if owner == tenant and not is_minted(rest) else full


def is_minted(own: str) -> bool:
    """Whether Holdfast makes ids like this one."""
    return _MINTED.match(own) is not None


def is_of_key(own: str) -> bool:
    """Whether ids like this one come from idempotency keys."""
    return _OF_KEY.match(own) is not None


def _parse(full: str, separator: str) -> tuple[str, str]:
    tenant, found, rest = full.partition(separator)
    return (tenant, rest) if found else (DEFAULT_TENANT, full)
