"""The audit log: who did what, when, from where, and what came of it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec


class AuditLog(StrEnum):
    """Two logs, so that the many calls of one kind do not push out the few of the other."""

    #: Submitters' and workers' calls.
    CALLS = "calls"
    #: Everything else: operators, keys, tokens read.
    CONTROL = "control"


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One call. It holds names and ids, never a body or a secret."""

    #: Set by the store.
    id: str | None = None
    at: datetime | None = None
    #: The id of the API key; None when none was needed.
    key: str | None = None
    #: The tenant that the call was for; None: no single one.
    tenant: str | None = None
    #: Where the caller was.
    address: str
    method: str
    #: The route, with the names of its parameters.
    route: str
    #: The parameters of the path.
    target: dict[str, str]
    #: The id of the request, as the caller knows it.
    request: str
    status: int
    #: The code of the problem, if it was refused.
    code: str | None = None
