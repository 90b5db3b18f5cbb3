"""The settings of a host."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.host.components import SandboxSettings
from holdfast.model import bounds, checks
from holdfast.model.session_keys import DEFAULT_ENV

#: A pack that takes longer to load does not load.
LOAD_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """What a host serves, and how."""

    env: str = DEFAULT_ENV
    #: It serves the deployments of these tenants; none means all.
    tenants: frozenset[str] = frozenset()
    #: What packs may require of a host.
    capabilities: tuple[str, ...] = ()
    #: The maximum number of concurrent executions of each revision.
    slots: int = 100
    lease_ms: int = 30_000
    #: How components run.
    sandbox: SandboxSettings | None = None
    #: Addresses that packs may reach although they are not public.
    allow_private: tuple[str, ...] = ()
    #: Run Python components of packs that no trusted key has signed.
    trusted: bool = False

    def __post_init__(self) -> None:
        checks.name("env", self.env)
        for tenant in self.tenants:
            checks.name("tenant", tenant)
        # One more is that of the revision.
        checks.names("capabilities", self.capabilities, bounds.CAPABILITIES - 1)
        checks.integer("slots", self.slots, 1, bounds.SLOTS)
        checks.lease_ms("lease_ms", self.lease_ms)
        checks.flag("trusted", self.trusted)

    def serves(self, tenant: str) -> bool:
        """Whether deployments of a tenant are its business."""
        return not self.tenants or tenant in self.tenants
