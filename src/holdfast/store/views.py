"""Views of executions."""

from __future__ import annotations

from holdfast.model.executions import Lease
from holdfast.model.moments import from_ms
from holdfast.model.states import State
from holdfast.model.views import View
from holdfast.store.domain import Domain


class Views(Domain):
    """Views of executions."""

    async def put(self, execution_id: str, lease: Lease, data: bytes) -> int:
        """Replace the view; returns its version."""
        tag = self._store.tag_of(execution_id)
        sealed = self._sealing.seal(data, "view", execution_id)
        (version,) = await self._call.write("hf_view_put", tag, execution_id, lease.fence, sealed)
        return int(version)

    async def read(self, execution_id: str, after: int = 0, *, process: str = "") -> View:
        """Return the view if it is newer; else `process` is notified when something changes."""
        tag = self._store.tag_of(execution_id)
        state, version, *newer = await self._call.write(
            "hf_view_read", tag, execution_id, str(after), process
        )
        if not newer:
            return View(state=State(state.decode()), version=int(version))
        at, _, stored = newer[0].partition(b" ")
        data = self._sealing.open(stored, view=execution_id)
        return View(
            state=State(state.decode()), version=int(version), data=data, at=from_ms(int(at))
        )
