"""Names and ids that callers choose belong to their tenant: two tenants may use the same one.

The name itself carries the tenant, so finding a thing costs no look-up of its owner. A thing of
the tenant `default` is stored as it is called; a thing of another tenant under

- `TENANT/NAME` for names: queues, budgets, quotas;
- `TENANT=ID` for ids: executions, graphs, and schedules, from whose ids those of their executions
  are made. An id may contain a slash, so another character separates.

Ids that Holdfast mints are unique everywhere and carry no tenant.
"""

from __future__ import annotations

import re

DEFAULT_TENANT = "default"
#: Separates the tenant from a name, and from an id. Callers cannot use them in what they choose.
NAME_SEPARATOR = "/"
ID_SEPARATOR = "="

#: `new_id`, and the id of an idempotency key, with a g those of graphs; what follows `~` is a part.
_MINTED = re.compile(r"g?(?:0[0-9a-hjkmnp-tv-z]{19}|[ks][0-9a-hjkmnp-tv-z]{24})(?:~|\Z)")
#: The id of an idempotency key, which can be worked out from tenant and key.
_OF_KEY = re.compile(r"g?k[0-9a-hjkmnp-tv-z]{24}\Z")


def stored(tenant: str, name: str) -> str:
    """Return the stored name of a thing of a tenant; a name in full, TENANT/NAME, says whose."""
    if NAME_SEPARATOR in name:
        tenant, _, name = name.partition(NAME_SEPARATOR)
    return name if tenant == DEFAULT_TENANT else f"{tenant}{NAME_SEPARATOR}{name}"


def parse(name: str) -> tuple[str, str]:
    """Return the tenant of a stored name, and the name that it uses."""
    return _parse(name, NAME_SEPARATOR)


def seen(name: str, tenant: str) -> str:
    """Return a stored name as a tenant knows it; that of another tenant in full."""
    owner, rest = parse(name)
    return rest if owner == tenant else f"{owner}{NAME_SEPARATOR}{rest}"


def stored_id(tenant: str, own: str) -> str:
    """Return the stored id of a thing of a tenant; a minted one, and one in full, stay."""
    if ID_SEPARATOR in own or is_minted(own):
        return own
    return stored_schedule(tenant, own)


def stored_schedule(tenant: str, own: str) -> str:
    """Return the stored id of a schedule of a tenant; they are never minted."""
    return own if tenant == DEFAULT_TENANT else f"{tenant}{ID_SEPARATOR}{own}"


def parse_id(full: str) -> tuple[str, str]:
    """Return the tenant that a stored id names, `default` if none, and the id that it uses."""
    return _parse(full, ID_SEPARATOR)


def seen_id(full: str, tenant: str | None) -> str:
    """Return a stored id as a tenant knows it: `stored_id` returns the stored one again."""
    owner, rest = parse_id(full)
    return rest if owner == tenant and not is_minted(rest) else full


def is_minted(own: str) -> bool:
    """Whether Holdfast makes ids like this one."""
    return _MINTED.match(own) is not None


def is_of_key(own: str) -> bool:
    """Whether an idempotency key stands behind ids like this one."""
    return _OF_KEY.match(own) is not None


def _parse(full: str, separator: str) -> tuple[str, str]:
    tenant, found, rest = full.partition(separator)
    return (tenant, rest) if found else (DEFAULT_TENANT, full)
