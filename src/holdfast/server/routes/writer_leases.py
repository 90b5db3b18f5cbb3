"""Writer leases: one writer per key, with fencing tokens that only grow."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from holdfast import errors
from holdfast.errors import Conflict, HoldfastError, LeaseLost, NotFound
from holdfast.fencing import Ask, LeaseRecord, Token
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.ids import new_id
from holdfast.model.moments import from_ms
from holdfast.model.writer_leases import LARGEST, PastHolder, check_key
from holdfast.server.auth import scoping
from holdfast.server.auth.scoping import TenantQuery
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.views.fields import Body, Name, View
from holdfast.server.views.times import rfc3339

routes: Routes = Routes(
    "writer_leases", "Fenced leases: one writer per key.", names_tenant=TenantQuery
)

WRITERS = (Role.WORKER, Role.OPERATOR)
_TROUBLE = (errors.BackendFailed, errors.InvalidRecord)
LOST = (errors.StaleLease, errors.Fenced, errors.StoreFull, *_TROUBLE)
_TOKEN = {"term": 1, "generation": 7}
Number = Annotated[int, Meta(ge=1, le=LARGEST)]
TtlMs = Annotated[int, Meta(ge=1, le=bounds.LEASE_MAX_MS)]


class TokenBody(Body):
    """A fencing token."""

    term: Number
    generation: Number


class TokenView(View):
    """A fencing token. Later tokens are larger, by term and then by generation."""

    term: int
    generation: int


class PastHolderView(View):
    """An earlier holder, and how its lease ended."""

    holder: str
    incarnation: str
    token: TokenView
    acquired_at: str
    #: released, handed_over, preempted, reacquired or expired.
    ended: str

    @classmethod
    def of(cls, holder: PastHolder) -> PastHolderView:
        """Show an earlier holder."""
        return cls(
            holder=holder.holder_id,
            incarnation=holder.incarnation,
            token=TokenView(term=holder.term, generation=holder.generation),
            acquired_at=rfc3339(from_ms(holder.acquired_at_ms)),
            ended=holder.ended,
        )


class WriterLeaseView(View):
    """A published lease."""

    key: str
    holder: str
    incarnation: str
    token: TokenView
    acquired_at: str
    #: By the server's clock, for information only.
    expires_at: str
    ttl_ms: int
    #: A holder stops this much earlier, and a contender waits this much longer.
    margin_ms: int
    released: bool
    #: Reserved for this holder, who can take it at once.
    successor: str | None
    #: Earlier holders, oldest first.
    holders: list[PastHolderView]

    @classmethod
    def of(cls, record: LeaseRecord) -> WriterLeaseView:
        """Show a record."""
        return cls(
            key=scoping.seen_lease(record.database_key),
            holder=record.holder_id,
            incarnation=record.incarnation,
            token=TokenView(term=record.term, generation=record.generation),
            acquired_at=rfc3339(from_ms(record.acquired_at_ms)),
            expires_at=rfc3339(from_ms(record.expires_at_ms)),
            ttl_ms=record.ttl_ms,
            margin_ms=record.margin_ms,
            released=record.released,
            successor=record.successor,
            holders=[PastHolderView.of(past) for past in record.holders],
        )


def _stored(call: Call, key: str) -> str:
    return check_key(scoping.lease(call, check_key(key)))


@contextlib.contextmanager
def _as_seen(stored: str) -> Iterator[None]:
    """Rewrite errors: the key as its tenant knows it, and times as HTTP writes them."""
    try:
        yield
    except (Conflict, LeaseLost) as error:
        raise _seen(error, stored) from error


def _seen(error: HoldfastError, stored: str) -> HoldfastError:
    key = scoping.seen_lease(stored)
    context = {**error.context, "key": key}
    expires_ms = context.pop("expires_at_ms", None)
    if expires_ms is not None:
        context["expires_at"] = from_ms(expires_ms)
    return type(error)(error.message.replace(stored, key), **context)


class AcquireBody(Body):
    """Who asks for the lease, and for how long."""

    #: The stable name of the holder.
    holder: Name
    ttl_ms: TtlMs
    #: A contender waits this much longer, and a holder stops this much earlier. At most half
    #: of the ttl.
    margin_ms: Annotated[int, Meta(ge=0, le=bounds.LEASE_MAX_MS // 2)] = 0
    #: Identifies one start of the holder; generated if absent. With it a holder takes its own
    #: lease again.
    incarnation: Name | None = None
    #: The published term if absent; 1 for a new key.
    term: Number | None = None
    #: Take the lease from a live holder with a lower term.
    preempt: bool = False


@routes.post(
    "/v1/writer-leases/{key}/acquire",
    role=WRITERS,
    status=201,
    errors=(errors.Held, errors.LostRace, errors.Fenced, errors.StoreFull, *_TROUBLE),
    example={"holder": "reports-1", "ttl_ms": 30000},
)
async def acquire(
    call: Call,
    key: str,
    body: AcquireBody,
) -> WriterLeaseView:
    """Acquire a lease.

    If the holder stopped refreshing its lease, it is free once this server has seen it unchanged
    for its whole ttl. Ask again until then: `wait_ms` of the refusal says how long.
    """
    stored = _stored(call, key)
    ask = Ask(
        holder=body.holder,
        incarnation=body.incarnation or new_id(),
        ttl_ms=body.ttl_ms,
        margin_ms=body.margin_ms,
        term=body.term,
        # An absent term means the published one, which is not higher.
        preempt=body.preempt and body.term is not None,
    )
    with _as_seen(stored):
        grant = await call.engine.writer_leases.acquire(stored, ask)
    return WriterLeaseView.of(grant.record)


class HolderBody(Body):
    """The holder of the lease, as `acquire` returned it."""

    holder: Name
    incarnation: Name
    token: TokenBody

    def own_token(self) -> Token:
        """Return the token."""
        return Token(self.token.term, self.token.generation)

    def is_of(self, record: LeaseRecord) -> bool:
        """Whether a record belongs to this holder, with this token."""
        mine = (self.holder, self.incarnation, self.own_token())
        return (record.holder_id, record.incarnation, record.token) == mine


class RefreshBody(HolderBody):
    """The holder, and the new ttl from now; the previous ttl if absent."""

    ttl_ms: TtlMs | None = None


_HOLDER = {"holder": "reports-1", "incarnation": "i1", "token": _TOKEN}


@routes.post(
    "/v1/writer-leases/{key}/refresh",
    role=WRITERS,
    errors=LOST,
    example={**_HOLDER, "ttl_ms": 30000},
)
async def refresh(
    call: Call,
    key: str,
    body: RefreshBody,
) -> WriterLeaseView:
    """Extend a lease. A caller that has lost it is refused and must stop writing."""
    stored, leases = _stored(call, key), call.engine.writer_leases
    with _as_seen(stored):
        own = await leases.current(stored, body.holder, body.incarnation, body.own_token())
        grant = await leases.refresh(own, body.ttl_ms)
    return WriterLeaseView.of(grant.record)


@routes.post("/v1/writer-leases/{key}/release", role=WRITERS, errors=LOST, example=_HOLDER)
async def release(
    call: Call,
    key: str,
    body: RefreshBody,
) -> WriterLeaseView:
    """Release a lease, so that the next contender does not have to wait. Safe to repeat."""
    stored, leases = _stored(call, key), call.engine.writer_leases
    published = await leases.read(stored)
    if published is None or not (published.record.released and body.is_of(published.record)):
        with _as_seen(stored):
            own = await leases.current(stored, body.holder, body.incarnation, body.own_token())
            await leases.release(own)
    return await _published(call, stored)


class HandoverBody(HolderBody):
    """The holder and its successor."""

    to: Name
    ttl_ms: TtlMs | None = None


@routes.post(
    "/v1/writer-leases/{key}/handover",
    role=WRITERS,
    errors=LOST,
    example={**_HOLDER, "to": "reports-2"},
)
async def handover(
    call: Call,
    key: str,
    body: HandoverBody,
) -> WriterLeaseView:
    """Hand a lease over to a named successor, who can take it at once. Others must wait."""
    stored, leases = _stored(call, key), call.engine.writer_leases
    published = await leases.read(stored)
    if published is None or not (
        published.record.successor == body.to and body.is_of(published.record)
    ):
        with _as_seen(stored):
            own = await leases.current(stored, body.holder, body.incarnation, body.own_token())
            await leases.hand_over(own, body.to)
    return await _published(call, stored)


@routes.get("/v1/writer-leases/{key}", errors=(NotFound, *_TROUBLE))
async def describe(call: Call, key: str) -> WriterLeaseView:
    """Read a lease: its holder and its previous holders."""
    return await _published(call, _stored(call, key))


async def _published(call: Call, stored: str) -> WriterLeaseView:
    published = await call.engine.writer_leases.read(stored)
    if published is None:
        key = scoping.seen_lease(stored)
        raise NotFound(f"writer lease {key} was never held", key=key)
    return WriterLeaseView.of(published.record)


class RepairBody(Body):
    """A token at least as high as any ever granted."""

    token: TokenBody


@routes.post(
    "/v1/writer-leases/{key}/repair",
    role=Role.OPERATOR,
    errors=(errors.VersionConflict, errors.StoreFull, errors.BackendFailed),
    example={"token": _TOKEN},
)
async def repair(
    call: Call,
    key: str,
    body: RepairBody,
) -> WriterLeaseView:
    """Replace an unreadable record with a released one that has this token."""
    stored = _stored(call, key)
    with _as_seen(stored):
        floor = Token(body.token.term, body.token.generation)
        return WriterLeaseView.of(await call.engine.writer_leases.repair(stored, floor))
