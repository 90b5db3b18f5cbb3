"""What webhooks announce."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from holdfast.store.domain import Domain

Subject = Literal["execution", "graph"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an execution or a graph ended."""

    tenant: str
    state: str
    #: None if it has not ended, or runs again.
    ended_ms: int | None
    #: The webhook that announces it.
    url: str | None


class Webhooks(Domain):
    """Reads for those who deliver webhooks."""

    async def ending(self, what: Subject, subject_id: str) -> Ending | None:
        """Return how an execution or a graph ended, or None if it does not exist."""
        tag = self._store.tag_of(subject_id)
        reply = await self._call.read("hf_webhook_ending", tag, what, subject_id)
        if not reply:
            return None
        tenant, state, ended, url = (part.decode() for part in reply)
        return Ending(
            tenant=tenant, state=state, ended_ms=int(ended) if ended else None, url=url or None
        )
