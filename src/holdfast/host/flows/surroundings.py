"""What expressions of a node read from outside of the flow: the time, and state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.host.flows.model import Flow, FlowNode
from holdfast.host.flows.runners import Runners
from holdfast.host.flows.stages import Stage, invocation
from holdfast.host.flows.uses import Uses


class Surroundings:
    """Reads what a node uses, once: later attempts see the same."""

    def __init__(self, runners: Runners, stage: Stage) -> None:
        self._runners = runners
        self._stage = stage
        #: How many entries of the journal were made, beside those with a name of their own.
        self.steps = 0

    async def read(
        self, uses: Uses, flow: Flow, node: FlowNode, name: Callable[[], str]
    ) -> dict[str, Any]:
        """Return what the expressions of a node use; `name` makes the name of a step."""
        found: dict[str, Any] = {}
        if uses.time:
            found["now"] = await self._stage.now(name() + "@now")
        if uses.session_state or uses.tenant_state:
            found["state"] = {
                "session": await self._session(uses),
                "tenant": await self._tenant(uses, flow, node, name),
            }
        return found

    async def _session(self, uses: Uses) -> dict[str, Any]:
        names = sorted(uses.session_state)
        self.steps += len(names)
        values = {name: await self._stage.state(name) for name in names}
        return {name: value for name, value in values.items() if value is not None}

    async def _tenant(
        self, uses: Uses, flow: Flow, node: FlowNode, name: Callable[[], str]
    ) -> dict[str, Any]:
        read, names = self._runners.state, sorted(uses.tenant_state)
        if read is None or not names:
            return {}
        step = name() + "@state"
        about = invocation(self._stage, flow.id, node.id, step, flow.limits.time_per_turn)

        async def make() -> dict[str, Any]:
            return dict(await read(about, names))

        found: dict[str, Any] = await self._stage.step(step, make)
        return found
