"""The routing table of a deployment: its revisions, their weights and lifecycles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b

from holdfast.model import bounds, checks
from holdfast.model.pins import Roster

#: The weights of a split add up to this: 100 % in basis points.
WHOLE_BPS = 10_000
#: The lifecycle of a revision that takes new sessions.
READY = "ready"
LIFECYCLES = frozenset(
    {"staged", "warming", READY, "draining", "inactive", "archived", "failed"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A revision of a deployment, as one split sees it."""

    revision: str
    weight_bps: int
    lifecycle: str
    #: The generation since which it has taken new sessions without a break.
    since: int = 0

    def __post_init__(self) -> None:
        checks.name("revision", self.revision)
        checks.integer("weight_bps", self.weight_bps, 0, WHOLE_BPS)
        checks.integer("since", self.since, 0, bounds.GENERATION)
        checks.one_of("lifecycle", self.lifecycle, LIFECYCLES)

    @property
    def takes_new(self) -> bool:
        """Whether sessions without a wait may go to it. A draining revision only ends its waits."""
        return self.weight_bps > 0 and self.lifecycle == READY


@dataclass(frozen=True)
class RoutingTable:
    """All that routing must know about a deployment; a change makes another table."""

    env: str
    deployment: str
    tenant: str
    #: The generation of the split; 0 before the first.
    generation: int
    candidates: tuple[Candidate, ...]

    def __post_init__(self) -> None:
        for part in ("env", "deployment", "tenant"):
            checks.name(part, getattr(self, part))
        checks.integer("generation", self.generation, 0, bounds.GENERATION)
        if len(self.candidates) > bounds.REVISIONS:
            problem = f"must be at most {bounds.REVISIONS}"
            checks.refuse("candidates", problem, len(self.candidates))
        revisions = [candidate.revision for candidate in self.candidates]
        if len(set(revisions)) < len(revisions):
            checks.refuse("candidates", "must name each revision once", revisions)
        total = sum(candidate.weight_bps for candidate in self.candidates)
        if total != (WHOLE_BPS if self.generation else 0):
            problem = f"must add up to {WHOLE_BPS}, or to 0 before the first split"
            checks.refuse("weights", problem, total)
        if any(candidate.since > self.generation for candidate in self.candidates):
            checks.refuse("since", f"must be at most {self.generation}", self.candidates)

    @cached_property
    def open(self) -> tuple[Candidate, ...]:
        """The revisions that take new sessions."""
        return tuple(candidate for candidate in self.candidates if candidate.takes_new)

    @cached_property
    def roster(self) -> Roster:
        """The revisions that take new sessions, in the form in which pins are judged."""
        since = {candidate.revision: candidate.since for candidate in self.open}
        return Roster(self.generation, since)

    def choose(self, session: str, seed: bytes = b"") -> str | None:
        """Choose a revision for a session by weight, or None if no revision takes new sessions.

        The choice depends only on the seed, the deployment, the session and the weights. So all
        routers choose alike, and a change of weights moves no more sessions than it must.
        """
        if len(self.open) <= 1:
            return self.open[0].revision if self.open else None
        # Each revision arrives after a random time whose mean is 1 / weight; the first one wins,
        # with a probability in proportion to its weight.
        data = seed + session.encode("utf-8", "surrogatepass")
        winner, first = None, math.inf
        for revision, weight, lot in self._lots:
            draw = lot.copy()
            draw.update(data)
            number = int.from_bytes(draw.digest(), "big") >> 11
            arrival = -math.log((number + 0.5) / _DRAWS) / weight
            if arrival < first:
                winner, first = revision, arrival
        return winner

    @cached_property
    def _lots(self) -> tuple[tuple[str, int, blake2b], ...]:
        """A hash for each revision that takes new sessions, to be finished by a session."""
        return tuple(
            (candidate.revision, candidate.weight_bps, self._lot(candidate.revision))
            for candidate in self.open
        )

    def _lot(self, revision: str) -> blake2b:
        parts = (self.env, self.deployment, self.tenant, revision, "")
        return blake2b("\0".join(parts).encode(), digest_size=8)

    def followed_by(
        self, weights: Mapping[str, int], lifecycles: Mapping[str, str]
    ) -> RoutingTable:
        """Return the table under the next split.

        A revision that takes new sessions before and after keeps its `since`; one that comes, or
        comes back, begins at the new generation.
        """
        generation = self.generation + 1
        since = self.roster.since
        candidates = (
            Candidate(
                revision=revision,
                weight_bps=weights.get(revision, 0),
                lifecycle=lifecycle,
                since=since.get(revision, generation),
            )
            for revision, lifecycle in lifecycles.items()
        )
        return replace(self, generation=generation, candidates=tuple(candidates))


#: Numbers with 53 bits are exact as floats.
_DRAWS = 1 << 53
