"""A checkpointer of LangGraph over threads of the store."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import msgspec
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from typing_extensions import override

from holdfast.errors import InvalidInput
from holdfast.integrations.langgraph.blocking import BlockingSaver, collected
from holdfast.integrations.langgraph.connection import Connection, Opening, connection_of
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.threads import SEPARATOR, NewCheckpoint, StoredCheckpoint, Thread, Write
from holdfast.worker.context import Context
from holdfast.worker.durations import Duration, optional_ms

#: Checkpoints in a call.
_PAGE = 20
_pack, _unpack = msgspec.msgpack.encode, msgspec.msgpack.decode


class HoldfastSaver(BlockingSaver):
    """Keeps the checkpoints of graphs: `async with HoldfastSaver.from_url(URL) as saver`.

    Opened by `with` it serves code without an event loop. Either way both kinds of methods work,
    except that blocking ones must not be called on the event loop that opened it.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        tenant: str = DEFAULT_TENANT,
        ttl: Duration | None = None,
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(connection, serde=serde)
        self.tenant = tenant
        self._ttl_ms = optional_ms("ttl", ttl)
        self._threads = connection.store.threads

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        tenant: str = DEFAULT_TENANT,
        ttl: Duration | None = None,
        serde: SerializerProtocol | None = None,
    ) -> Opening[HoldfastSaver]:
        """Open the store at a URL; threads are kept for `ttl` after their last change."""
        return Opening(url, lambda found: cls(found, tenant=tenant, ttl=ttl, serde=serde))

    @classmethod
    def of(cls, ctx: Context, *, ttl: Duration | None = None) -> HoldfastSaver:
        """Return a saver on the store of a task's worker, for the tenant of the execution."""
        return cls(connection_of(ctx.engine), tenant=ctx.claim.tenant, ttl=ttl)

    # Checkpoints

    @override
    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        thread, namespace = self._place(config)
        values = checkpoint["channel_values"]
        body = {name: part for name, part in checkpoint.items() if name != "channel_values"}
        kept = get_checkpoint_metadata(config, metadata)
        named = {**checkpoint["channel_versions"], **new_versions}
        new = NewCheckpoint(
            namespace=namespace,
            id=checkpoint["id"],
            payload=_pack((get_checkpoint_id(config), self._dump(body), self._dump(kept))),
            versions={name: str(named[name]) for name in named if name in values},
            values={name: self._dump(values[name]) for name in new_versions if name in values},
            run=str(kept.get("run_id") or ""),
        )
        await self.connection.run(self._threads.put(thread, new, ttl_ms=self._ttl_ms))
        return _config(thread, namespace, checkpoint["id"])

    @override
    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        thread, namespace = self._place(config)
        new = [
            Write(
                task=task_id,
                place=WRITES_IDX_MAP.get(channel, number),
                payload=_pack((task_path, channel, self._dump(value))),
            )
            for number, (channel, value) in enumerate(writes)
        ]
        checkpoint = config["configurable"]["checkpoint_id"]
        await self.connection.run(
            self._threads.write(thread, namespace, checkpoint, new, ttl_ms=self._ttl_ms)
        )

    @override
    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        thread, namespace = self._place(config)
        rows = await self.connection.run(
            self._threads.read(thread, namespace=namespace, checkpoint=get_checkpoint_id(config))
        )
        return self._tuple(thread, rows[0]) if rows else None

    @override
    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        last = get_checkpoint_id(before) if before else None
        chosen = get_checkpoint_id(config) if config else None
        left = itertools.count() if limit is None else iter(range(limit))
        async for thread, row in self._rows(config, before=last):
            if (last and row.id >= last) or (chosen and row.id != chosen):
                continue
            found = self._tuple(thread, row)
            metadata = cast("dict[str, Any]", found.metadata)
            if all(metadata.get(name) == value for name, value in (filter or {}).items()):
                if next(left, None) is None:
                    return
                yield found

    # Threads

    @override
    async def adelete_thread(self, thread_id: str) -> None:
        await self.connection.run(self._threads.remove(self._thread(thread_id)))

    @override
    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        for run in run_ids:
            await self.connection.run(self._threads.drop_run(self.tenant, run))

    @override
    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        target = self._thread(target_thread_id)
        rows = [row async for _, row in self._rows(_thread_config(source_thread_id))]
        for row in reversed(rows):
            await self.connection.run(self._copy(row, target))

    async def _copy(self, row: StoredCheckpoint, target: Thread) -> None:
        _, body, metadata = _unpack(row.payload)
        versions = self._load(body)["channel_versions"]
        new = NewCheckpoint(
            namespace=row.namespace,
            id=row.id,
            payload=row.payload,
            versions={name: str(versions[name]) for name in row.values},
            values=row.values,
            run=str(self._load(metadata).get("run_id") or ""),
        )
        for task, writes in itertools.groupby(row.writes, lambda write: write.task):
            del task
            await self._threads.write(
                target, row.namespace, row.id, list(writes), ttl_ms=self._ttl_ms
            )
        await self._threads.put(target, new, ttl_ms=self._ttl_ms)

    @override
    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        if strategy not in ("keep_latest", "delete"):
            raise InvalidInput(f"strategy: must be keep_latest or delete, not {strategy!r}")
        for thread_id in thread_ids:
            if strategy == "delete":
                await self.adelete_thread(thread_id)
                continue
            rows = [row async for _, row in self._rows(_thread_config(thread_id))]
            spare = [(row.namespace, row.id) for row in rows if row not in self._needed(rows)]
            await self.connection.run(self._threads.drop(self._thread(thread_id), spare))

    def _needed(self, rows: Sequence[StoredCheckpoint]) -> list[StoredCheckpoint]:
        """Return the last checkpoint of each namespace, and those that its deltas build on."""
        needed = []
        for _, group in itertools.groupby(rows, lambda row: row.namespace):
            members = {row.id: row for row in group}
            row: StoredCheckpoint | None = next(iter(members.values()))
            missing: set[str] | None = None
            while row is not None and missing != set():
                needed.append(row)
                parent, _, packed = _unpack(row.payload)
                if missing is None:
                    missing = set(self._load(packed).get("counters_since_delta_snapshot") or ())
                missing -= row.values.keys()
                row = members.get(parent)
        return needed

    @override
    def get_next_version(self, current: str | None, channel: None) -> str:
        # Two branches of a thread may count alike; their values must not share a name.
        count = 0 if current is None else int(str(current).partition(".")[0])
        return f"{count + 1:032}.{uuid.uuid4().hex[:16]}"

    # Places and payloads

    def _thread(self, name: str) -> Thread:
        return Thread(self.tenant, str(name))

    def _place(self, config: RunnableConfig) -> tuple[Thread, str]:
        chosen = config["configurable"]
        return self._thread(chosen["thread_id"]), chosen.get("checkpoint_ns", "")

    async def _rows(
        self, config: RunnableConfig | None, *, before: str | None = None
    ) -> AsyncIterator[tuple[Thread, StoredCheckpoint]]:
        """Iterate over the checkpoints of a thread or of all, the last of a namespace first."""
        if config is None:
            for thread in await self.connection.run(collected(self._threads.names(self.tenant))):
                async for row in self._rows_of(thread, None, None):
                    yield thread, row
            return
        thread, _ = self._place(config)
        namespace = config["configurable"].get("checkpoint_ns")
        async for row in self._rows_of(
            thread, namespace, before if namespace is not None else None
        ):
            yield thread, row

    async def _rows_of(
        self, thread: Thread, namespace: str | None, before: str | None
    ) -> AsyncIterator[StoredCheckpoint]:
        while True:
            rows = await self.connection.run(
                self._threads.read(thread, namespace=namespace, before=before, limit=_PAGE)
            )
            for row in rows:
                yield row
            if len(rows) < _PAGE:
                return
            last = rows[-1]
            before = last.id if namespace is not None else f"{last.namespace}{SEPARATOR}{last.id}"

    def _tuple(self, thread: Thread, row: StoredCheckpoint) -> CheckpointTuple:
        parent, body, metadata = _unpack(row.payload)
        values = {name: self._load(value) for name, value in row.values.items()}
        writes = [(*_unpack(write.payload), write) for write in row.writes]
        writes.sort(key=lambda each: (each[0], each[3].task, each[3].place))
        return CheckpointTuple(
            config=_config(thread, row.namespace, row.id),
            checkpoint=cast("Checkpoint", {**self._load(body), "channel_values": values}),
            metadata=self._load(metadata),
            parent_config=_config(thread, row.namespace, parent) if parent else None,
            pending_writes=[
                (write.task, channel, self._load(value)) for _, channel, value, write in writes
            ],
        )

    def _dump(self, value: Any) -> bytes:
        return _pack(self.serde.dumps_typed(value))

    def _load(self, packed: bytes) -> Any:
        kind, data = _unpack(packed)
        return self.serde.loads_typed((kind, data))


def _config(thread: Thread, namespace: str, checkpoint: str) -> RunnableConfig:
    return {
        "configurable": {
            "thread_id": thread.name,
            "checkpoint_ns": namespace,
            "checkpoint_id": checkpoint,
        }
    }


def _thread_config(thread_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id}}
