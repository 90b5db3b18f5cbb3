"""Retry policies."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import Literal

from holdfast.model import bounds, checks

BackoffKind = Literal["fixed", "exponential"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """How long to wait before the next attempt."""

    kind: BackoffKind = "exponential"
    #: Wait after the first failure, in ms.
    initial_ms: int = 1_000
    #: The longest exponential wait before jitter, in ms.
    max_ms: int = 60_000
    #: Each wait is this many times the one before (exponential only).
    factor: float = 2.0
    #: 0..1: the wait is spread evenly over base * (1 +- jitter).
    jitter: float = 0.0

    def __post_init__(self) -> None:
        checks.one_of("retry.backoff.kind", self.kind, ("fixed", "exponential"))
        checks.integer("retry.backoff.initial_ms", self.initial_ms, 0, bounds.DURATION_MS)
        checks.integer("retry.backoff.max_ms", self.max_ms, 0, bounds.DURATION_MS)
        factor = checks.number("retry.backoff.factor", self.factor, 1, 1_000)
        jitter = checks.number("retry.backoff.jitter", self.jitter, 0, 1)
        object.__setattr__(self, "factor", float(factor))
        object.__setattr__(self, "jitter", float(jitter))


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a failing execution is tried, and which errors end it immediately."""

    #: The total number of attempts, including the first. Reclaims, waits and delays use up none.
    max_attempts: int
    backoff: Backoff = field(default_factory=Backoff)
    #: Error types that are never retried.
    give_up_on: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checks.integer("retry.max_attempts", self.max_attempts, 1, bounds.MAX_ATTEMPTS)
        types = checks.names("retry.give_up_on", self.give_up_on, bounds.GIVE_UP_TYPES)
        object.__setattr__(self, "give_up_on", types)

    def delay_ms(self, failures: int, execution_id: str, epoch: int) -> int | None:
        """Return the wait after this many failures, None if there is no further attempt.

        The store computes the same; this copy is for tests and tools.
        """
        if failures >= self.max_attempts:
            return None
        backoff = self.backoff
        base: float = backoff.initial_ms
        if backoff.kind == "exponential" and base:
            base = min(backoff.max_ms, base * _power(backoff.factor, failures - 1))
        seed = hashlib.sha1(f"{execution_id}:{epoch}".encode(), usedforsecurity=False)
        spread = int(seed.hexdigest()[:8], 16) / 0xFFFFFFFF * 2 - 1
        return int(base * (1 + backoff.jitter * spread) + 0.5)


def _power(factor: float, exponent: int) -> float:
    try:
        return factor**exponent
    except OverflowError:
        return math.inf
