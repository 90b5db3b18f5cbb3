"""Waitpoints: prepare them, suspend on them, signal them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.model.executions import Lease
from holdfast.model.states import State
from holdfast.model.tokens import Grant, Token
from holdfast.model.waitpoints import (
    Effect,
    Inbox,
    NewSignal,
    NewWaitpoint,
    Prepared,
    Signal,
    Suspension,
    Waitpoint,
)


class Waitpoints(ABC):
    """Operations on waitpoints."""

    @abstractmethod
    async def prepare(
        self, execution_id: str, lease: Lease, items: Sequence[NewWaitpoint]
    ) -> list[Waitpoint]:
        """Make waitpoints before the wait; signals that come early are held.

        Safe to repeat for items with a key.
        """

    @abstractmethod
    async def suspend(
        self,
        execution_id: str,
        lease: Lease,
        waitpoints: Sequence[NewWaitpoint | Prepared | str],
        condition: Mapping[str, Any],
        *,
        timeout_ms: int | None = None,
        on_timeout: str = "fail",
        reason: str = "signal",
        key: str | None = None,
    ) -> Suspension:
        """Give the lease back until a condition on waitpoints holds.

        Waitpoints are new, or prepared ones, which may be given by their ids. The condition
        calls them by their names: `{"waitpoint": NAME}` holds with any signal to one. If signals
        that came early fulfil it, the lease is kept. Safe to repeat with the same `key`.
        """

    @abstractmethod
    async def token_of(self, grant: Grant) -> Token:
        """Return the token of a waitpoint that the caller has made."""

    @abstractmethod
    async def signal(self, item: NewSignal, token: str | None = None) -> Effect:
        """Send a signal: with a token, or without one as an operator.

        With a token nothing is said about a waitpoint before the token is proved. An answer to an
        execution that asks for more of a budget raises its limit before this returns.
        """

    @abstractmethod
    async def read(self, waitpoint: str, token: str) -> Waitpoint:
        """Return a waitpoint to whoever has its token: what is asked for, and until when."""

    @abstractmethod
    async def signal_many(
        self, items: Sequence[tuple[NewSignal, str | None]]
    ) -> list[Effect | HoldfastError]:
        """Send up to 1,000 signals, each with its token or None: an answer for each, in order."""

    @abstractmethod
    async def resume(
        self, execution_id: str, payload: bytes = b"null", *, identity: str = ""
    ) -> State:
        """Let a suspended execution go on without what it waits for."""

    @abstractmethod
    async def revoke(self, waitpoint: str) -> str:
        """Close a waitpoint: its token is worth nothing any more. Returns why it is closed."""

    @abstractmethod
    async def token(self, waitpoint: str, *, reader: str) -> Token:
        """Return the token of a waitpoint, signed anew; the history tells who read it."""

    @abstractmethod
    async def of(self, execution_id: str) -> list[Waitpoint]:
        """Return the waitpoints of an execution in the order they were made, without tokens."""

    @abstractmethod
    async def signals(self, execution_id: str) -> list[Signal]:
        """Return the signals of an execution in the order of arrival, with their effects."""

    @abstractmethod
    async def inbox(
        self, tenant: str | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> Inbox:
        """Return waitpoints that can be answered, the oldest first."""
