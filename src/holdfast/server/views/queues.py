"""Message queues as replies show them."""

from __future__ import annotations

from dataclasses import asdict

from msgspec import UNSET, UnsetType

from holdfast.errors import HoldfastError
from holdfast.model import names
from holdfast.model.deliveries import Delivery, PendingDelivery
from holdfast.model.messages import DeadLetter, Message, Pushed
from holdfast.model.payloads import as_base64, as_json
from holdfast.model.queues import DEFAULT_GROUP, GroupStats, Queue, QueueStats
from holdfast.server.auth import scoping
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import View
from holdfast.server.views.seen import Payload, PayloadBase64, Words
from holdfast.server.views.times import rfc3339


class DeadLetterView(ModelView, model=DeadLetter):
    """The envelope of a dead letter."""

    origin: str
    reason: Words

    @classmethod
    def seen(cls, value: DeadLetter, tenant: str) -> DeadLetterView:
        """Show an envelope to a tenant."""
        return cls.copy(value, origin=scoping.seen(value.origin, tenant))


class QueueView(View):
    """The definition of a queue."""

    name: str
    tenant: str
    mode: str
    max_attempts: int
    lock_ms: int
    dead_letter: str | None
    #: The waits after the first, second, ... nack; the last one repeats.
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
    #: Whether the whole queue is paused, or which groups are.
    paused: bool
    paused_groups: tuple[str, ...]
    #: Whether other queues send their dead letters here.
    takes_dead_letters: bool
    #: Recently dropped messages, newest first.
    dropped: list[DeadLetterView]

    @classmethod
    def of(cls, queue: Queue) -> QueueView:
        """Show a queue."""
        tenant, name = names.parse(queue.name)
        settings = {f: getattr(queue.settings, f) for f in _SETTINGS}
        target = settings.pop("dead_letter")
        return cls(
            name=name,
            tenant=tenant,
            dead_letter=None if target is None else scoping.seen(target, tenant),
            created_at=rfc3339(queue.created_at),
            groups=queue.groups,
            paused=queue.paused,
            paused_groups=queue.paused_groups,
            takes_dead_letters=queue.takes_dead_letters,
            dropped=[DeadLetterView.seen(letter, tenant) for letter in queue.dropped],
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
    """A message. A payload that is not JSON is in `payload_base64`."""

    id: str
    payload: Payload
    key: str | None
    #: The number of deliveries to the group so far; in a delivery, its own number, from 1.
    attempt: int
    enqueued_at: str
    payload_base64: PayloadBase64 = UNSET
    dead_letter: DeadLetterView | UnsetType = UNSET

    @classmethod
    def of(cls, message: Message, tenant: str) -> MessageView:
        """Show a message."""
        value = as_json(message.payload)
        letter = message.dead_letter
        return cls(
            id=message.id,
            payload=value,
            key=message.key,
            attempt=message.attempt,
            enqueued_at=rfc3339(message.enqueued_at),
            payload_base64=UNSET if value is not None else as_base64(message.payload),
            dead_letter=UNSET if letter is None else DeadLetterView.seen(letter, tenant),
        )


class MessagePage(View):
    """Messages that were read without a delivery."""

    items: list[MessageView]
    next_cursor: str | None = None


class DeliveryView(View):
    """A delivery. The handle authorizes settling it."""

    handle: str
    message: MessageView
    deadline: str

    @classmethod
    def of(cls, delivery: Delivery, tenant: str) -> DeliveryView:
        """Show a delivery."""
        message = MessageView.of(delivery.message, tenant)
        return cls(handle=delivery.handle, message=message, deadline=rfc3339(delivery.deadline))


class DeliveriesView(View):
    """The messages that were read."""

    deliveries: list[DeliveryView]


class ClaimedView(View):
    """The deliveries that were taken over, and where to continue."""

    deliveries: list[DeliveryView]
    next_cursor: str | None


class PendingView(ModelView, model=PendingDelivery):
    """A delivery in flight."""


class PendingPage(View):
    """Deliveries in flight, soonest to expire first."""

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
    #: Whether an earlier call already did the same.
    repeated: bool = False
    #: After an extension: the new deadline.
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
    """Exact counts of a group: `pushed` is the sum of the others."""


class StatsView(View, omit_defaults=True):
    """Exact counts: of the group of a WORK queue, or of a FANOUT queue and its `groups`."""

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
    #: With `detail`: the mode, the stored messages, and those in transit to other queues.
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
