"""Threads of checkpoints that another library makes, each in the partition of its name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence

from holdfast.model import bounds, checks
from holdfast.model.threads import SEPARATOR, NewCheckpoint, StoredCheckpoint, Thread, Write
from holdfast.store.domain import Domain

#: Threads, and checkpoints to drop, in a call.
_AT_ONCE = 500


class Threads(Domain):
    """Checkpoints, values and writes are opaque."""

    async def put(
        self, thread: Thread, checkpoint: NewCheckpoint, *, ttl_ms: int | None = None
    ) -> None:
        """Store a checkpoint, and keep its thread for its time from now on."""
        member = _member(checkpoint.namespace, checkpoint.id)
        names = {
            name: _value_name(checkpoint.namespace, name, version)
            for name, version in checkpoint.versions.items()
        }
        fresh: list[str | bytes] = []
        for name, value in checkpoint.values.items():
            fresh += (names[name], self._seal(thread, value))
        await self._call.write(
            "hf_thread_put",
            self._store.tag_of(thread.stored),
            thread.stored,
            member,
            checks.text("run_id", checkpoint.run, bounds.THREAD_CHARS),
            _ttl(ttl_ms),
            self._seal(thread, checkpoint.payload),
            str(len(names)),
            *names.values(),
            *fresh,
        )

    async def write(
        self,
        thread: Thread,
        namespace: str,
        checkpoint: str,
        writes: Sequence[Write],
        *,
        ttl_ms: int | None = None,
    ) -> None:
        """Keep what a task wrote since a checkpoint; all of it is of one task."""
        if not writes:
            return
        given: list[str | bytes] = []
        for write in writes:
            given += (str(write.place), self._seal(thread, write.payload))
        await self._call.write(
            "hf_thread_write",
            self._store.tag_of(thread.stored),
            thread.stored,
            _member(namespace, checkpoint),
            _part("task_id", writes[0].task),
            _ttl(ttl_ms),
            *given,
        )

    async def read(
        self,
        thread: Thread,
        *,
        namespace: str | None = None,
        checkpoint: str | None = None,
        before: str | None = None,
        limit: int = 1,
    ) -> list[StoredCheckpoint]:
        """Return checkpoints, the last first: one by its id, or those before one.

        Without a namespace they come from all of them, and `before` is NAMESPACE, NUL, ID.
        """
        high, low = _bounds(namespace, checkpoint, before)
        (rows,) = await self._call.read(
            "hf_thread_read",
            self._store.tag_of(thread.stored),
            thread.stored,
            high,
            low,
            str(limit),
        )
        return [self._stored(thread, *row) for row in rows]

    async def drop(self, thread: Thread, checkpoints: Sequence[tuple[str, str]]) -> int:
        """Remove checkpoints by namespace and id; returns how many there were."""
        dropped = 0
        for start in range(0, len(checkpoints), _AT_ONCE):
            members = [_member(*each) for each in checkpoints[start : start + _AT_ONCE]]
            (count,) = await self._call.write(
                "hf_thread_drop", self._store.tag_of(thread.stored), thread.stored, *members
            )
            dropped += int(count)
        return dropped

    async def drop_run(self, tenant: str, run: str) -> int:
        """Remove the checkpoints that a run made; returns how many there were."""
        calls = (
            self._call.write("hf_thread_drop_run", tag, checks.name("tenant", tenant), run)
            for tag in self._store.tags()
        )
        return sum(int(count) for (count,) in await asyncio.gather(*calls))

    async def remove(self, thread: Thread) -> None:
        """Remove a thread with everything that it has."""
        await self._call.write("hf_thread_remove", self._store.tag_of(thread.stored), thread.stored)

    async def names(self, tenant: str) -> AsyncIterator[Thread]:
        """Iterate over the threads of a tenant."""
        checks.name("tenant", tenant)
        for tag in self._store.tags():
            after = ""
            while True:
                (names,) = await self._call.read(
                    "hf_thread_list", tag, tenant, after, str(_AT_ONCE)
                )
                for name in names:
                    yield Thread(tenant, name.decode())
                if len(names) < _AT_ONCE:
                    break
                after = names[-1].decode()

    def _seal(self, thread: Thread, payload: bytes) -> bytes:
        checks.payload("checkpoint", payload, bounds.THREAD_BYTES)
        return self._sealing.seal(payload, "thread", thread.stored)

    def _open(self, thread: Thread, payload: bytes) -> bytes:
        return self._sealing.open(payload, thread=thread.stored)

    def _stored(
        self,
        thread: Thread,
        member: bytes,
        payload: bytes,
        values: Sequence[bytes],
        writes: Sequence[bytes],
    ) -> StoredCheckpoint:
        namespace, id = member.decode().rsplit(SEPARATOR, 1)
        return StoredCheckpoint(
            namespace=namespace,
            id=id,
            payload=self._open(thread, payload),
            values={
                field.split(SEPARATOR)[-2]: self._open(thread, value)
                for field, value in _pairs(values)
            },
            writes=[
                Write(task=task, place=int(place), payload=self._open(thread, value))
                for field, value in _pairs(writes)
                for task, place in (field.split(SEPARATOR)[-2:],)
            ],
        )


def _pairs(flat: Sequence[bytes]) -> Iterator[tuple[str, bytes]]:
    """Iterate over names and values that come in turn."""
    return ((flat[i].decode(), flat[i + 1]) for i in range(0, len(flat), 2))


def _part(name: str, value: str) -> str:
    return checks.text(name, value, bounds.THREAD_CHARS)


def _member(namespace: str, checkpoint: str) -> str:
    return SEPARATOR.join((_part("checkpoint_ns", namespace), _part("checkpoint_id", checkpoint)))


def _value_name(namespace: str, channel: str, version: str) -> str:
    return SEPARATOR.join((namespace, _part("channel", channel), _part("version", version)))


def _ttl(ttl_ms: int | None) -> str:
    return "" if ttl_ms is None else str(checks.integer("ttl_ms", ttl_ms, 1, bounds.DURATION_MS))


def _bounds(namespace: str | None, checkpoint: str | None, before: str | None) -> tuple[str, str]:
    """Return the high and the low end of the members to read."""
    if namespace is None:
        return ("+" if before is None else f"({before}", "-")
    if checkpoint is not None:
        member = _member(namespace, checkpoint)
        return f"[{member}", f"[{member}"
    high = f"({namespace}\1" if before is None else f"({_member(namespace, before)}"
    return high, f"[{namespace}{SEPARATOR}"
