"""The setting `HOLDFAST` of a project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from holdfast.integrations.relaying import DEFAULT_EVERY_S
from holdfast.store.store import StoreSettings


@dataclass(frozen=True, slots=True)
class Conf:
    """What `HOLDFAST` says; in the setting, names are in capitals."""

    #: The URL of a store or a server; by default HOLDFAST_STORE, or an embedded store.
    store: str | None = None
    #: The API key of a server; by default HOLDFAST_KEY.
    key: str | None = None
    store_settings: StoreSettings | None = None
    #: The address of a server, for links to its console.
    console: str | None = None
    #: The alias of the database that has the outbox.
    database: str = "default"
    #: How often a worker reads an empty outbox, in seconds.
    relay_every: float = DEFAULT_EVERY_S


_NAMES = {field.name.upper(): field.name for field in fields(Conf)}


def read() -> Conf:
    """Return the setting; raises ImproperlyConfigured for names that it does not have."""
    given: Any = getattr(settings, "HOLDFAST", {})
    if not isinstance(given, Mapping):
        raise ImproperlyConfigured("HOLDFAST must be a dictionary")
    unknown = sorted(set(given) - set(_NAMES))
    if unknown:
        known = ", ".join(_NAMES)
        raise ImproperlyConfigured(f"HOLDFAST has no {', '.join(unknown)}; it has: {known}")
    return Conf(**{_NAMES[name]: value for name, value in given.items()})
