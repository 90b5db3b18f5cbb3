"""Message queues as replies show them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from msgspec import UNSET, UnsetType

from holdfast.errors import HoldfastError
from holdfast.model import names
from holdfast.model.payloads import as_base64, as_json
from holdfast.model.queues import (
    DEFAULT_GROUP,
    DeadLetter,
    Delivery,
    GroupStats,
    Message,
    PendingDelivery,
    Pushed,
    Queue,
    QueueStats,
)
from holdfast.server.auth import scoping
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import View
from holdfast.server.views.times import rfc3339


class DeadLetterView(ModelView, model=DeadLetter):
    """The envelope of a message that was given up."""

    origin: str

    @classmethod
    def seen(cls, value: DeadLetter, tenant: str) -> DeadLetterView:
        """Show an envelope to a tenant."""
        return cls.copy(value, origin=scoping.seen(value.origin, tenant))


class QueueView(View):
    """A queue as it is defined."""

    name: str
    tenant: str
    mode: str
    max_attempts: int
    lock_ms: int
    dead_letter: str | None
    #: Waits after the first, second, ... nack; the last one is repeated.
    backoff: tuple[int, ...]
    dedup_window_ms: int
    ttl_ms: int | None
    max_size: int | None
    priority: bool
    ageing_ms: int
    max_in_flight: int | None
    max_in_flight_per_consumer: int | None
    created_at: str
    groups: tuple[str, ...]
    #: The whole queue is paused, or these groups are.
    paused: bool
    paused_groups: tuple[str, ...]
    #: Others send their dead letters here.
    takes_dead_letters: bool
    #: What was dropped lately, newest first.
    dropped: list[DeadLetterView]

    @classmethod
    def of(cls, one: Queue) -> QueueView:
        """Show a queue."""
        tenant, name = names.parse(one.name)
        settings = {f: getattr(one.settings, f) for f in _SETTINGS}
        target = settings.pop("dead_letter")
        return cls(
            name=name,
            tenant=tenant,
            dead_letter=None if target is None else scoping.seen(target, tenant),
            created_at=rfc3339(one.created_at),
            groups=one.groups,
            paused=one.paused,
            paused_groups=one.paused_groups,
            takes_dead_letters=one.takes_dead_letters,
            dropped=[DeadLetterView.seen(letter, tenant) for letter in one.dropped],
            **settings,
        )


_SETTINGS = (
    "mode",
    "max_attempts",
    "lock_ms",
    "dead_letter",
    "backoff",
    "dedup_window_ms",
    "ttl_ms",
    "max_size",
    "priority",
    "ageing_ms",
    "max_in_flight",
    "max_in_flight_per_consumer",
)


class QueuePage(View):
    """A page of queues, by name."""

    items: list[QueueView]
    next_cursor: str | None


class MessageView(View):
    """A message; a payload that is no JSON is in `payload_base64`."""

    id: str
    payload: Any
    key: str | None
    #: Hand-outs to the group so far; for a consumer, which one this is, from 1.
    attempt: int
    enqueued_at: str
    payload_base64: str | UnsetType = UNSET
    dead_letter: DeadLetterView | UnsetType = UNSET

    @classmethod
    def of(cls, one: Message, tenant: str) -> MessageView:
        """Show a message."""
        value = as_json(one.payload)
        letter = one.dead_letter
        return cls(
            id=one.id,
            payload=value,
            key=one.key,
            attempt=one.attempt,
            enqueued_at=rfc3339(one.enqueued_at),
            payload_base64=UNSET if value is not None else as_base64(one.payload),
            dead_letter=UNSET if letter is None else DeadLetterView.seen(letter, tenant),
        )


class MessagePage(View):
    """Messages that were not handed out."""

    items: list[MessageView]
    next_cursor: str | None = None


class DeliveryView(View):
    """A hand-out: the handle is the right to settle it."""

    handle: str
    message: MessageView
    deadline: str

    @classmethod
    def of(cls, one: Delivery, tenant: str) -> DeliveryView:
        """Show a delivery."""
        message = MessageView.of(one.message, tenant)
        return cls(handle=one.handle, message=message, deadline=rfc3339(one.deadline))


class DeliveriesView(View):
    """What a read got."""

    deliveries: list[DeliveryView]


class ClaimedView(View):
    """What was taken over, and where to go on."""

    deliveries: list[DeliveryView]
    next_cursor: str | None


class PendingView(ModelView, model=PendingDelivery):
    """A delivery under way."""


class PendingPage(View):
    """Deliveries under way, those that expire first first."""

    items: list[PendingView]
    next_cursor: str | None


class PushedItem(View, omit_defaults=True):
    """The answer for one message: `id` and `duplicate`, or `code` and `detail`."""

    ok: bool
    id: str | UnsetType = UNSET
    duplicate: bool | UnsetType = UNSET
    code: str | UnsetType = UNSET
    detail: str | UnsetType = UNSET

    @classmethod
    def of(cls, answer: Pushed | HoldfastError) -> PushedItem:
        """Show an answer."""
        if isinstance(answer, HoldfastError):
            return cls(ok=False, code=answer.code, detail=answer.message)
        return cls(ok=True, id=answer.id, duplicate=answer.duplicate)


class PushedView(View):
    """An answer for each message, in order."""

    items: list[PushedItem]


class SettledItem(View, omit_defaults=True):
    """The answer for one delivery."""

    ok: bool
    #: The same was done before, by an earlier call.
    repeated: bool = False
    #: Of an extension: until when it is kept now.
    deadline: str | UnsetType = UNSET
    code: str | UnsetType = UNSET
    detail: str | UnsetType = UNSET

    @classmethod
    def refused(cls, error: HoldfastError) -> SettledItem:
        """Show a refusal."""
        return cls(ok=False, code=error.code, detail=error.message)


class SettledView(View):
    """An answer for each delivery, in order."""

    items: list[SettledItem]


class GroupStatsView(ModelView, model=GroupStats):
    """Exact counts of a group: pushed is the sum of all others."""


class StatsView(View, omit_defaults=True):
    """Exact counts: of a WORK queue those of its group, of a FANOUT queue its own and `groups`."""

    pushed: int
    expired: int
    purged: int
    ready: int | UnsetType = UNSET
    delayed: int | UnsetType = UNSET
    in_flight: int | UnsetType = UNSET
    acked: int | UnsetType = UNSET
    dead: int | UnsetType = UNSET
    dropped: int | UnsetType = UNSET
    stored: int | UnsetType = UNSET
    collected: int | UnsetType = UNSET
    groups: dict[str, GroupStatsView] | UnsetType = UNSET
    #: With `detail`: the mode, what is stored, and what is on its way to other queues.
    mode: str | UnsetType = UNSET
    owed: int | UnsetType = UNSET

    @classmethod
    def of(cls, stats: QueueStats, *, detail: bool) -> StatsView:
        """Show counts."""
        groups = {name: asdict(group) for name, group in stats.groups.items()}
        if stats.mode == "work":
            view = cls(**groups[DEFAULT_GROUP])
        else:
            view = cls(
                pushed=stats.pushed,
                stored=stats.stored,
                collected=stats.collected,
                expired=stats.expired,
                purged=stats.purged,
                groups={name: GroupStatsView(**counts) for name, counts in groups.items()},
            )
        if detail:
            view.mode, view.owed = stats.mode, stats.owed
            view.stored, view.collected = stats.stored, stats.collected
        return view
