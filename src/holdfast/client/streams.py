"""Streams over HTTP: appended in batches, read in pages, followed by server-sent events."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, final

import aiohttp
import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.api import Tail
from holdfast.client.beats import lease_body
from holdfast.client.decode import moment
from holdfast.client.http import LOST, Http, path
from holdfast.client.sse import events
from holdfast.concurrency import first_of
from holdfast.model import bounds, calls, checks
from holdfast.model.executions import Lease
from holdfast.model.frames import (
    END,
    RETRY,
    RETRY_AFTER_MS,
    Appended,
    Frame,
    FramePage,
    NewFrame,
    StreamSettings,
    Summary,
    check_batch,
)
from holdfast.model.ids import new_id
from holdfast.model.log_lines import LogLine, LogPage, check_level

_UTF8, _BASE64 = "utf8", "base64"
_TEXTS = frozenset({"text", "bytes"})
#: The most frames to buffer for a slow reader.
_MOST_WAITING = 1_000


@final
class RemoteStreams(api.Streams):
    """Operations on the streams of executions."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @override
    async def append(
        self,
        execution_id: str,
        lease: Lease,
        frames: Sequence[NewFrame],
        *,
        key: str | None = None,
    ) -> Appended:
        body = {
            "lease": lease_body(lease),
            "frames": frame_bodies(check_batch(frames)),
            "key": key or new_id(),
        }
        reply = await self._http.post(_about(execution_id, "frames"), body)
        first, last = int(reply["first"]), int(reply["last"])
        return Appended(first=first, last=last, version=reply["version"])

    @override
    async def read(self, execution_id: str, *, after: int = 0, limit: int = 100) -> FramePage:
        calls.check_page(limit)
        checks.integer("after", after, 0, bounds.FRAME_ID)
        query = {"after": after, "limit": limit}
        response = await self._http.send("GET", _about(execution_id, "stream"), query=query)
        page = _page(response.content)
        frames = tuple(_frame(frame) for frame in page.items)
        return FramePage(frames=frames, more=page.next_cursor is not None)

    @override
    async def logs(
        self,
        execution_id: str,
        *,
        level: str = "debug",
        limit: int = 100,
        cursor: str | None = None,
    ) -> LogPage:
        calls.check_page(limit)
        query = {"level": check_level(level), "limit": limit, "cursor": cursor}
        page = await self._http.get(_about(execution_id, "logs"), **query)
        lines = [LogLine(**{**line, "at": moment(line["at"])}) for line in page["items"]]
        return LogPage(lines=tuple(lines), next_cursor=page["next_cursor"])

    @override
    async def summary(self, execution_id: str) -> Summary:
        response = await self._http.send("GET", _about(execution_id, "summary"))
        summary = _summary(response.content)
        return Summary(document=bytes(summary.document), version=summary.version)

    @override
    async def tail(self, execution_id: str, *, after: int = 0) -> Tail:
        checks.integer("after", after, 0, bounds.FRAME_ID)
        response = await self._http.follow(_about(execution_id, "stream"), after=after)
        return RemoteTail(response, after)

    @override
    async def set_bounds(
        self,
        *,
        tenant: str | None = None,
        frames: int | None = None,
        size: int | None = None,
        age_ms: int | None = None,
    ) -> None:
        body = {"tenant": tenant, "frames": frames, "bytes": size, "age_ms": age_ms}
        await self._http.put("/v1/settings/streams", body)

    @override
    async def set_tails(self, most: int | None, *, tenant: str | None = None) -> None:
        await self._http.put("/v1/settings/tails", {"tenant": tenant, "most": most})

    @override
    async def settings(self) -> dict[str | None, StreamSettings]:
        reply = await self._http.get("/v1/settings/streams")
        return {
            view["tenant"]: StreamSettings(
                frames=view["frames"],
                size=view["bytes"],
                age_ms=view["age_ms"],
                tails=view["tails"],
            )
            for view in reply["items"]
        }


