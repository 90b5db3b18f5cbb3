"""How many messages queues have."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from holdfast.errors import QueueNotFound
from holdfast.model.queues import Queue, QueueStats
from holdfast.model.snapshots import QueueDepth

if TYPE_CHECKING:
    from holdfast.api import Queues

#: The most queues that are counted together.
MOST_QUEUES = 100


async def depths(queues: Queues, tenant: str | None) -> list[QueueDepth]:
    """Count the messages of the first queues by name, and of one more if there are more."""
    return [_depth(queue, stats) for queue, stats in await counted(queues, tenant)]


async def counted(queues: Queues, tenant: str | None) -> list[tuple[Queue, QueueStats]]:
    """Return the same queues with their counts, without those that were deleted meanwhile."""
    listed = await queues.list(limit=MOST_QUEUES + 1, tenant=tenant)
    found = await asyncio.gather(*(_stats(queues, queue) for queue in listed))
    return [(queue, stats) for queue, stats in zip(listed, found, strict=True) if stats is not None]


async def _stats(queues: Queues, queue: Queue) -> QueueStats | None:
    try:
        return await queues.stats(queue.name)
    except QueueNotFound:
        return None


def _depth(queue: Queue, stats: QueueStats) -> QueueDepth:
    groups = stats.groups.values()
    return QueueDepth(
        queue=queue.name,
        mode=queue.settings.mode,
        paused=queue.paused,
        ready=sum(group.ready for group in groups),
        delayed=sum(group.delayed for group in groups),
        in_flight=sum(group.in_flight for group in groups),
        dead=sum(group.dead for group in groups),
    )
