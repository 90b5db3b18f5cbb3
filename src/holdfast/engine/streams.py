"""Streams: the output of an execution while it runs, and the summary document that it updates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from typing_extensions import override

from holdfast import api
from holdfast.engine.tails import Tail, Tails
from holdfast.model import bounds, checks, log_lines, merge_patch
from holdfast.model.executions import Lease
from holdfast.model.frames import (
    Appended,
    FramePage,
    NewFrame,
    StreamSettings,
    Summary,
    check_batch,
)
from holdfast.model.ids import new_id
from holdfast.model.log_lines import LogLine, LogPage
from holdfast.store.store import Store

#: How many pages of frames one call for log lines reads.
_PAGES_OF_LOGS = 10


class Streams(api.Streams):
    """Operations on the streams of executions."""

    def __init__(self, store: Store) -> None:
        self._streams = store.streams
        self._settings = store.lanes
        #: The live readers of this process.
        self.tails: Tails = Tails(store)

    @override
    async def append(
        self,
        execution_id: str,
        lease: Lease,
        frames: Sequence[NewFrame],
        *,
        key: str | None = None,
    ) -> Appended:
        checks.execution_id("id", execution_id)
        checks.instance("lease", lease, Lease)
        check_batch(frames)
        if key is not None:
            checks.text("key", key, bounds.BATCH_KEY_CHARS, empty=False)
        return await self._append(execution_id, lease, frames, key or new_id())

    async def _append(
        self, execution_id: str, lease: Lease, frames: Sequence[NewFrame], key: str
    ) -> Appended:
        changes = [frame.payload for frame in frames if frame.type == "summary"]
        patched: Summary | None = None
        if changes:
            patched = _patch(await self._streams.summary(execution_id), changes)
        while True:
            answer = await self._streams.append(
                execution_id, lease, frames, key=key, patched=patched
            )
            if isinstance(answer, Appended):
                return answer
            # Another call with the same lease was faster: patch the current document.
            patched = _patch(answer, changes)

    @override
    async def read(self, execution_id: str, *, after: int = 0, limit: int = 100) -> FramePage:
        checks.execution_id("id", execution_id)
        checks.integer("after", after, 0, bounds.FRAME_ID)
        checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
        return await self._streams.read(execution_id, after, limit)

    @override
    async def logs(
        self,
        execution_id: str,
        *,
        level: str = "debug",
        limit: int = 100,
        cursor: str | None = None,
    ) -> LogPage:
        checks.execution_id("id", execution_id)
        checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
        log_lines.check_level(level)
        start = log_lines.position(cursor)
        lines: list[LogLine] = []
        after = max(start[0] - 1, 0)
        for _ in range(_PAGES_OF_LOGS):
            page = await self._streams.read(execution_id, after, bounds.PAGE_ITEMS)
            found = log_lines.lines_of(page.frames, level)
            lines += [line for line in found if log_lines.position(line.id) > start]
            if len(lines) > limit:
                return LogPage(lines=tuple(lines[:limit]), next_cursor=lines[limit - 1].id)
            if not page.more:
                return LogPage(lines=tuple(lines), next_cursor=None)
            after = page.frames[-1].id
        return LogPage(lines=tuple(lines), next_cursor=f"{after + 1}.0")

    @override
    async def summary(self, execution_id: str) -> Summary:
        checks.execution_id("id", execution_id)
        return await self._streams.summary(execution_id)

    @override
    async def tail(self, execution_id: str, *, after: int = 0) -> Tail:
        checks.execution_id("id", execution_id)
        checks.integer("after", after, 0, bounds.FRAME_ID)
        return await self.tails.open(execution_id, after)

    @override
    async def set_bounds(
        self,
        *,
        tenant: str | None = None,
        frames: int | None = None,
        size: int | None = None,
        age_ms: int | None = None,
    ) -> None:
        owner = "*" if tenant is None else checks.name("tenant", tenant)
        settings = (
            ("frames", frames, 1, bounds.STREAM_FRAMES),
            ("bytes", size, bounds.FRAME_BYTES, bounds.STREAM_BYTES),
            ("age", age_ms, 1, bounds.DURATION_MS),
        )
        for name, value, least, most in settings:
            if value is not None:
                checks.integer(name, value, least, most)
        await self._streams.configure({f"stream|{owner}|{n}": value for n, value, *_ in settings})

    @override
    async def set_tails(self, most: int | None, *, tenant: str | None = None) -> None:
        owner = "*" if tenant is None else checks.name("tenant", tenant)
        if most is not None:
            checks.integer("most", most, 0, bounds.TAILS)
        await self._streams.configure({f"tails|{owner}": most})
        self.tails.forget_settings()

    @override
    async def settings(self) -> dict[str | None, StreamSettings]:
        bounds = await self._settings.by_tenant("stream")
        tails = await self._settings.by_tenant("tails")
        return {
            tenant: StreamSettings(
                frames=bounds.get(tenant, {}).get("frames"),
                size=bounds.get(tenant, {}).get("bytes"),
                age_ms=bounds.get(tenant, {}).get("age"),
                tails=tails.get(tenant, {}).get(""),
            )
            for tenant in {**bounds, **tails}
        }

    def drain(self) -> None:
        """End all tails of this process with a `retry` frame, and start no new ones."""
        self.tails.drain()

    async def close(self) -> None:
        """Drain, then stop listening."""
        await self.tails.close()


def _patch(current: Summary, changes: Sequence[bytes]) -> Summary:
    """Return the patched document, with the version before the patches."""
    document = reduce(merge_patch.merge, changes, current.document)
    return Summary(document=document, version=current.version)
