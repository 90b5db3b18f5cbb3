"""Writer leases: read, acquire, refresh, release, hand over, repair."""

from __future__ import annotations

from abc import ABC, abstractmethod

from holdfast.model.times import Times
from holdfast.model.writer_leases import (
    Ask,
    Grant,
    LeaseRecord,
    Published,
    Token,
    is_still,
    loss,
)


class WriterLeases(ABC):
    """Writer leases. Keep one instance per process: it remembers when it first saw each version."""

    #: The clocks of the holder.
    times: Times

    @property
    @abstractmethod
    def name(self) -> str:
        """Where the leases are kept, for people."""

    @abstractmethod
    async def require_fit(self) -> None:
        """Raise BackendUnfit if the backend cannot fence leases."""

    @abstractmethod
    async def read(self, key: str) -> Published | None:
        """Return the published lease, or None if the key was never held."""

    @abstractmethod
    async def acquire(self, key: str, ask: Ask) -> Grant:
        """Acquire the lease, or raise Fenced, Held or LostRace.

        A contender gets the lease of a silent holder only after it has seen the same version for
        its whole patience, so the first call on a live record is always refused; call again.
        """

    @abstractmethod
    async def refresh(self, grant: Grant, ttl_ms: int | None = None) -> Grant:
        """Extend the lease; raise StaleLease or Fenced if another holder has it."""

    @abstractmethod
    async def release(self, grant: Grant) -> None:
        """Release the lease. The record stays, and the next contender does not have to wait."""

    @abstractmethod
    async def hand_over(self, grant: Grant, to: str) -> None:
        """Hand the lease over to a named successor, who can take it at once. Others must wait."""

    @abstractmethod
    async def repair(self, key: str, floor: Token) -> LeaseRecord:
        """Replace an unreadable record with a released one that has this token.

        For operators: the floor must not be lower than any token ever granted.
        """

    async def current(self, key: str, holder: str, incarnation: str, token: Token) -> Grant:
        """Return the grant of a holder that knows only its token, such as an HTTP client.

        Raises StaleLease or Fenced if it is not the holder. The grant has no remaining time:
        refresh it.
        """
        published = await self.read(key)
        mine = LeaseRecord(
            database_key=key,
            holder_id=holder,
            incarnation=incarnation,
            term=token.term,
            generation=token.generation,
            nonce="",
            acquired_at_ms=0,
            expires_at_ms=0,
            ttl_ms=0,
            margin_ms=0,
        )
        if published is None or not is_still(mine, published.record):
            raise loss(mine, published.record if published else None)
        return Grant(published.record, published.version, self.times.monotonic_ms())
