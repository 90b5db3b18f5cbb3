"""How many messages queues have."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from holdfast.errors import QueueNotFound
from holdfast.model.queues import Queue
from holdfast.model.snapshots import QueueDepth

if TYPE_CHECKING:
    from holdfast.api import Queues

#: The most queues that are counted together.
MOST_QUEUES = 100


async def depths(queues: Queues, tenant: str | None) -> list[QueueDepth]:
    """Count the messages of the first queues by name, and of one more if there are more."""
    listed = await queues.list(limit=MOST_QUEUES + 1, tenant=tenant)
    found = await asyncio.gather(*(_depth(queues, queue) for queue in listed))
    return [depth for depth in found if depth is not None]


async def _depth(queues: Queues, queue: Queue) -> QueueDepth | None:
    """Count the messages of a queue; None if it was deleted meanwhile."""
    try:
        groups = (await queues.stats(queue.name)).groups.values()
    except QueueNotFound:
        return None
    return QueueDepth(
        queue=queue.name,
        mode=queue.settings.mode,
        paused=queue.paused,
        ready=sum(group.ready for group in groups),
        delayed=sum(group.delayed for group in groups),
        in_flight=sum(group.in_flight for group in groups),
        dead=sum(group.dead for group in groups),
    )
