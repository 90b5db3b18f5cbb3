"""Signals to executions, watched: a test sees when one is sent or received."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.model.executions import Lease
from holdfast.model.inboxes import ExecutionSignal
from holdfast.model.waitpoints import Effect
from holdfast.store.domain import Partitioned
from holdfast.store.inboxes import Inboxes, Unread
from holdfast.testing.watching import Watch, Write


class WatchedInboxes(Inboxes):
    """Transitions of inboxes, none of them by a killed attempt."""

    def __init__(self, store: Partitioned, watch: Watch) -> None:
        super().__init__(store)
        self._watch = watch

    async def send(self, item: ExecutionSignal) -> Effect:
        """Add a signal."""
        effect = await super().send(item)
        self._watch.changed.set()
        return effect

    async def wait(
        self, execution_id: str, lease: Lease, names: Sequence[str], until_ms: int | None
    ) -> Unread | None:
        """Return the next unread signal, or the lease."""
        self._watch.refuse_dead(execution_id, lease)
        unread = await super().wait(execution_id, lease, names, until_ms)
        self._watch.changed.set()
        return unread

    async def take(
        self, execution_id: str, lease: Lease, step: str, unread: Unread
    ) -> bytes | None:
        """Receive a signal as a step."""
        self._watch.refuse_dead(execution_id, lease)
        recorded = await super().take(execution_id, lease, step, unread)
        if recorded is not None:
            self._watch.wrote(Write(execution_id, "step", step))
        return recorded
