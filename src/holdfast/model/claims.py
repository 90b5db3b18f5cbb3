"""What a worker claims: executions of its lanes, within its capabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from holdfast.model import bounds, checks


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """A worker that claims executions."""

    worker: str
    lanes: Sequence[str] = ("default",)
    capabilities: Sequence[str] = ()
    #: Only executions of these kinds; None means every kind.
    kinds: Sequence[str] | None = None
    #: Only executions of this tenant; None means every tenant.
    tenant: str | None = None

    def __post_init__(self) -> None:
        checks.name("worker", self.worker)
        lanes = checks.names("lanes", self.lanes, bounds.LANES, least=1)
        object.__setattr__(self, "lanes", lanes)
        capabilities = checks.names("capabilities", self.capabilities, bounds.CAPABILITIES)
        object.__setattr__(self, "capabilities", capabilities)
        object.__setattr__(self, "kinds", checks.kinds("kinds", self.kinds))
        if self.tenant is not None:
            checks.name("tenant", self.tenant)


class ClaimRequest(NamedTuple):
    """A request for leases. A tuple, because every claim makes one."""

    limit: int
    lease_ms: int
    #: How long to wait for the first.
    wait_ms: int
    #: Its id; generated if absent.
    id: str | None
    #: It was sent before: its leases are returned once more.
    again: bool

    def checked(self) -> Self:
        """Return it if its fields are valid."""
        checks.integer("limit", self.limit, 0 if self.again else 1, bounds.CLAIM_ITEMS)
        checks.lease_ms("lease_ms", self.lease_ms)
        if self.id is not None:
            checks.name("request", self.id)
        checks.integer("wait_ms", self.wait_ms, 0, bounds.DURATION_MS)
        return self
