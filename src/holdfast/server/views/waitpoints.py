"""Waitpoints and signals as replies show them."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from holdfast.model.tokens import Token
from holdfast.model.waitpoints import InboxItem, Signal, Waitpoint
from holdfast.server.auth import shown
from holdfast.server.views.fields import View
from holdfast.server.views.times import optional, rfc3339


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


class WaitpointView(View):
    """A waitpoint, without its token."""

    id: str
    execution: str
    name: str
    #: pending, open, closed.
    state: str
    created_at: str
    expires_at: str | None
    #: Until when it can be answered: when it closes, or the wait that it is part of ends.
    until: str | None
    closed_at: str | None
    #: Why it is closed: resumed, expired, revoked, ended.
    why: str | None
    signals: tuple[str, ...]
    answerers: tuple[str, ...]
    title: str
    uses: int | None
    used: int
    #: How many different sources must answer, if that is what counts, and those that did.
    wanted: int | None
    came: tuple[str, ...]
    schema: Any
    #: The key that signs its token now, and what identifies the token.
    kid: str | None
    fingerprint: str | None

    @classmethod
    def of(cls, one: Waitpoint) -> WaitpointView:
        """Show a waitpoint."""
        return cls(**_fields(one))


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
        return cls(token=token, **_fields(one))


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
        return cls(
            tenant=one.tenant,
            kind=one.kind,
            lane=one.lane,
            escalated=one.escalated,
            **_fields(one.waitpoint),
        )


class InboxPage(View):
    """Waitpoints that can be answered, the oldest first."""

    items: list[InboxView]
    next_cursor: str | None


def _fields(one: Waitpoint) -> dict[str, Any]:
    return {
        "id": shown.own(one.id),
        "execution": shown.own(one.execution_id),
        "name": one.name,
        "state": one.state,
        "created_at": rfc3339(one.created_at),
        "expires_at": optional(one.expires_at),
        "until": optional(one.until),
        "closed_at": optional(one.closed_at),
        "why": one.why,
        "signals": one.signals,
        "answerers": one.answerers,
        "title": one.title,
        "uses": one.uses,
        "used": one.used,
        "wanted": one.wanted,
        "came": one.came,
        "schema": one.schema,
        "kid": one.kid,
        "fingerprint": one.fingerprint,
    }
