"""Message queues: define, list, groups, pause, purge, move, redrive, counts."""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.messages import LetterFilter, Start
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.queues import QueueSettings
from holdfast.server.auth import scoping
from holdfast.server.auth.scoping import TenantQuery
from holdfast.server.http.call import Call
from holdfast.server.http.declare import CHANGING, Answer, Routes
from holdfast.server.views.bodies import BackoffBody
from holdfast.server.views.fields import (
    Body,
    Cursor,
    DurationMs,
    Id,
    Moment,
    Name,
    PageLimit,
    PositiveMs,
    Query,
    Reason,
    Tenants,
    View,
)
from holdfast.server.views.queues import (
    MessagePage,
    MessageView,
    PendingPage,
    PendingView,
    QueuePage,
    QueueView,
    StatsView,
)

routes: Routes = Routes(
    "queues", "Message queues: definitions, groups, operations, counts.", names_tenant=TenantQuery
)

MISSING = (errors.QueueNotFound, errors.GroupNotFound)
Count = Annotated[int, Meta(ge=1, le=bounds.PAGE_ITEMS)]
Size = Annotated[int, Meta(ge=1, le=bounds.QUEUE_SIZE)]
InFlight = Annotated[int, Meta(ge=1, le=bounds.IN_FLIGHT)]
BackoffSteps = Annotated[tuple[DurationMs, ...], Meta(max_length=bounds.BACKOFF_STEPS)]


