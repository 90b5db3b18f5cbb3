"""Claims of executions for a worker."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

from holdfast.model.claims import ClaimRequest
from holdfast.model.executions import Claim


class Claimer(ABC):
    """Claims executions for one worker, with fixed lanes, capabilities and kinds."""

    @abstractmethod
    def stop(self) -> None:
        """Make `claim` return at once, with what it has."""

    async def claim(
        self,
        limit: int,
        lease_ms: int,
        wait_ms: int = 0,
        *,
        request: str | None = None,
        again: bool = False,
        given_up: asyncio.Event | None = None,
    ) -> list[Claim]:
        """Return up to `limit` claims, waiting up to `wait_ms` for the first.

        A `request` sent `again` gets the same leases as before, as far as they are still held; with
        a limit of 0 it gets nothing else. Once `given_up` is set, nothing more is claimed.
        """
        asked = ClaimRequest(limit, lease_ms, wait_ms, request, again)
        return await self._claim(asked.checked(), given_up)

    @abstractmethod
    async def _claim(self, request: ClaimRequest, given_up: asyncio.Event | None) -> list[Claim]:
        """Claim as a request says."""
