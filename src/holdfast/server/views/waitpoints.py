"""Waitpoints and signals as replies show them."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from holdfast.model.tokens import Token
from holdfast.model.waitpoints import InboxItem, Signal, Waitpoint
from holdfast.server.auth import shown
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import View
from holdfast.server.views.times import rfc3339


class SourceView(View):
    """Who sent a signal."""

    type: str
    identity: str


class SignalView(View):
    """A signal that came."""

    name: str
    payload: Any
    source: SourceView
    at: str
    effect: str
    #: null for those of an operator and of a timeout.
    waitpoint: str | None
    idempotency_key: str | None = None
    correlation: str | None = None

    @classmethod
    def of(cls, one: Signal) -> SignalView:
        """Show a signal; its payload stays as it was written."""
        return cls(
            name=one.name,
            payload=msgspec.Raw(one.payload.strip()),
            source=SourceView(type=one.source.type, identity=one.source.identity),
            at=rfc3339(one.at),
            effect=one.effect,
            waitpoint=shown.own_or_none(one.waitpoint),
            idempotency_key=one.idempotency_key,
            correlation=one.correlation,
        )


class SignalPage(View):
    """All signals of an execution, in the order of their arrival."""

    items: list[SignalView]
    next_cursor: str | None = None


class WaitpointView(
    ModelView,
    model=Waitpoint,
    hide=("token", "asks"),
    rename={"execution_id": "execution"},
    own=("id", "execution_id"),
):
    """A waitpoint, without its token."""

    #: pending, open, closed.
    state: str


class WaitpointPage(View):
    """The waitpoints of an execution, in the order they were made."""

    items: list[WaitpointView]
    next_cursor: str | None = None


class PreparedView(WaitpointView):
    """A waitpoint that the call has made or named, with its token."""

    token: str

    @classmethod
    def of(cls, one: Waitpoint) -> PreparedView:
        """Show a waitpoint and its token."""
        token = one.token.reveal() if isinstance(one.token, Token) else ""
        return cls.copy(one, token=token)


class PreparedPage(View):
    """The waitpoints that were made."""

    items: list[PreparedView]


class SuspensionView(View):
    """Whether it waits, or has what it wanted and goes on at once."""

    #: suspended, or active: then the lease is kept.
    state: str
    waitpoints: list[PreparedView]
    #: What fulfilled the condition, if it did at once.
    signals: list[SignalView] | UnsetType = UNSET


class InboxView(WaitpointView):
    """A waitpoint that can be answered, with what it is for."""

    tenant: str
    kind: str
    lane: str
    #: Its timeout has passed and it waits for an operator.
    escalated: bool

    @classmethod
    def of_item(cls, one: InboxItem) -> InboxView:
        """Show an item of the inbox."""
        return cls.copy(
            one.waitpoint,
            tenant=one.tenant,
            kind=one.kind,
            lane=one.lane,
            escalated=one.escalated,
        )


class InboxPage(View):
    """Waitpoints that can be answered, the oldest first."""

    items: list[InboxView]
    next_cursor: str | None
