"""The blocking methods of a checkpointer, by its async ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from typing_extensions import override

from holdfast.integrations.langgraph.connection import Connection


class BlockingSaver(BaseCheckpointSaver[str]):
    """A checkpointer on a connection that any thread may use."""

    def __init__(self, connection: Connection, *, serde: SerializerProtocol | None) -> None:
        super().__init__(serde=serde)
        self.connection = connection

    @override
    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self.connection.wait(self.aput(config, checkpoint, metadata, new_versions))

    @override
    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        self.connection.wait(self.aput_writes(config, writes, task_id, task_path))

    @override
    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.connection.wait(self.aget_tuple(config))

    @override
    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        found = self.alist(config, filter=filter, before=before, limit=limit)
        yield from self.connection.wait(collected(found))

    @override
    def delete_thread(self, thread_id: str) -> None:
        self.connection.wait(self.adelete_thread(thread_id))

    @override
    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self.connection.wait(self.adelete_for_runs(run_ids))

    @override
    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.connection.wait(self.acopy_thread(source_thread_id, target_thread_id))

    @override
    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self.connection.wait(self.aprune(thread_ids, strategy=strategy))


async def collected(items: AsyncIterator[Any]) -> list[Any]:
    """Return what an iterator gives."""
    return [item async for item in items]
