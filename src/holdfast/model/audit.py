"""The audit log: who did what, when, from where, and with which outcome."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec


class AuditLog(StrEnum):
    """Two logs, so that frequent calls do not displace rare ones."""

    #: Calls of submitters and workers.
    CALLS = "calls"
    #: All other calls: operators, keys, reading tokens.
    CONTROL = "control"


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One call. It has names and ids, never a body or a secret."""

    #: Set by the store.
    id: str | None = None
    at: datetime | None = None
    #: The id of the API key; None if none was needed.
    key: str | None = None
    #: The tenant of the call; None if it was not for a single tenant.
    tenant: str | None = None
    #: The address of the caller.
    address: str
    method: str
    #: The route, with the names of its parameters.
    route: str
    #: The parameters of the path.
    target: dict[str, str]
    #: The id of the request, which the caller also gets.
    request: str
    status: int
    #: The code of the problem, if the call was refused.
    code: str | None = None
