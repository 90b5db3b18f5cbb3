"""Guards of a rollout: what the new revision may do worse than the old one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from holdfast.model import bounds, checks
from holdfast.model.figures import Histogram

_P95 = 95
_WHOLE_BPS = 10_000
_PERCENT = 100
#: Differences of the latency below this are noise, whatever their ratio.
SLACK_MS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """Limits for the new revision; None lifts one."""

    #: The new revision must end this many turns in a step before it is judged.
    min_turns: int = 20
    #: How much higher its error rate may be than that of the old one, in basis points.
    error_rate_bps: int | None = 200
    #: Its 95th percentile of latency in percent of that of the old one.
    p95_percent: int | None = 150

    def __post_init__(self) -> None:
        checks.integer("min_turns", self.min_turns, 1, bounds.MIN_TURNS)
        if self.error_rate_bps is not None:
            checks.integer("error_rate_bps", self.error_rate_bps, 0, _WHOLE_BPS)
        if self.p95_percent is not None:
            checks.integer("p95_percent", self.p95_percent, _PERCENT, bounds.LATENCY_PERCENT)

    @property
    def any(self) -> bool:
        """Whether there is a limit at all."""
        return self.error_rate_bps is not None or self.p95_percent is not None


class Verdict(StrEnum):
    """What guards say."""

    #: Too few turns have ended.
    UNDECIDED = "undecided"
    PASSED = "passed"
    BREACHED = "breached"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and its reason, a sentence."""

    verdict: Verdict
    reason: str = ""


def judge(guards: Guards, new: Histogram, old: Histogram, earlier: Histogram) -> Judgement:
    """Compare the turns of the new revision with those of the old one in the same time.

    If the old one has ended too few, its turns before the rollout count instead.
    """
    if not guards.any:
        return Judgement(Verdict.PASSED, "there are no guards")
    if new.turns < guards.min_turns:
        count = f"{new.turns} of {guards.min_turns} turns"
        return Judgement(Verdict.UNDECIDED, f"the new revision has ended {count}")
    known = old if old.turns >= guards.min_turns else earlier
    reason = _errors(guards.error_rate_bps, new, known) or _latency(guards.p95_percent, new, known)
    return Judgement(Verdict.BREACHED, reason) if reason else Judgement(Verdict.PASSED)


def _errors(limit_bps: int | None, new: Histogram, old: Histogram) -> str | None:
    if limit_bps is None:
        return None
    turns = max(old.turns, 1)
    # new.failed / new.turns > old.failed / turns + limit, without rounding.
    excess = (new.failed * turns - old.failed * new.turns) * _WHOLE_BPS
    if excess <= limit_bps * new.turns * turns:
        return None
    rates = f"{new.failed} of {new.turns} turns failed, before {old.failed} of {old.turns}"
    return f"error rate: {rates}; allowed are {limit_bps / _PERCENT:g} points more"


def _latency(limit_percent: int | None, new: Histogram, old: Histogram) -> str | None:
    if limit_percent is None:
        return None
    took, took_before = new.percentile_ms(_P95), old.percentile_ms(_P95)
    if took is None or took_before is None:
        return None
    most = max(took_before * limit_percent / _PERCENT, took_before + SLACK_MS)
    if took <= most:
        return None
    return f"p95: {took} ms, before {took_before} ms; allowed are {limit_percent} %"
