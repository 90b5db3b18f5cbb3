"""Waitpoints: prepare, suspend, signal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.model.executions import Lease
from holdfast.model.ids import new_id
from holdfast.model.states import State
from holdfast.model.suspensions import NewSuspension
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
        """Create waitpoints before the wait. Signals that arrive early are kept for it.

        Safe to repeat for items with a key.
        """

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
        """Suspend an execution until a condition on waitpoints holds.

        Waitpoints are new, or prepared ones given by their ids. The condition refers to them by
        name: any signal to a waitpoint fulfils `{"waitpoint": NAME}`. If early signals already
        fulfil the condition, the caller keeps the lease; otherwise the lease is released. Safe to
        repeat with the same `key`.
        """
        new = NewSuspension(
            execution_id=execution_id,
            lease=lease,
            waitpoints=waitpoints,
            condition=condition,
            timeout_ms=timeout_ms,
            on_timeout=on_timeout,
            reason=reason,
            key=new_id() if key is None else key,
        )
        return await self._suspend(new)

    @abstractmethod
    async def _suspend(self, new: NewSuspension) -> Suspension:
        """Suspend an execution."""

    @abstractmethod
    async def token_of(self, grant: Grant) -> Token:
        """Return the token of a waitpoint that the caller created."""

    @abstractmethod
    async def signal(self, item: NewSignal, token: str | None = None) -> Effect:
        """Send a signal, with a token, or without one as an operator.

        With a token, errors reveal nothing about a waitpoint unless the token is valid. A personal
        waitpoint accepts only the tokens of its people, and takes the source from the token. An
        answer to an execution that asks for more of a budget raises its limit before this returns.
        """

    @abstractmethod
    async def read(self, waitpoint: str, token: str) -> Waitpoint:
        """Return a waitpoint to the holder of its token: its question and its deadline."""

    @abstractmethod
    async def signal_many(
        self, items: Sequence[tuple[NewSignal, str | None]]
    ) -> list[Effect | HoldfastError]:
        """Send up to 1,000 signals, each with its token or None; return the answers in order."""

    @abstractmethod
    async def resume(
        self, execution_id: str, payload: bytes = b"null", *, identity: str = ""
    ) -> State:
        """Resume a suspended execution without the answer that it waits for."""

    @abstractmethod
    async def revoke(self, waitpoint: str) -> str:
        """Close a waitpoint; return why it is closed. Its token becomes invalid."""

    @abstractmethod
    async def token(self, waitpoint: str, *, reader: str, person: str = "") -> Token:
        """Return the token of a waitpoint, newly signed. The history records who read it.

        A personal waitpoint has one for each `person`; raises SignalNotAllowed for other people.
        """

    @abstractmethod
    async def of(self, execution_id: str) -> list[Waitpoint]:
        """Return the waitpoints of an execution in the order of creation, without tokens."""

    @abstractmethod
    async def signals(self, execution_id: str) -> list[Signal]:
        """Return the signals of an execution in the order of arrival, with their effects."""

    @abstractmethod
    async def inbox(
        self, tenant: str | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> Inbox:
        """Return the waitpoints that can be answered, oldest first."""
