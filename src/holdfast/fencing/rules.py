"""The rules of writer leases, without I/O: from a record and clock readings to the next record.

Time decides only when a contender may try. Safety comes from the condition of the write and from
the token in the manifest.
"""

from __future__ import annotations

from dataclasses import replace

from holdfast.errors import Fenced, Held, InvalidRecord, LostRace
from holdfast.model.writer_leases import (
    BASE_TERM,
    HOLDERS_KEPT,
    LARGEST,
    Ask,
    LeaseRecord,
    PastHolder,
    Token,
    is_own,
)


def take(
    key: str,
    current: LeaseRecord | None,
    floor: Token | None,
    ask: Ask,
    *,
    seen_ms: float,
    nonce: str,
    wall_ms: int,
) -> LeaseRecord:
    """Return the record with which a contender takes the lease.

    Args:
        key: the key of the lease.
        current: the published record.
        floor: the token in the manifest of the key, which outlives a lost or restored lease.
        ask: what the contender asks for.
        seen_ms: how long it has seen exactly this version, on its own monotonic clock.
        nonce: the nonce of the new record.
        wall_ms: the contender's wall clock.

    Raises:
        Fenced: the contender's term is too low, in any case.
        Held: another holder has the lease, and the contender has not waited long enough.
    """
    published = max(current.term if current else 0, floor.term if floor else 0)
    term = (published or BASE_TERM) if ask.term is None else ask.term
    if term < published:
        message = f"{ask.holder} is on term {term}, but writer lease {key} is on {published}"
        raise Fenced(message, key=key, holder=ask.holder, term=term, current_term=published)
    if current is not None:
        check_free(current, ask, seen_ms)
    generation = max(current.generation if current else 0, floor.generation if floor else 0) + 1
    if generation > LARGEST:
        message = f"writer lease {key} has used up its generations"
        raise InvalidRecord(message, key=key, generation=generation)
    return LeaseRecord(
        database_key=key,
        holder_id=ask.holder,
        incarnation=ask.incarnation,
        term=term,
        generation=generation,
        nonce=nonce,
        acquired_at_ms=wall_ms,
        expires_at_ms=wall_ms + ask.ttl_ms,
        ttl_ms=ask.ttl_ms,
        margin_ms=ask.margin_ms,
        holders=_holders(current, ask) if current else (),
    )


def is_free(current: LeaseRecord, ask: Ask, seen_ms: float) -> bool:
    """Whether this contender may take the lease now, if its term allows."""
    if current.released or seen_ms >= current.ttl_ms + max(current.margin_ms, ask.margin_ms):
        return True
    if ask.preempt and ask.term is not None and ask.term > current.term:
        return True
    if current.successor is not None:
        return ask.holder == current.successor
    return is_own(current, ask.holder, ask.incarnation)


def wait_left_ms(current: LeaseRecord, margin_ms: int, seen_ms: float) -> float:
    """Return how much longer a contender must see this version before it may take it."""
    return max(0.0, current.ttl_ms + max(current.margin_ms, margin_ms) - seen_ms)


def check_free(current: LeaseRecord, ask: Ask, seen_ms: float) -> None:
    """Raise Held unless this contender may take the lease now."""
    if is_free(current, ask, seen_ms):
        return
    left = round(wait_left_ms(current, ask.margin_ms, seen_ms))
    kept_for = f", reserved for {current.successor}" if current.successor else ""
    raise Held(
        f"writer lease {current.database_key} is held by {current.holder_id} "
        f"(token {current.token}{kept_for}); unless it refreshes, the lease is free in {left} ms",
        key=current.database_key,
        holder=current.holder_id,
        token=str(current.token),
        successor=current.successor,
        expires_at_ms=current.expires_at_ms,
        wait_ms=left,
    )


def _holders(current: LeaseRecord, ask: Ask) -> tuple[PastHolder, ...]:
    """Return the ring of earlier holders, the one just replaced at its end."""
    if current.released:
        ended = "released"
    elif current.successor is not None and current.successor == ask.holder:
        ended = "handed_over"
    elif is_own(current, ask.holder, ask.incarnation):
        ended = "reacquired"
    elif ask.preempt and ask.term is not None and ask.term > current.term:
        ended = "preempted"
    else:
        ended = "expired"
    past = PastHolder(
        holder_id=current.holder_id,
        incarnation=current.incarnation,
        term=current.term,
        generation=current.generation,
        acquired_at_ms=current.acquired_at_ms,
        ended=ended,
    )
    return (*current.holders, past)[-HOLDERS_KEPT:]


def refreshed(record: LeaseRecord, ttl_ms: int, *, nonce: str, wall_ms: int) -> LeaseRecord:
    """Return the record that extends a lease."""
    return replace(record, nonce=nonce, ttl_ms=ttl_ms, expires_at_ms=wall_ms + ttl_ms)


def released(record: LeaseRecord, *, nonce: str, wall_ms: int) -> LeaseRecord:
    """Return the record that releases a lease; token and term stay."""
    return replace(record, nonce=nonce, released=True, expires_at_ms=wall_ms)


def handed_over(record: LeaseRecord, to: str, *, nonce: str, wall_ms: int) -> LeaseRecord:
    """Return the record that releases a lease in favour of a successor."""
    return replace(record, nonce=nonce, successor=to, expires_at_ms=wall_ms + record.ttl_ms)


def lost_race(ask: Ask, key: str, published: LeaseRecord | None) -> LostRace:
    """Return the error for a contender that was too late."""
    winner = f"{published.holder_id} ({published.token})" if published else "no one"
    message = f"{ask.holder} tried to take writer lease {key}, but {winner} has it"
    return LostRace(message, key=key, holder=ask.holder, observed=winner)
