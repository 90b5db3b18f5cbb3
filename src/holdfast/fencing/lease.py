r"""A writer lease that is held: it is refreshed in the background and released as the last step.

      acquire        refresh fails         refresh succeeds
    ---------> held ---------------> jeopardy -----------> held
                |                       |
                | definite answer       | definite answer: another has it
                v                       v
              lost <--------------------+        release, hand over: released

Whether the holder may write is not a state but a question of time: `check` compares the monotonic
clock with a deadline that counts from before the last successful request was sent. In jeopardy the
deadline comes closer; after it writing stops, while the refreshes continue.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Self

from holdfast.api import WriterLeases
from holdfast.concurrency import first_of, stop
from holdfast.errors import (
    BackendFailed,
    Fenced,
    HoldfastError,
    InvalidRecord,
    LeaseLost,
    StaleLease,
)
from holdfast.fencing.contend import contend
from holdfast.fencing.leases import Leases
from holdfast.fencing.objects import ObjectStore
from holdfast.model import checks
from holdfast.model.ids import new_id
from holdfast.model.times import Times
from holdfast.model.writer_leases import Ask, Grant, Token

log: logging.Logger = logging.getLogger(__name__)

DEFAULT_TTL_MS = 30_000
#: The part of the ttl by which a holder stops earlier and a contender waits longer.
_MARGIN_SHARE = 6
_REFRESHES_IN_TTL = 3
_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS = 50.0, 2_000.0


class LeaseState(StrEnum):
    """The state of a lease as its holder knows it."""

    NEW = "new"
    HELD = "held"
    #: Refreshes fail for now; writing continues until the deadline.
    JEOPARDY = "jeopardy"
    LOST = "lost"
    RELEASED = "released"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseStatus:
    """The state of a held lease, for people and metrics."""

    key: str
    holder: str
    incarnation: str
    state: LeaseState
    token: str | None
    #: How much longer the holder may write.
    authority_ms: float
    next_refresh_ms: float | None
    last_error: str | None


class WriterLease:
    """The right to be the only writer of a key. An async context manager."""

    def __init__(
        self,
        store: ObjectStore | WriterLeases,
        key: str,
        *,
        holder: str | None = None,
        ttl_ms: int = DEFAULT_TTL_MS,
        margin_ms: int | None = None,
        term: int | None = None,
        preempt: bool = False,
        wait_s: float = 0.0,
        times: Times | None = None,
    ) -> None:
        """Prepare a lease; entering the block acquires it.

        Args:
            store: where the lease is, or existing leases, such as those of an HTTP client.
            key: the key of the lease, such as `reports/main`.
            holder: a stable name, by default that of the host.
            ttl_ms: how long others wait when this process stops refreshing.
            margin_ms: tolerance for clock drift and slow requests, by default a sixth of ttl.
            term: None uses the published one.
            preempt: take a live lease, with a strictly higher term.
            wait_s: how long to wait for a lease that another holds; `math.inf` stands by. The
                lease of a dead holder is free once this process has seen it unchanged for
                `ttl + margin`, counted over its tries on the same `store`.
            times: other clocks, for tests.
        """
        margin = checks.lease_ms("ttl_ms", ttl_ms) // _MARGIN_SHARE
        margin = margin if margin_ms is None else margin_ms
        self._ask = Ask(
            holder=checks.name("holder", holder or socket.gethostname()),
            incarnation=new_id(),
            ttl_ms=ttl_ms,
            margin_ms=checks.integer("margin_ms", margin, 0, ttl_ms // 2),
            term=term,
            preempt=preempt,
        )
        self.key = key
        self._wait_ms = checks.number("wait_s", wait_s, 0, math.inf) * 1000
        self._leases: WriterLeases = (
            store if isinstance(store, WriterLeases) else Leases.of_process(store, times)
        )
        self._times = self._leases.times
        self._grant: Grant | None = None
        self._state = LeaseState.NEW
        self._error: HoldfastError | None = None
        self._next_refresh_ms: float | None = None
        self._ended, self._stopping = asyncio.Event(), asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None

    # For the holder

    @property
    def holder(self) -> str:
        """The stable name of the holder."""
        return self._ask.holder

    @property
    def incarnation(self) -> str:
        """The id of this start of the holder."""
        return self._ask.incarnation

    @property
    def state(self) -> LeaseState:
        """The state of the lease."""
        return self._state

    @property
    def token(self) -> Token:
        """The fencing token; raises StaleLease if the lease was never acquired."""
        if self._grant is None:
            raise StaleLease(f"writer lease {self.key} was not acquired", key=self.key)
        return self._grant.token

    @property
    def authority_ms(self) -> float:
        """How much longer the holder may write, 0 if it may not."""
        if self._grant is None or self._state not in (LeaseState.HELD, LeaseState.JEOPARDY):
            return 0.0
        return max(0.0, self._grant.deadline_ms - self._times.monotonic_ms())

    def check(self) -> None:
        """Raise unless writing is allowed right now. Call it before every write."""
        if self.authority_ms > 0:
            return
        if self._state is LeaseState.LOST and isinstance(self._error, LeaseLost):
            raise self._error
        message = f"writer lease {self.key} of {self.holder} is not held"
        if self._state in (LeaseState.HELD, LeaseState.JEOPARDY):
            message += ": it could not be refreshed in time"
        raise StaleLease(message, key=self.key, holder=self.holder, state=self._state)

    def view(self) -> LeaseStatus:
        """Return the state of the lease, for people and metrics."""
        left = None
        if self._next_refresh_ms is not None:
            left = max(0.0, self._next_refresh_ms - self._times.monotonic_ms())
        return LeaseStatus(
            key=self.key,
            holder=self.holder,
            incarnation=self.incarnation,
            state=self._state,
            token=str(self._grant.token) if self._grant else None,
            authority_ms=self.authority_ms,
            next_refresh_ms=left,
            last_error=str(self._error) if self._error else None,
        )

    async def wait_ended(self) -> None:
        """Wait until the lease is lost or released."""
        await self._ended.wait()

    # Its life

    async def acquire(self) -> Token:
        """Acquire the lease, waiting for it if `wait_s` says so, and keep refreshing it."""
        if self._state in (LeaseState.HELD, LeaseState.JEOPARDY):
            return self.token
        await self._leases.require_fit()
        self._grant = await contend(self._leases, self.key, self._ask, self._wait_ms)
        self._state = LeaseState.HELD
        self._error = None
        self._ended.clear()
        self._stopping.clear()
        self._keeper = asyncio.ensure_future(self._keep())
        return self._grant.token

    async def refresh(self) -> None:
        """Extend the lease now; raises StaleLease or Fenced if another holder has it."""
        if self._grant is None:
            self.check()
            return
        try:
            self._grant = await self._leases.refresh(self._grant)
        except (LeaseLost, InvalidRecord) as error:
            self._end(LeaseState.LOST, error)
            raise
        except BackendFailed as error:
            if self._state is LeaseState.HELD:
                self._state = LeaseState.JEOPARDY
            self._error = error
            raise
        if self._state is LeaseState.JEOPARDY:
            log.info("refreshing writer lease %s works again", self.key)
            self._state = LeaseState.HELD
        self._error = None

    def fence(self, current_term: int) -> None:
        """Report a term that was seen elsewhere; a higher one ends the lease."""
        if self._grant is None or current_term <= self._grant.token.term:
            return
        message = f"writer lease {self.key} of {self.holder} is fenced by term {current_term}"
        error = Fenced(message, key=self.key, holder=self.holder, current_term=current_term)
        self._end(LeaseState.LOST, error)

    async def release(self) -> None:
        """Release the lease, unless it is lost; the next contender does not have to wait."""
        await self._give_up(None)

    async def hand_over(self, to: str) -> None:
        """Hand the lease to a named holder, the only one that may take it immediately."""
        await self._give_up(checks.name("to", to))

    async def _give_up(self, successor: str | None) -> None:
        """Stop refreshing, stop writing, then publish the release, in this order."""
        if self._state not in (LeaseState.HELD, LeaseState.JEOPARDY) or self._grant is None:
            return
        await self._stop_keeping()
        grant, self._state = self._grant, LeaseState.RELEASED
        self._ended.set()
        try:
            if successor is None:
                await self._leases.release(grant)
            else:
                await self._leases.hand_over(grant, successor)
        except LeaseLost as error:
            self._end(LeaseState.LOST, error)
            if successor is not None:
                raise

    async def _keep(self) -> None:
        """Refresh until stopped or until the lease is definitely lost."""
        pause_ms = _FIRST_PAUSE_MS
        usable_ms = self._ask.ttl_ms - self._ask.margin_ms
        wait_ms = usable_ms / _REFRESHES_IN_TTL
        while not await self._stopped_within(wait_ms):
            try:
                async with asyncio.timeout(usable_ms / _REFRESHES_IN_TTL / 1000):
                    await self.refresh()
            except TimeoutError:
                self._trouble(BackendFailed(f"{self._leases.name} did not answer"))
            except BackendFailed as error:
                self._trouble(error)
            except HoldfastError as error:
                log.warning("writer lease %s is lost: %s", self.key, error)
                self._end(LeaseState.LOST, error)
                return
            else:
                wait_ms, pause_ms = usable_ms / _REFRESHES_IN_TTL, _FIRST_PAUSE_MS
                continue
            wait_ms, pause_ms = pause_ms, min(2 * pause_ms, _LONGEST_PAUSE_MS)

    def _trouble(self, error: BackendFailed) -> None:
        if self._state is LeaseState.HELD:
            self._state = LeaseState.JEOPARDY
        self._error = error
        log.warning("refreshing writer lease %s failed: %s", self.key, error)

    async def _stopped_within(self, ms: float) -> bool:
        """Wait for the next refresh; True if the keeper must end."""
        self._next_refresh_ms = self._times.monotonic_ms() + ms
        try:
            await first_of(self._times.sleep(ms), self._stopping.wait())
        finally:
            self._next_refresh_ms = None
        return self._stopping.is_set() or self._state is LeaseState.LOST

    async def _stop_keeping(self) -> None:
        self._stopping.set()
        if self._keeper is not None and self._keeper is not asyncio.current_task():
            await stop(self._keeper)
        self._keeper = None

    def _end(self, state: LeaseState, error: HoldfastError | None) -> None:
        self._state, self._error = state, error
        self._stopping.set()
        self._ended.set()

    async def __aenter__(self) -> Self:
        await self.acquire()
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        try:
            await self.release()
        except (BackendFailed, InvalidRecord) as error:
            # This is safe: others wait until it expires.
            log.warning("releasing writer lease %s failed: %s", self.key, error)
        finally:
            await self._stop_keeping()
