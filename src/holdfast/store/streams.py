"""Streams of executions: append, read, follow."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from holdfast.model import records
from holdfast.model.executions import Lease
from holdfast.model.frames import Appended, FramePage, NewFrame, Summary
from holdfast.model.moments import from_ms
from holdfast.model.states import State
from holdfast.store.domain import Domain


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """The state of a stream for a process that follows it."""

    page: FramePage
    tenant: str
    state: State
    attempt: int
    #: The number of the last frame that was written.
    last: int
    ended_at: datetime | None = None
    error: Mapping[str, Any] | None = None
    reason: str | None = None


class Streams(Domain):
    """Frames and held documents of executions."""

    async def append(
        self,
        execution_id: str,
        lease: Lease,
        frames: Sequence[NewFrame],
        *,
        key: str,
        patched: Summary | None = None,
    ) -> Appended | Summary:
        """Append a batch; returns the current document instead if `patched` is based on another.

        `patched` is the document after the patches of the batch, with the version before them.
        """
        args: list[str | bytes] = [
            execution_id,
            lease.fence,
            key,
            "" if patched is None else str(patched.version),
            b"" if patched is None else patched.document,
        ]
        for frame in frames:
            args += (
                frame.type,
                frame.encoding or "",
                "1" if frame.live else "",
                "" if frame.place is None else str(frame.place),
                frame.payload,
            )
        tag = self._store.tag_of(execution_id)
        word, *rest = await self._call.write("hf_stream_append", tag, *args)
        if word == b"changed":
            version, document = rest
            return Summary(document=document, version=version)
        first, last, version = rest
        return Appended(first=first, last=last, version=version)

    async def read(self, execution_id: str, after: int, limit: int) -> FramePage:
        """Return frames after a number."""
        tag = self._store.tag_of(execution_id)
        rows, more = await self._call.read(
            "hf_stream_read", tag, execution_id, str(after), str(limit)
        )
        return _page(rows, more)

    async def tail(self, execution_id: str, process: str, after: int, limit: int) -> Followed:
        """Return frames after a number; the store notifies `process` of more, until the end."""
        tag = self._store.tag_of(execution_id)
        rows, more, tenant, state, attempt, last, *ending = await self._call.write(
            "hf_stream_tail", tag, execution_id, process, str(after), str(limit)
        )
        ended_at, entry = ending or (None, b"")
        why = records.entry(entry)
        return Followed(
            page=_page(rows, more),
            tenant=tenant.decode(),
            state=State(state.decode()),
            attempt=attempt,
            last=last,
            ended_at=None if ended_at is None else from_ms(ended_at),
            error=why.get("error"),
            reason=why.get("reason") or None,
        )

    async def summary(self, execution_id: str) -> Summary:
        """Return the held document."""
        tag = self._store.tag_of(execution_id)
        version, document = await self._call.read("hf_stream_summary", tag, execution_id)
        return Summary(document=document, version=version)

    async def configure(self, values: Mapping[str, int | None]) -> None:
        """Write settings to every partition; None restores the default."""
        flat = [
            part
            for name, value in values.items()
            for part in (name, "" if value is None else str(value))
        ]
        await asyncio.gather(
            *(self._call.write("hf_admin_configure", tag, *flat) for tag in self._store.tags())
        )


def _page(rows: Sequence[Any], more: int) -> FramePage:
    frames = tuple(records.frame(name, flat, live=bool(live)) for name, flat, live in rows)
    return FramePage(frames=frames, more=bool(more))
