"""Waitpoints and signals as replies show them."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from holdfast.model.tokens import Token
from holdfast.model.waitpoints import InboxItem, Signal, Waitpoint
from holdfast.server.auth import shown
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import View
from holdfast.server.views.seen import Payload, Words
from holdfast.server.views.times import rfc3339


class SourceView(View):
    """Who sent a signal."""

    type: str
    identity: str


class SignalView(View):
    """A signal."""

    name: str
    payload: Payload
    source: SourceView
    at: str
    effect: str
    #: null for signals of an operator or a timeout.
    waitpoint: str | None
    idempotency_key: str | None = None
    correlation: str | None = None

    @classmethod
    def of(cls, signal: Signal) -> SignalView:
        """Show a signal; its payload stays as it was written."""
        return cls(
            name=signal.name,
            payload=msgspec.Raw(signal.payload.strip()),
            source=SourceView(type=signal.source.type, identity=signal.source.identity),
            at=rfc3339(signal.at),
            effect=signal.effect,
            waitpoint=shown.own_or_none(signal.waitpoint),
            idempotency_key=signal.idempotency_key,
            correlation=signal.correlation,
        )


class SignalPage(View):
    """All signals of an execution, in the order of arrival."""

    items: list[SignalView]
    next_cursor: str | None = None


class WaitpointView(
    ModelView,
    model=Waitpoint,
    hide=("token", "tokens", "on_open", "asks"),
    rename={"execution_id": "execution"},
    own=("id", "execution_id"),
):
    """A waitpoint, without its token."""

    #: pending, open, closed.
    state: str
    title: Words
    schema: Payload


class WaitpointPage(View):
    """The waitpoints of an execution, in the order of creation."""

    items: list[WaitpointView]
    next_cursor: str | None = None


class PreparedView(WaitpointView):
    """A waitpoint that the call created or named, with its token."""

    #: Empty if each person has a token.
    token: str
    #: The tokens by person, of a personal waitpoint.
    tokens: dict[str, str]

    @classmethod
    def of(cls, waitpoint: Waitpoint) -> PreparedView:
        """Show a waitpoint and its token."""
        token = waitpoint.token.reveal() if isinstance(waitpoint.token, Token) else ""
        tokens = {person: token.reveal() for person, token in waitpoint.tokens.items()}
        return cls.copy(waitpoint, token=token, tokens=tokens)


class PreparedPage(View):
    """The created waitpoints."""

    items: list[PreparedView]


class SuspensionView(View):
    """Whether the execution waits, or its condition already holds and it continues."""

    #: suspended, or active if the caller keeps the lease.
    state: str
    waitpoints: list[PreparedView]
    #: The signals that fulfilled the condition, if it holds at once.
    signals: list[SignalView] | UnsetType = UNSET


class InboxView(WaitpointView):
    """A waitpoint that can be answered, with its execution."""

    tenant: str
    kind: str
    lane: str
    #: Whether its timeout has passed and it waits for an operator.
    escalated: bool

    @classmethod
    def of_item(cls, item: InboxItem) -> InboxView:
        """Show an item of the inbox."""
        return cls.copy(
            item.waitpoint,
            tenant=item.tenant,
            kind=item.kind,
            lane=item.lane,
            escalated=item.escalated,
        )


class InboxPage(View):
    """Waitpoints that can be answered, oldest first."""

    items: list[InboxView]
    next_cursor: str | None
