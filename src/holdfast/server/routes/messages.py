"""Messages of queues: push, read, settle, extend, take over."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Raw, UnsetType

from holdfast import errors
from holdfast.errors import Forbidden, HoldfastError, InvalidInput
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.deliveries import Delivery, Settle, Verb
from holdfast.model.effects import Push, Submit
from holdfast.model.messages import NewMessage
from holdfast.model.names import DEFAULT_TENANT
from holdfast.server.auth import scoping
from holdfast.server.auth.attachments import check_limits_exist
from holdfast.server.auth.scoping import TenantQuery
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.routes.executions import BATCH_BYTES
from holdfast.server.routes.queues import MISSING
from holdfast.server.views.bodies import ExecutionBody
from holdfast.server.views.fields import (
    Base64,
    Body,
    DurationMs,
    Id,
    Key,
    Name,
    PositiveMs,
    Priority,
    Reason,
    WaitMs,
    payload,
)
from holdfast.server.views.queues import (
    ClaimedView,
    DeliveriesView,
    DeliveryView,
    PushedItem,
    PushedView,
    SettledItem,
    SettledView,
)
from holdfast.server.views.times import rfc3339

routes: Routes = Routes(
    "messages", "Messages of queues: push, read, settle.", names_tenant=TenantQuery
)

Handle = Annotated[str, Meta(min_length=1, max_length=bounds.ID_CHARS)]
Items = Meta(max_length=bounds.BATCH_ITEMS)
ReadCount = Annotated[int, Meta(ge=1, le=bounds.CLAIM_ITEMS)]
LockMs = Annotated[int, Meta(ge=bounds.LOCK_MIN_MS, le=bounds.LOCK_MAX_MS)]


class MessageBody(Body):
    """A message: any JSON, kept as it is written, or bytes in base64."""

    payload: Raw | UnsetType = UNSET
    payload_base64: Base64 | UnsetType = UNSET
    #: Generated if absent. A given id is also the deduplication key, unless `dedup` is given.
    id: Id | None = None
    priority: Priority = 0
    #: Messages with the same key are delivered one at a time.
    key: Key | None = None
    dedup: Key | None = None
    delay_ms: DurationMs = 0
    ttl_ms: PositiveMs | None = None
    side: Literal["left", "right"] = "right"

    def message(self) -> NewMessage:
        """Return the message for the engine."""
        if self.payload is UNSET and self.payload_base64 is UNSET:
            raise InvalidInput("payload: is required", field="payload")
        return NewMessage(
            payload=payload("payload", self.payload, self.payload_base64),
            id=self.id,
            priority=self.priority,
            key=self.key,
            dedup=self.dedup,
            delay_ms=self.delay_ms,
            ttl_ms=self.ttl_ms,
            side=self.side,
        )


class PushBody(Body):
    """Messages, each accepted or refused independently."""

    items: Annotated[list[MessageBody], Items]


@routes.post(
    "/v1/queues/{name}/messages",
    role=(Role.SUBMITTER, Role.WORKER),
    errors=(errors.QueueNotFound, errors.StoreFull),
    most_bytes=BATCH_BYTES,
    example={"items": [{"payload": {"to": "ann@example.org"}, "key": "ann"}]},
)
async def push(call: Call, name: str, body: PushBody) -> PushedView:
    """Push up to 1,000 messages, in order.

    A message with an `id` or a `dedup` key is stored once, no matter how often it is sent within
    the deduplication window of its queue.
    """
    items = [item.message() for item in body.items]
    answers = await call.engine.queues.push_many(scoping.queue(call, name), items)
    return PushedView(items=[PushedItem.of(answer) for answer in answers])


class ReadBody(Body):
    """The consumer, its group, and how long to wait for the first message."""

    consumer: Name
    group: Name | None = None
    count: ReadCount = 1
    wait_ms: WaitMs = 0
    side: Literal["left", "right"] = "left"


@routes.post(
    "/v1/queues/{name}/read",
    role=Role.WORKER,
    errors=(*MISSING, errors.RateLimited),
    example={"consumer": "mailer-1", "count": 10},
)
async def read(call: Call, name: str, body: ReadBody) -> DeliveriesView:
    """Read messages, waiting up to `wait_ms` for the first.

    Settle each message or extend its deadline before the deadline. If the caller disconnects and
    the server notices, it returns the messages to the queue.
    """
    stored = scoping.queue(call, name)
    read_now = functools.partial(
        call.engine.queues.read,
        stored,
        consumer=body.consumer,
        group=body.group,
        count=body.count,
        side=body.side,
        wait_ms=body.wait_ms,
    )
    if body.wait_ms:
        with call.waiting():
            deliveries = await call.unless_gone(read_now()) or []
    else:
        deliveries = await read_now()
    call.audited = bool(deliveries)
    return DeliveriesView(deliveries=_shown(call, deliveries))


def _shown(call: Call, deliveries: Sequence[Delivery]) -> list[DeliveryView]:
    tenant = call.tenant or DEFAULT_TENANT
    return [DeliveryView.of(delivery, tenant) for delivery in deliveries]


class SettleItem(Body):
    """A delivery; the verb decides which fields apply."""

    handle: Handle
    #: nack: the wait before the next delivery; by default the backoff of the queue.
    delay_ms: DurationMs | None = None
    #: extend: the new time from now; by default the lock time of the queue.
    extend_ms: LockMs | None = None
    #: nack, reject: the reason, kept with the message.
    reason: Reason = ""


class SettleBody(Body):
    """Deliveries, each settled or refused independently."""

    items: Annotated[list[SettleItem], Items]


_SETTLE: dict[str, Any] = {"role": Role.WORKER, "errors": (errors.QueueNotFound,)}


@routes.post("/v1/queues/{name}/ack", example={"items": [{"handle": "h"}]}, **_SETTLE)
async def ack(call: Call, name: str, body: SettleBody) -> SettledView:
    """Acknowledge messages: they are done."""
    return await _settle(call, name, "ack", body)


@routes.post(
    "/v1/queues/{name}/nack",
    example={"items": [{"handle": "h", "delay_ms": 5000, "reason": "smtp 421"}]},
    **_SETTLE,
)
async def nack(call: Call, name: str, body: SettleBody) -> SettledView:
    """Return failed messages: they are delivered again later, or become dead letters."""
    return await _settle(call, name, "nack", body)


@routes.post(
    "/v1/queues/{name}/reject",
    example={"items": [{"handle": "h", "reason": "no such address"}]},
    **_SETTLE,
)
async def reject(call: Call, name: str, body: SettleBody) -> SettledView:
    """Reject messages: they become dead letters now."""
    return await _settle(call, name, "reject", body)


@routes.post("/v1/queues/{name}/release", example={"items": [{"handle": "h"}]}, **_SETTLE)
async def release(call: Call, name: str, body: SettleBody) -> SettledView:
    """Return messages unprocessed. The delivery still counts as an attempt."""
    return await _settle(call, name, "release", body)


async def _settle(call: Call, name: str, verb: Verb, body: SettleBody) -> SettledView:
    items = [
        Settle(handle=item.handle, delay_ms=item.delay_ms, reason=item.reason)
        for item in body.items
    ]
    answers = await call.engine.queues.settle(scoping.queue(call, name), verb, items)
    return SettledView(
        items=[
            SettledItem.refused(answer)
            if isinstance(answer, HoldfastError)
            else SettledItem(ok=True, repeated=answer.repeated)
            for answer in answers
        ]
    )


@routes.post(
    "/v1/queues/{name}/extend",
    example={"items": [{"handle": "h", "extend_ms": 60000}]},
    **_SETTLE,
)
async def extend(call: Call, name: str, body: SettleBody) -> SettledView:
    """Extend the deadlines of deliveries, from now."""
    items = [(item.handle, item.extend_ms) for item in body.items]
    answers = await call.engine.queues.extend(scoping.queue(call, name), items)
    return SettledView(
        items=[
            SettledItem.refused(answer)
            if isinstance(answer, HoldfastError)
            else SettledItem(ok=True, deadline=rfc3339(answer))
            for answer in answers
        ]
    )


class EffectBody(Body):
    """A message to push to a queue, or an execution to submit."""

    queue: Name | None = None
    message: MessageBody | None = None
    execution: ExecutionBody | None = None


class CommitBody(Body):
    """A delivery that is done, and its effects."""

    handle: Handle
    effects: Annotated[list[EffectBody], Meta(min_length=1, max_length=bounds.EFFECTS)]


@routes.post(
    "/v1/queues/{name}/commit",
    role=Role.WORKER,
    errors=(
        errors.QueueNotFound,
        errors.StaleDelivery,
        errors.UnknownDelivery,
        errors.BudgetNotFound,
        errors.QuotaNotFound,
        errors.StoreFull,
    ),
    most_bytes=BATCH_BYTES,
    example={"handle": "h", "effects": [{"queue": "sent", "message": {"payload": 17}}]},
)
async def commit(call: Call, name: str, body: CommitBody) -> SettledItem:
    """Acknowledge a message and apply its effects: all or nothing, once per handle.

    Executions among the effects also need the role submitter.
    """
    effects = [_effect(call, effect) for effect in body.effects]
    submitted = [effect.execution for effect in effects if isinstance(effect, Submit)]
    await check_limits_exist(call, submitted)
    settled = await call.engine.queues.ack(scoping.queue(call, name), body.handle, *effects)
    return SettledItem(ok=True, repeated=settled.repeated)


def _effect(call: Call, body: EffectBody) -> Push | Submit:
    if body.execution is not None and body.queue is None and body.message is None:
        if not call.identity.may((Role.SUBMITTER,)):
            raise Forbidden("submitting needs an API key with the role submitter")
        own = call.tenant or DEFAULT_TENANT
        named = body.execution.tenant
        return Submit(body.execution.item(own if named is None else call.tenant_named(named)))
    if body.execution is None and body.queue is not None and body.message is not None:
        return Push(scoping.queue(call, body.queue), body.message.message())
    message = "effects: each has an execution, or a queue with a message"
    raise InvalidInput(message, field="effects")


class TakeOverBody(Body):
    """The deliveries to take over."""

    consumer: Name
    #: The idle time since the last delivery or extension.
    min_idle_ms: DurationMs
    group: Name | None = None
    count: ReadCount = 1
    cursor: Annotated[str, Meta(max_length=2 * bounds.ID_CHARS)] | None = None


@routes.post(
    "/v1/queues/{name}/claim",
    role=Role.WORKER,
    errors=MISSING,
    example={"consumer": "mailer-2", "min_idle_ms": 60000, "count": 10},
)
async def claim(call: Call, name: str, body: TakeOverBody) -> ClaimedView:
    """Take over idle deliveries of a group; each counts as a delivery."""
    claimed = await call.engine.queues.claim(
        scoping.queue(call, name),
        consumer=body.consumer,
        min_idle_ms=body.min_idle_ms,
        group=body.group,
        count=body.count,
        cursor=body.cursor,
    )
    call.audited = bool(claimed.deliveries)
    return ClaimedView(deliveries=_shown(call, claimed.deliveries), next_cursor=claimed.next_cursor)
