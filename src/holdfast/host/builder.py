"""Builds a host: whose packs it serves, and what packs may do on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Self

from holdfast.api import Engine
from holdfast.engine.engine import Engine as NearEngine
from holdfast.errors import NotOverHttp
from holdfast.host.components import SandboxSettings
from holdfast.host.host import Host
from holdfast.host.settings import HostSettings
from holdfast.model.session_keys import DEFAULT_ENV


class HostBuilder:
    """Collects the settings of a host: `HostBuilder(engine).tenant("acme").build()`."""

    def __init__(self, engine: Engine, env: str = DEFAULT_ENV) -> None:
        if not isinstance(engine, NearEngine):
            raise NotOverHttp("a host needs the store itself: packs and secrets stay near it")
        self._engine = engine
        self._settings = HostSettings(env=env)

    def tenant(self, *tenants: str) -> Self:
        """Serve only these tenants; without a call, the host serves all."""
        return self._set(tenants=self._settings.tenants | set(tenants))

    def capability(self, *names: str) -> Self:
        """Offer capabilities that packs may require."""
        return self._set(capabilities=(*self._settings.capabilities, *names))

    def work(self, *, slots: int | None = None, lease_ms: int | None = None) -> Self:
        """Set how many executions of a revision run at once, and how long leases last."""
        current = self._settings
        return self._set(slots=slots or current.slots, lease_ms=lease_ms or current.lease_ms)

    def policy(
        self,
        *,
        sandbox: SandboxSettings | None = None,
        allow_private: Iterable[str] = (),
        trusted: bool = False,
    ) -> Self:
        """Set how components run, what packs may reach, and whose Python code runs."""
        return self._set(sandbox=sandbox, allow_private=tuple(allow_private), trusted=trusted)

    def build(self) -> Host:
        """Return the host; `async with host.running():` serves."""
        return Host(self._engine, self._settings)

    def _set(self, **changes: object) -> Self:
        self._settings = replace(self._settings, **changes)  # type: ignore[arg-type]
        return self
