"""What components of all packs share: threads, compiled code, and the slots of tenants."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.host.components.limits import MOST, USUAL, Limits
from holdfast.host.components.slots import Slots
from holdfast.host.components.wasm.cache import Cache
from holdfast.host.components.wasm.engine import Engine
from holdfast.host.components.wasm.wasi import WasiPolicy
from holdfast.model import checks


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSettings:
    """How components run on this host."""

    #: The limits of components that declare none, and the most that a pack can declare.
    limits: Limits = USUAL
    most: Limits = MOST
    #: How many calls of one tenant run at once.
    calls_per_tenant: int = 4
    #: How many WASM calls run at once.
    threads: int = 32
    #: How many processes one Python component has, of which one tenant uses all but one.
    processes: int = 3
    #: Where compiled code is kept; None keeps it in memory only.
    cache: Path | None = None
    wasi: WasiPolicy = field(default_factory=WasiPolicy)

    def __post_init__(self) -> None:
        checks.integer("calls_per_tenant", self.calls_per_tenant, 1, 1_000)
        checks.integer("threads", self.threads, 1, 1_000)
        checks.integer("processes", self.processes, 1, 100)


class Sandbox:
    """Where the components of a host run. Close it in the end."""

    def __init__(self, settings: SandboxSettings | None = None, slots: Slots | None = None) -> None:
        """Make one; `slots` are those of a host that has several, and counts tenants in all."""
        self.settings: SandboxSettings = settings or SandboxSettings()
        cache = None if self.settings.cache is None else Cache(self.settings.cache)
        self.engine: Engine = Engine(cache)
        self.slots: Slots = slots or Slots(self.settings.calls_per_tenant)
        self.threads: ThreadPoolExecutor = ThreadPoolExecutor(
            self.settings.threads, thread_name_prefix="component"
        )

    def close(self) -> None:
        """Take no more calls, and end those under way."""
        self.threads.shutdown(wait=False, cancel_futures=True)
        self.engine.stop(self.settings.most.timeout_ms)
