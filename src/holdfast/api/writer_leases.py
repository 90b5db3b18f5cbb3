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
    """Writer leases. It remembers since when it has seen which version, so keep one per process."""

    #: The clocks of the holder.
    times: Times

    @property
    @abstractmethod
    def name(self) -> str:
        """Where they are, for people."""

    @abstractmethod
    async def require_fit(self) -> None:
        """Raise BackendUnfit where leases cannot be fenced."""

    @abstractmethod
    async def read(self, key: str) -> Published | None:
        """Return what is published, None if the key was never held."""

    @abstractmethod
    async def acquire(self, key: str, ask: Ask) -> Grant:
        """Take the lease, or raise Fenced, Held or LostRace.

        Only a contender that has seen a silent holder's version for its whole patience gets it,
        so a first call on a live record is always refused; call again.
        """

    @abstractmethod
    async def refresh(self, grant: Grant, ttl_ms: int | None = None) -> Grant:
        """Extend the lease; raises StaleLease or Fenced if it is another's."""

    @abstractmethod
    async def release(self, grant: Grant) -> None:
        """Give the lease up: the record stays, and the next contender need not wait."""

    @abstractmethod
    async def hand_over(self, grant: Grant, to: str) -> None:
        """Give the lease to a named successor, who may take it at once; others must wait."""

    @abstractmethod
    async def repair(self, key: str, floor: Token) -> LeaseRecord:
        """Put a released record with this token in place of one that cannot be read.

        For operators: the floor must not be below any token that was ever granted.
        """

    async def current(self, key: str, holder: str, incarnation: str, token: Token) -> Grant:
        """Return the grant of a holder that only knows its token, such as a client over HTTP.

        Raises StaleLease or Fenced if it is not the holder. The grant has no authority left:
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
