"""Writer leases: tokens, records and grants."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import NamedTuple, NewType

import msgspec

from holdfast.errors import Fenced, HoldfastError, StaleLease
from holdfast.model import bounds, checks

BASE_TERM = 1


#: Integers above this are not exact in every reader of JSON.
LARGEST = 2**53


#: How many earlier holders a record remembers.
HOLDERS_KEPT = 8


class Token(NamedTuple):
    """The fencing token. It strictly increases over the life of a key."""

    term: int
    generation: int

    def __str__(self) -> str:
        return f"{self.term}.{self.generation}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PastHolder:
    """An earlier holder and how its time ended."""

    holder_id: str
    incarnation: str
    term: int
    generation: int
    acquired_at_ms: int
    #: released, handed_over, preempted, reacquired or expired.
    ended: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRecord:
    """The record of who may write. It is never deleted, so that the token never starts again."""

    database_key: str
    #: The stable name of the holder.
    holder_id: str
    #: Random, new at every start of the holder; empty in legacy records.
    incarnation: str
    term: int
    generation: int
    #: Unique for each write of the record, so that a writer recognises its own write.
    nonce: str
    acquired_at_ms: int
    #: The wall clock of the holder, a hint for people; no decision depends on it.
    expires_at_ms: int
    ttl_ms: int
    margin_ms: int
    #: Released cleanly: the next contender does not have to wait.
    released: bool = False
    #: Released in favour of this holder, which does not have to wait; others do.
    successor: str | None = None
    #: The most recent one is last.
    holders: tuple[PastHolder, ...] = ()

    @property
    def token(self) -> Token:
        """The fencing token."""
        return Token(self.term, self.generation)

    @property
    def patience_ms(self) -> int:
        """How long a contender must have seen this version unchanged before it takes over."""
        return self.ttl_ms + self.margin_ms

    def to_json(self) -> bytes:
        """Encode."""
        return msgspec.json.encode(asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The request of a contender."""

    holder: str
    incarnation: str
    ttl_ms: int
    margin_ms: int
    #: None uses the published term, 1 for a new key.
    term: int | None = None
    #: Take a live lease; this needs a strictly higher term.
    preempt: bool = False


Version = NewType("Version", str)


@dataclass(frozen=True, slots=True)
class Grant:
    """A lease that was granted to its holder."""

    record: LeaseRecord
    version: Version
    #: The holder may write until this time on its monotonic clock.
    deadline_ms: float

    @property
    def token(self) -> Token:
        """The fencing token."""
        return self.record.token


@dataclass(frozen=True, slots=True)
class Published:
    """A record as it was read."""

    record: LeaseRecord
    version: Version


_RESERVED = (".lease.json", ".manifest.json")


def check_key(value: object) -> str:
    """Check the key of a writer lease: names separated by slashes, such as `reports/main`."""
    key = checks.text("key", value, bounds.ID_CHARS, empty=False)
    for segment in key.split("/"):
        if set(segment) <= {"."} or segment.endswith(_RESERVED):
            checks.refuse("key", "must be names separated by /", value)
    return key


def is_own(record: LeaseRecord, holder: str, incarnation: str) -> bool:
    """Whether this process wrote the record; a legacy record has no known writer."""
    return (record.holder_id, record.incarnation) == (holder, incarnation) and incarnation != ""


def is_still(record: LeaseRecord, published: LeaseRecord) -> bool:
    """Whether the published record is the holder's own live lease: token, name, incarnation."""
    return (
        published.token == record.token
        and is_own(published, record.holder_id, record.incarnation)
        and not published.released
        and published.successor is None
    )


def loss(record: LeaseRecord, published: LeaseRecord | None) -> HoldfastError:
    """Return the error for a holder whose lease is no longer published."""
    key, mine = record.database_key, f"{record.holder_id} (token {record.token})"
    context = {"key": key, "holder": record.holder_id, "token": str(record.token)}
    if published is None:
        return StaleLease(
            f"writer lease {key} of {mine} no longer exists", **context, observed=None
        )
    context["observed"] = f"{published.holder_id} {published.token}"
    if published.term > record.term:
        message = f"{mine} is fenced: writer lease {key} is on term {published.term}"
        return Fenced(message, **context, current_term=published.term)
    message = f"writer lease {key} of {mine} is now {published.holder_id}'s ({published.token})"
    return StaleLease(message, **context)
