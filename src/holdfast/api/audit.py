"""The audit log."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime

from holdfast.model.audit import AuditEntry


class Audit(ABC):
    """The audit log of a store.

    Entries that arrive during an append are sent together with the next one, so a busy server
    appends many in one call.
    """

    @abstractmethod
    async def list(
        self,
        *,
        tenant: str | None = None,
        key: str | None = None,
        since: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> tuple[Sequence[AuditEntry], str | None]:
        """Return a page of both logs, newest first, and the cursor of the next page."""