class QueueBody(Body, omit_defaults=True):
    """The definition of a queue. Absent fields have their defaults, also in a change."""

    #: work: consumers share the messages. fanout: every group gets all messages.
    mode: Literal["work", "fanout"]
    #: The most deliveries of a message to a group, including the first.
    max_attempts: Annotated[int, Meta(ge=1, le=bounds.MAX_ATTEMPTS)] = 3
    lock_ms: Annotated[int, Meta(ge=bounds.LOCK_MIN_MS, le=bounds.LOCK_MAX_MS)] = 30_000
    #: Where messages go after `max_attempts` deliveries; without it they are dropped.
    dead_letter: Name | None = None
    #: The wait after every nack. Or use `backoff`: waits in ms, or how they grow.
    retry_delay_ms: DurationMs | None = None
    backoff: BackoffSteps | BackoffBody | None = None
    #: How long a message's id or dedup key is remembered.
    dedup_window_ms: DurationMs = 300_000
    ttl_ms: PositiveMs | None = None
    max_size: Size | None = None
    #: Deliver higher priorities first; each point equals `ageing_ms` of waiting.
    priority: bool = False
    ageing_ms: Annotated[int, Meta(ge=1, le=86_400_000)] = 3_600_000
    max_in_flight: InFlight | None = None
    max_in_flight_per_consumer: InFlight | None = None

    def settings(self, call: Call) -> QueueSettings:
        """Return the settings for the engine."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        if self.dead_letter is not None:
            fields["dead_letter"] = scoping.queue(call, self.dead_letter, "dead_letter")
        return QueueSettings.from_fields(fields)


@routes.put(
    "/v1/queues/{name}",
    role=Role.OPERATOR,
    status=(201, 200),
    errors=(
        errors.QueueConflict,
        errors.InvalidDeadLetter,
        errors.QueueNotFound,
        errors.StoreFull,
    ),
    example={"mode": "work", "max_attempts": 5, "dead_letter": "mail-dead"},
)
async def define(call: Call, name: str, body: QueueBody) -> Answer[QueueView]:
    """Define a queue, or change its definition.

    The dead-letter queue is created if it does not exist. The mode of a queue never changes.
    """
    stored = scoping.queue(call, name)
    created = await call.engine.queues.define(stored, body.settings(call))
    view = QueueView.of(await call.engine.queues.describe(stored))
    return Answer(view, 201 if created else 200)


class ListQuery(Query):
    """Whose queues to list."""

    tenant: Tenants | None = None
    limit: PageLimit = 50
    cursor: Cursor | None = None


@routes.get("/v1/queues")
async def list_queues(call: Call, query: ListQuery) -> QueuePage:
    """List queues by name. An operator key lists all tenants with `tenant=*`."""
    own, after = call.tenant, query.cursor
    if own is not None and after is not None:
        after = scoping.queue(call, after, "cursor")
    queues = await call.engine.queues.list(limit=query.limit, after=after, tenant=own)
    more = None
    if len(queues) == query.limit:
        more = queues[-1].name if own is None else scoping.seen(queues[-1].name, own)
    return QueuePage(items=[QueueView.of(queue) for queue in queues], next_cursor=more)


@routes.get("/v1/queues/{name}", errors=(errors.QueueNotFound,))
async def describe(call: Call, name: str) -> QueueView:
    """Read the definition of a queue."""
    return QueueView.of(await call.engine.queues.describe(scoping.queue(call, name)))


@routes.delete(
    "/v1/queues/{name}",
    role=Role.OPERATOR,
    status=204,
    errors=(errors.QueueNotFound, errors.QueueConflict),
    takes_key=True,
)
async def delete(call: Call, name: str) -> None:
    """Remove a queue and its messages. Messages in transit to other queues are delivered first."""
    await call.engine.queues.delete(scoping.queue(call, name))


class StartBody(Body):
    """After a message, or at a time."""

    after: Id | UnsetType = UNSET
    at: Moment | UnsetType = UNSET


class GroupBody(Body):
    """Where a new group starts."""

    start: Literal["first", "end"] | StartBody = "first"

    def place(self) -> Start:
        """Return the place."""
        if isinstance(self.start, str):
            return Start.from_value(self.start)
        given = {"after": self.start.after, "at": self.start.at}
        return Start.from_value({k: value for k, value in given.items() if value is not UNSET})


class GroupView(View):
    """A group of a queue."""

    queue: str
    group: str


@routes.put(
    "/v1/queues/{name}/groups/{group}",
    role=(Role.OPERATOR, Role.WORKER),
    status=(201, 200),
    errors=(
        errors.QueueNotFound,
        errors.QueueConflict,
        errors.TooManyGroups,
        errors.MessageNotFound,
        errors.StoreFull,
    ),
    example={"start": "first"},
)
async def add_group(
    call: Call,
    name: str,
    group: str,
    body: GroupBody,
) -> Answer[GroupView]:
    """Add a group to a FANOUT queue. An existing group keeps its position."""
    created = await call.engine.queues.add_group(scoping.queue(call, name), group, body.place())
    return Answer(GroupView(queue=name, group=group), 201 if created else 200)


@routes.delete(
    "/v1/queues/{name}/groups/{group}",
    role=Role.OPERATOR,
    status=204,
    errors=(*MISSING, errors.QueueConflict),
    takes_key=True,
)
async def remove_group(call: Call, name: str, group: str) -> None:
    """Remove a group. Messages that only it had not settled are collected."""
    await call.engine.queues.remove_group(scoping.queue(call, name), group)


class PauseBody(Body):
    """The group; all groups if absent."""

    group: Name | None = None


@routes.post(
    "/v1/queues/{name}/pause", role=Role.OPERATOR, errors=MISSING, example={"group": "default"}
)
async def pause(call: Call, name: str, body: PauseBody) -> QueueView:
    """Stop deliveries, to one group or to all, until the queue is resumed."""
    stored = scoping.queue(call, name)
    await call.engine.queues.pause(stored, body.group)
    return QueueView.of(await call.engine.queues.describe(stored))


@routes.post(
    "/v1/queues/{name}/resume", role=Role.OPERATOR, errors=MISSING, example={"group": "default"}
)
async def resume(call: Call, name: str, body: PauseBody) -> QueueView:
    """Resume deliveries."""
    stored = scoping.queue(call, name)
    await call.engine.queues.resume(stored, body.group)
    return QueueView.of(await call.engine.queues.describe(stored))


class PurgedView(View):
    """The number of messages removed."""

    purged: int


@routes.post(
    "/v1/queues/{name}/purge", role=Role.OPERATOR, errors=(errors.QueueNotFound,), takes_key=True
)
async def purge(call: Call, name: str) -> PurgedView:
    """Remove all messages, including those in flight. The definition and groups stay."""
    return PurgedView(purged=await call.engine.queues.purge(scoping.queue(call, name)))


class MoveBody(Body):
    """The target queue and the number of messages."""

    to: Name
    limit: Size
    dry_run: bool = False


class MovedView(View):
    """The number of messages that were moved, or would be."""

    moved: int


@routes.post(
    "/v1/queues/{name}/move",
    role=Role.OPERATOR,
    errors=(errors.QueueNotFound, errors.QueueConflict),
    example={"to": "mail-later", "limit": 100, "dry_run": True},
    takes_key=True,
)
async def move(call: Call, name: str, body: MoveBody) -> MovedView:
    """Move ready messages to another queue, where their attempts start again at zero."""
    target = scoping.queue(call, body.to, "to")
    moved = await call.engine.queues.move(
        scoping.queue(call, name), target, body.limit, dry_run=body.dry_run
    )
    return MovedView(moved=moved)


class FilterBody(Body):
    """Which dead letters to send: all, or those with these properties."""

    origin: Name | None = None
    group: Name | None = None
    #: A text that the reason contains.
    reason: Reason | None = None


class RedriveBody(Body):
    """The target, the filter, the number of messages and the rate."""

    #: The queue that each message came from, if absent.
    to: Name | None = None
    filter: FilterBody | None = None
    limit: Size | None = None
    rate_per_s: Annotated[float, Meta(ge=0.001, le=1_000_000)] | None = None
    dry_run: bool = False


class RedrivenView(View):
    """The number of messages that were sent back, or would be."""

    redriven: int


@routes.post(
    "/v1/queues/{name}/redrive",
    role=Role.OPERATOR,
    errors=(
        errors.QueueNotFound,
        errors.QueueConflict,
        errors.RateLimited,
        errors.OutcomeUnknown,
    ),
    example={"filter": {"reason": "smtp"}, "limit": 100},
    takes_key=True,
)
async def redrive(call: Call, name: str, body: RedriveBody) -> RedrivenView:
    """Send dead letters back to the queues they came from, or to another queue.

    With `rate_per_s` the call returns when all are sent. It stops early if the caller disconnects.
    """
    given = body.filter or FilterBody()
    origin = None if given.origin is None else scoping.queue(call, given.origin, "filter.origin")
    send_back = functools.partial(
        call.engine.queues.redrive,
        scoping.queue(call, name),
        to=None if body.to is None else scoping.queue(call, body.to, "to"),
        wanted=LetterFilter(origin=origin, group=given.group, reason=given.reason),
        limit=body.limit,
        rate_per_s=body.rate_per_s,
        dry_run=body.dry_run,
    )
    if body.rate_per_s is None:
        return RedrivenView(redriven=await send_back())
    with call.waiting():
        redriven = await call.unless_gone(send_back())
    if redriven is None:
        raise errors.OutcomeUnknown(
            "the server is stopping and has sent only some messages: repeat the call for the rest"
        )
    return RedrivenView(redriven=redriven)


class GroupQuery(TenantQuery):
    """The group. A WORK queue has only one, which you can omit."""

    group: Name | None = None


class PendingQuery(GroupQuery):
    """Which deliveries to list."""

    limit: PageLimit = 50
    cursor: Annotated[int, Meta(ge=0, le=bounds.QUEUE_SIZE)] = 0


@routes.get("/v1/queues/{name}/pending", errors=MISSING)
async def pending(call: Call, name: str, query: PendingQuery) -> PendingPage:
    """List the deliveries in flight, soonest to expire first."""
    deliveries = await call.engine.queues.pending(
        scoping.queue(call, name), group=query.group, limit=query.limit, offset=query.cursor
    )
    more = str(query.cursor + query.limit) if len(deliveries) == query.limit else None
    return PendingPage(
        items=[PendingView.of(delivery) for delivery in deliveries], next_cursor=more
    )


class PeekQuery(GroupQuery):
    """How many messages to read."""

    count: Count = 1


@routes.get("/v1/queues/{name}/peek", errors=(*MISSING, *CHANGING), query_example={"count": "10"})
async def peek(call: Call, name: str, query: PeekQuery) -> MessagePage:
    """Read the next messages without delivering them."""
    messages = await call.engine.queues.peek(
        scoping.queue(call, name), group=query.group, count=query.count
    )
    tenant = call.tenant or DEFAULT_TENANT
    return MessagePage(items=[MessageView.of(message, tenant) for message in messages])


class StatsQuery(GroupQuery):
    """The group, or all groups. `detail` adds the mode and the messages owed to other queues."""

    detail: bool = False


@routes.get("/v1/queues/{name}/stats", errors=(*MISSING, *CHANGING))
async def stats(call: Call, name: str, query: StatsQuery) -> StatsView:
    """Count the messages of a queue exactly."""
    counts = await call.engine.queues.stats(scoping.queue(call, name), query.group)
    return StatsView.of(counts, detail=query.detail)
