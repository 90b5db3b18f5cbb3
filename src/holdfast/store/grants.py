"""Grants: a claim gets one for an execution with limits, before these have admitted it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from holdfast.model.executions import Claim
from holdfast.model.limit_refs import LimitRef, encode_all, parse_all


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The request of a claim."""

    #: The id of the claim; its leases have the same.
    request: str
    worker: str
    lanes: Sequence[str]
    capabilities: Sequence[str]
    limit: int
    lease_ms: int
    tenant: str | None = None
    #: Only executions of these kinds; None means every kind.
    kinds: Collection[str] | None = None


# Not frozen: one is made for every execution with limits.
@dataclass(slots=True)
class Grant:
    """The right to ask the limits of an execution, and then to run it."""

    execution_id: str
    epoch: int
    #: In stored form.
    limits: str
    #: The lease, if the execution is leased already; else it is when its limits have admitted it.
    claim: Claim | None = None

    def of(self, kind: Literal["budget", "quota"]) -> list[LimitRef]:
        """Return its budgets or its quotas."""
        return [limit for limit in parse_all(self.limits) if limit.kind == kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Why an execution is not admitted."""

    #: The limit that holds it back.
    blocker: LimitRef
    #: When the limit expects to have room, in ms.
    retry_at: int | None = None
    #: When to ask again, because the limit did not answer.
    after_ms: int | None = None
    #: Limits that may have admitted it before this one refused.
    touched: tuple[LimitRef, ...] = ()

    def args(self) -> tuple[str, str, str, str]:
        """Return it as activate_many.lua takes it."""
        numbers = ("" if n is None else str(n) for n in (self.retry_at, self.after_ms))
        retry_at, after_ms = numbers
        return self.blocker.encode(), retry_at, after_ms, encode_all(self.touched)


def verdict_args(verdicts: Iterable[tuple[Grant, Verdict | None]]) -> list[str]:
    """Return grants with their verdicts as activate_many.lua takes them: those admitted first."""
    admitted: list[str] = []
    held: list[str] = []
    for grant, verdict in verdicts:
        if verdict is None:
            admitted += (grant.execution_id, str(grant.epoch))
        else:
            held += (grant.execution_id, str(grant.epoch), *verdict.args())
    return [str(len(admitted) // 2), *admitted, *held]
