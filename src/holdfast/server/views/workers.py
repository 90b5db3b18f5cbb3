"""Workers as replies show them."""

from __future__ import annotations

from holdfast.model.workers import Worker
from holdfast.server.views.fields import View
from holdfast.server.views.times import rfc3339


class WorkerView(View):
    """A worker as it last described itself."""

    instance: str
    worker: str
    lanes: tuple[str, ...]
    capabilities: tuple[str, ...]
    slots: int
    busy: int
    draining: bool
    registered_at: str
    heartbeat_at: str
    expires_at: str
    #: The only tenant that it serves; null: all.
    tenant: str | None
    #: The tasks that it has; null: every kind.
    kinds: tuple[str, ...] | None

    @classmethod
    def of(cls, one: Worker) -> WorkerView:
        """Show a worker."""
        return cls(
            instance=one.instance,
            worker=one.worker,
            lanes=one.lanes,
            capabilities=one.capabilities,
            slots=one.slots,
            busy=one.busy,
            draining=one.draining,
            registered_at=rfc3339(one.registered_at),
            heartbeat_at=rfc3339(one.heartbeat_at),
            expires_at=rfc3339(one.expires_at),
            tenant=one.tenant,
            kinds=one.kinds,
        )