class RemoteTail(api.Tail):
    """A live reader of a stream. A lost connection ends it with a `retry` frame."""

    def __init__(self, response: aiohttp.ClientResponse, after: int) -> None:
        self._position = after
        self._frames: asyncio.Queue[Frame] = asyncio.Queue(_MOST_WAITING)
        self._arrived = asyncio.Event()
        self._reading = asyncio.ensure_future(self._read(response))
        self.done: bool = False

    @override
    async def next(self, wait_s: float | None = None) -> Sequence[Frame]:
        if self.done:
            return ()
        if self._frames.empty():
            await self._wait(wait_s)
        frames: list[Frame] = []
        while not self._frames.empty():
            frames.append(self._frames.get_nowait())
        if not frames and self._reading.done():
            self.close()
            if not self._reading.cancelled():
                self._reading.result()
            frames = [_retry(self._position)]
        elif frames:
            self._position = frames[-1].id
            if frames[-1].type == END:
                self.close()
        return frames

    async def _wait(self, wait_s: float | None) -> None:
        """Wait for a frame, or for the end of the stream."""
        self._arrived.clear()
        await first_of(self._arrived.wait(), self._reading, timeout_s=wait_s)

    @override
    def close(self) -> None:
        self.done = True
        self._reading.cancel()

    async def _read(self, response: aiohttp.ClientResponse) -> None:
        """Pass frames on until the end, or until the connection is lost."""
        last = self._position
        try:
            with contextlib.suppress(*LOST):
                async for name, data, _ in events(response):
                    frame = _end(last, data) if name == END else _frame(_decode_frame(data))
                    last = frame.id
                    await self._frames.put(frame)
                    self._arrived.set()
        finally:
            response.close()


class _FrameReply(msgspec.Struct):
    id: str
    attempt: int
    type: str
    payload: msgspec.Raw
    at: str
    encoding: str | None = None
    live: bool = False


class _PageReply(msgspec.Struct):
    items: list[_FrameReply]
    next_cursor: str | None


class _SummaryReply(msgspec.Struct):
    document: msgspec.Raw
    version: int


_page = msgspec.json.Decoder(_PageReply).decode
_summary = msgspec.json.Decoder(_SummaryReply).decode
_decode_frame = msgspec.json.Decoder(_FrameReply).decode


def _frame(view: _FrameReply) -> Frame:
    encoding = view.encoding
    if view.type in _TEXTS or encoding not in {None, _UTF8}:
        payload = msgspec.json.decode(view.payload, type=str).encode()
        if view.type == "bytes" and encoding == _BASE64:
            payload, encoding = base64.b64decode(payload), None
    else:
        # Kept as it was written, so that numbers keep every digit.
        payload = bytes(view.payload)
    return Frame(
        id=int(view.id),
        attempt=view.attempt,
        type=view.type,
        payload=payload,
        encoding=encoding,
        at=moment(view.at),
        live=view.live,
    )


def frame_bodies(frames: Sequence[NewFrame]) -> list[dict[str, Any]]:
    """Return frames as they are sent."""
    return [_frame_body(frame) for frame in frames]


def _frame_body(frame: NewFrame) -> dict[str, Any]:
    body: dict[str, Any] = {"type": frame.type, "live": frame.live, "place": frame.place}
    if frame.encoding is not None:
        body["encoding"] = frame.encoding
    if frame.type == "bytes" and frame.encoding is None:
        return {**body, "payload": base64.b64encode(frame.payload).decode(), "encoding": _BASE64}
    if frame.type not in _TEXTS and frame.encoding in {None, _UTF8}:
        return {**body, "payload": msgspec.Raw(frame.payload)}
    try:
        return {**body, "payload": frame.payload.decode()}
    except UnicodeDecodeError:
        checks.refuse("frame.payload", "with an encoding must be UTF-8 over HTTP", frame.encoding)


def _end(last: int, data: bytes) -> Frame:
    return Frame(id=last, attempt=0, type=END, payload=data, encoding=None, at=datetime.now(UTC))


def _retry(last: int) -> Frame:
    hint = msgspec.json.encode({"after_ms": RETRY_AFTER_MS})
    return Frame(id=last, attempt=0, type=RETRY, payload=hint, encoding=None, at=datetime.now(UTC))


def _about(execution_id: str, verb: str) -> str:
    return path("executions", checks.execution_id("id", execution_id), verb)
