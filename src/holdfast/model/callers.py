"""What a caller may see and do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from holdfast.model.api_keys import Role
from holdfast.model.sight import Payloads

#: The most tenants that a caller is shown.
MOST_TENANTS = 1_000


class Access(StrEnum):
    """How callers are identified."""

    #: The store has no API keys: every caller on this machine acts as the operator.
    OPEN = "open"
    KEYED = "keyed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The caller: who it is, and what it may see and do."""

    #: The id of the API key; null without one.
    key: str | None
    #: What the key is for.
    name: str | None
    #: The only tenant that the caller acts for; null for all.
    tenant: str | None
    #: The tenant of the key itself. It differs from `tenant` while an operator has narrowed its
    #: session of the console to one tenant.
    key_tenant: str | None
    roles: tuple[Role, ...]
    #: Which payloads it sees: all, redacted or none.
    payloads: Payloads = Payloads.REDACTED
    #: Whether it may act for every tenant, and on the whole system.
    operator: bool
    #: The tenants that it may see, of those that have executions or API keys.
    tenants: tuple[str, ...]
    #: Whether there are more.
    more_tenants: bool
    #: What is set up: archive, web_chat.
    features: tuple[str, ...]
    #: The version of Holdfast that answers.
    version: str
    #: Whether it runs for development (`holdfast dev`).
    dev: bool
    access: Access
    #: When the session of the console ends; null without one.
    session_expires_at: datetime | None
    #: What everybody should know about this server; null if there is nothing.
    banner: str | None
