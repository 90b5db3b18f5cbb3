"""Threads of checkpoints for tests."""

from __future__ import annotations

from holdfast.model.threads import NewCheckpoint, StoredCheckpoint, Thread, Write
from holdfast.store.store import Store

THREAD = Thread("acme", "one")


async def put(
    store: Store,
    id: str,
    *,
    thread: Thread = THREAD,
    namespace: str = "",
    run: str = "",
    ttl_ms: int | None = None,
    versions: dict[str, str] | None = None,
    values: dict[str, bytes] | None = None,
) -> None:
    """Store a checkpoint."""
    new = NewCheckpoint(
        namespace=namespace,
        id=id,
        payload=f"payload {id}".encode(),
        run=run,
        versions=versions or {},
        values=values or {},
    )
    await store.threads.put(thread, new, ttl_ms=ttl_ms)


async def write(
    store: Store, checkpoint: str, *payloads: bytes, task: str = "t", place: int = 0
) -> None:
    """Keep writes of a task, from a place on."""
    writes = [
        Write(task=task, place=place + number if place >= 0 else place, payload=payload)
        for number, payload in enumerate(payloads)
    ]
    await store.threads.write(THREAD, "", checkpoint, writes)


async def read(store: Store, thread: Thread = THREAD) -> list[StoredCheckpoint]:
    """Return all checkpoints of a thread."""
    return await store.threads.read(thread, limit=1_000)


async def ids(store: Store, thread: Thread = THREAD) -> list[str]:
    """Return the ids of all checkpoints of a thread."""
    return [row.id for row in await read(store, thread)]


async def threads(store: Store, tenant: str = "acme") -> set[str]:
    """Return the names of a tenant's threads."""
    return {thread.name async for thread in store.threads.names(tenant)}
