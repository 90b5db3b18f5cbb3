"""`state.tenant`: what the components of a pack keep for a tenant, as its flows read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.host.components.states import PackStates
from holdfast.host.flows.runners import Invocation
from holdfast.host.grants import Grant
from holdfast.model.pack_states import StateScope


class TenantState:
    """Reads the state of a flow's pack: `Runners(state=TenantState(...))`."""

    def __init__(self, states: PackStates, grants: Mapping[str, Grant]) -> None:
        self._states = states
        self._grants = grants

    async def __call__(self, about: Invocation, names: Sequence[str]) -> dict[str, Any]:
        """Return the values that there are, by name."""
        pack = self._grants[about.flow].pack
        scope = StateScope(env=about.env, tenant=about.tenant, pack=pack)
        found = await self._states.get(scope, names)
        return {name: value.value for name, value in found.items() if value is not None}
