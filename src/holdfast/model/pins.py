"""Pins: a session without a wait stays on the revision that it was given.

A pin carries the generation of the split under which it was written. It holds while its revision
has taken new sessions ever since; a `Roster` says since when each revision has done so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from urllib.parse import quote

import msgspec

from holdfast.model import bounds, checks


class PinKey(msgspec.Struct, frozen=True):
    """The session that a pin is for."""

    env: str
    deployment: str
    tenant: str
    session: str

    def place(self) -> PinPlace | None:
        """Return where the pin is kept, or None if a part is too long to be kept.

        Every part is percent-encoded, so that different keys have different places.
        """
        scope, session = _scope(self.env, self.deployment, self.tenant), _encode(self.session)
        return None if scope is None or session is None else PinPlace(scope, session)


class PinPlace(msgspec.Struct, frozen=True):
    """Where a pin is kept: the scope whose pins are counted together, and the session in it."""

    scope: str
    session: str


@lru_cache(maxsize=4_096)
def _scope(*parts: str) -> str | None:
    encoded = [_encode(part) for part in parts]
    return None if None in encoded else ":".join(map(str, encoded))


def _encode(part: str) -> str | None:
    try:
        encoded = quote(part, safe="")
    except UnicodeEncodeError:
        return None
    return encoded if len(encoded) <= bounds.PIN_PART_BYTES else None


class Pin(msgspec.Struct, frozen=True):
    """The revision of a session, and the generation of the split that chose it."""

    revision: str
    generation: int


@dataclass(frozen=True)
class Roster:
    """The revisions that take new sessions, as one router knows them at a generation."""

    generation: int
    #: The generation since which each revision has taken new sessions without a break.
    since: Mapping[str, int]

    def __post_init__(self) -> None:
        checks.integer("generation", self.generation, 0, bounds.GENERATION)
        if len(self.since) > bounds.REVISIONS:
            checks.refuse("since", f"must have at most {bounds.REVISIONS} revisions", self.since)
        for revision, since in self.since.items():
            checks.name("revision", revision)
            checks.integer("since", since, 0, self.generation)

    def holds(self, pin: Pin) -> bool:
        """Whether the revision of a pin has taken new sessions ever since the pin was written.

        A pin of a later generation was written by a router that knows more than this roster. It
        holds if this roster has its revision at all.
        """
        since = self.since.get(pin.revision)
        return since is not None and (since <= pin.generation or self.is_behind(pin))

    def is_behind(self, pin: Pin) -> bool:
        """Whether the pin was written under a later split than this roster knows."""
        return pin.generation > self.generation

    @cached_property
    def text(self) -> str:
        """The roster as functions read it: REVISION=SINCE, separated by spaces."""
        return " ".join(f"{revision}={since}" for revision, since in self.since.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class PinRules:
    """How long pins last and how many there may be."""

    #: A pin lasts this long after its session was last seen.
    ttl_ms: int = 3_600_000
    #: The most live pins of a tenant in a deployment.
    cap: int = 16_384
    #: At the cap, a new pin replaces the one that expires first; otherwise it is not kept.
    evict: bool = False

    def __post_init__(self) -> None:
        checks.integer("ttl_ms", self.ttl_ms, 1, bounds.PIN_TTL_MS)
        checks.integer("cap", self.cap, 1, bounds.PINS)
        checks.flag("evict", self.evict)


class Finding(StrEnum):
    """What a call found; metrics count these."""

    #: A pin that holds.
    HIT = "hit"
    #: No pin, or an expired one.
    MISS = "miss"
    #: A pin that no longer holds or cannot be read; the call removed or replaced it.
    STALE = "stale"
    #: The pin is not kept: the cap is reached, or a part of the key is too long.
    REFUSED = "refused"
    #: The store did not answer in time.
    SKIPPED = "skipped"


class Inserted(msgspec.Struct, frozen=True):
    """The session is now pinned to the revision of the caller."""

    pin: Pin


class Existing(msgspec.Struct, frozen=True):
    """The session already had a pin that holds, which may name another revision."""

    pin: Pin


class Skipped(msgspec.Struct, frozen=True):
    """Nothing was written; the caller uses its own revision for this message."""

    pin: Pin


PinOutcome = Inserted | Existing | Skipped
