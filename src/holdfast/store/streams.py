"""Streams of executions: append, read, follow."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from holdfast.model import records
from holdfast.model.executions import Lease
from holdfast.model.frames import Appended, Frame, FramePage, NewFrame, Summary
from holdfast.model.moments import from_ms
from holdfast.model.sealing import Sealing
from holdfast.model.states import State
from holdfast.store.batches import Batches, accepted
from holdfast.store.domain import Domain, Partitioned


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


def frame_values(
    sealing: Sealing, execution_id: str, frames: Sequence[NewFrame]
) -> Iterator[str | bytes]:
    """Yield the values of frames, as the library takes them."""
    for frame in frames:
        yield frame.type
        yield frame.encoding or ""
        yield "1" if frame.live else ""
        yield "" if frame.place is None else str(frame.place)
        yield sealing.seal(frame.payload, "frame", execution_id)


class Streams(Domain):
    """Frames and held documents of executions."""

    def __init__(self, store: Partitioned) -> None:
        super().__init__(store)
        self._appends = Batches(store.caller, "hf_stream_append_all")

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
        seal = self._sealing.seal
        args: list[str | bytes] = [
            execution_id,
            lease.fence,
            key,
            "" if patched is None else str(patched.version),
            b"" if patched is None else seal(patched.document, "document", execution_id),
            str(len(frames)),
        ]
        args += frame_values(self._sealing, execution_id, frames)
        tag = self._store.tag_of(execution_id)
        word, *rest = accepted(await self._appends.call(tag, args))
        if word == b"changed":
            version, document = rest
            return self._summary(execution_id, version, document)
        first, last, version = rest
        return Appended(first=first, last=last, version=version)

    async def read(self, execution_id: str, after: int, limit: int) -> FramePage:
        """Return frames after a number."""
        tag = self._store.tag_of(execution_id)
        rows, more = await self._call.read(
            "hf_stream_read", tag, execution_id, str(after), str(limit)
        )
        return self._page(execution_id, rows, more)

    async def tail(self, execution_id: str, process: str, after: int, limit: int) -> Followed:
        """Return frames after a number; the store notifies `process` of more, until the end."""
        tag = self._store.tag_of(execution_id)
        rows, more, tenant, state, attempt, last, *ending = await self._call.write(
            "hf_stream_tail", tag, execution_id, process, str(after), str(limit)
        )
        ended_at, entry = ending or (None, b"")
        why = records.entry(entry, self._sealing.errors_of(execution_id))
        return Followed(
            page=self._page(execution_id, rows, more),
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
        return self._summary(execution_id, version, document)

    def _summary(self, execution_id: str, version: int, document: bytes) -> Summary:
        opened = self._sealing.open(document, document=execution_id)
        return Summary(document=opened, version=version)

    def _page(self, execution_id: str, rows: Sequence[Any], more: int) -> FramePage:
        frames = [records.frame(name, flat, live=bool(live)) for name, flat, live in rows]
        return FramePage(
            frames=tuple(open_frame(self._sealing, execution_id, frame) for frame in frames),
            more=bool(more),
        )

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


def open_frame(sealing: Sealing, execution_id: str, frame: Frame) -> Frame:
    """Return a frame in plain form."""
    payload = sealing.open(frame.payload, frame=execution_id)
    return frame if payload is frame.payload else replace(frame, payload=payload)
