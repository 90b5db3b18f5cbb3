"""Frames: the ordered output of an execution, over all its attempts."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Self

import msgspec

from holdfast.errors import TooLarge
from holdfast.model import bounds, checks
from holdfast.model.states import State

#: The types that a worker may append.
FrameType = Literal["text", "json", "bytes", "log", "event", "summary", "reply"]
TYPES: tuple[FrameType, ...] = ("text", "json", "bytes", "log", "event", "summary", "reply")

#: Types that Holdfast writes: an attempt starts; the execution has ended; the reader must retry.
ATTEMPT, END, RETRY = "attempt", "end", "retry"

#: Payloads of other types are JSON.
_NOT_JSON = frozenset({"text", "bytes"})
_BASE64, _UTF8 = "base64", "utf8"
_NUMBER = re.compile("[0-9]{1,16}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFrame:
    """A frame to append. Its fields are checked when it is made."""

    type: FrameType
    #: UTF-8 for text, raw bytes for bytes, JSON for the other types.
    payload: bytes
    #: The encoding of the payload, stored for the reader; absent means none.
    encoding: str | None = None
    #: Best effort: kept for a few seconds only.
    live: bool = False
    #: Its position among the frames of an attempt, from 1; a repeated position is written once.
    place: int | None = None

    def __post_init__(self) -> None:
        if self.place is not None:
            checks.integer("frame.place", self.place, 1, bounds.FRAME_ID)
        checks.one_of("frame.type", self.type, TYPES)
        checks.payload("frame.payload", self.payload, bounds.FRAME_BYTES)
        checks.flag("frame.live", self.live)
        if self.encoding is not None:
            checks.name("frame.encoding", self.encoding)
        if self.type != "bytes" and self.encoding in (None, _UTF8):
            _check_text(self.type, self.payload)
        if self.type == "summary" and self.live:
            checks.refuse("frame.live", "a summary frame cannot be live", self.live)

    @classmethod
    def of_lines(cls, payload: bytes) -> Self:
        """Make a `log` frame of lines that Holdfast itself encoded: they need no check."""
        frame = object.__new__(cls)
        fields = {"type": "log", "payload": payload, "encoding": None, "live": False, "place": None}
        for name, value in fields.items():
            object.__setattr__(frame, name, value)
        return frame

    @classmethod
    def from_view(cls, kind: Any, payload: Any, encoding: Any = None) -> Self:
        """Make one from JSON values, as sent over HTTP; `Frame.view` is the reverse."""
        checks.one_of("frame.type", kind, TYPES)
        if encoding is not None:
            checks.name("frame.encoding", encoding)
        if kind in _NOT_JSON or encoding not in (None, _UTF8):
            if not isinstance(payload, str):
                checks.refuse("frame.payload", "must be a string", payload)
            # Base64 has four characters for three bytes; the bytes are counted after decoding.
            is_base64 = kind == "bytes" and encoding == _BASE64
            if len(payload) > bounds.FRAME_BYTES * (2 if is_base64 else 1):
                raise TooLarge(
                    f"frame.payload: {len(payload)} characters are over the limit of "
                    f"{bounds.FRAME_BYTES} bytes",
                    field="frame.payload",
                    limit=bounds.FRAME_BYTES,
                )
            data = _utf8(payload)
            if is_base64:
                data, encoding = _from_base64(payload), None
            elif kind == "bytes" and encoding is None:
                encoding = _UTF8
            return cls(type=kind, payload=data, encoding=encoding)
        try:
            data = msgspec.json.encode(payload)
        except (TypeError, ValueError, RecursionError) as error:
            checks.refuse("frame.payload", f"has no JSON form ({error})", payload)
        return cls(type=kind, payload=data, encoding=encoding)


def number_of(text: str) -> int | None:
    """Return the number of a frame, as a reader that continues after it says it; None if wrong."""
    if not _NUMBER.fullmatch(text) or int(text) > bounds.FRAME_ID:
        return None
    return int(text)


def check_batch(frames: Sequence[NewFrame]) -> Sequence[NewFrame]:
    """Check frames that are appended together."""
    checks.integer("number of frames", len(frames), 1, bounds.FRAMES_IN_BATCH)
    size = 0
    for number, frame in enumerate(frames):
        checks.instance(f"frames[{number}]", frame, NewFrame)
        size += len(frame.payload)
        if frame.type == "summary" and frame.place is not None and len(frames) > 1:
            problem = "a summary frame with a position must be the only frame of its batch"
            checks.refuse(f"frames[{number}]", problem, frame.place)
    if size > bounds.FRAME_BATCH_BYTES:
        message = f"frames: {size} bytes are over the limit of {bounds.FRAME_BATCH_BYTES}"
        raise TooLarge(message, field="frames", limit=bounds.FRAME_BATCH_BYTES)
    return frames


def check_last(frames: Sequence[NewFrame]) -> Sequence[NewFrame]:
    """Check frames that are appended with the end of an execution."""
    for number, frame in enumerate(check_batch(frames)):
        if frame.type == "summary":
            problem = "a summary frame must be appended before the end"
            checks.refuse(f"frames[{number}]", problem, frame.type)
    return frames


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A frame of a stream."""

    #: Increases over all attempts, without gaps when written; old frames are dropped.
    id: int
    attempt: int
    #: One of `TYPES`, or `attempt`, `end`, `retry`.
    type: str
    payload: bytes
    encoding: str | None
    at: datetime
    live: bool = False

    @property
    def text(self) -> str:
        """The payload as text."""
        return self.payload.decode()

    def json(self) -> Any:
        """Return the decoded payload of a frame with JSON."""
        return msgspec.json.decode(self.payload)

    @property
    def state(self) -> State | None:
        """How the execution ended, if this is the last frame of its stream."""
        return State(self.json()["state"]) if self.type == END else None

    def view(self) -> dict[str, Any]:
        """Return the JSON form: the payload as a value, as text, or in base64."""
        payload: Any = None
        encoding = self.encoding
        if encoding not in (None, _UTF8):
            payload = self.payload.decode("utf-8", "replace")
        elif self.type == "text" or encoding == _UTF8:
            payload = self.payload.decode() if self.type in _NOT_JSON else msgspec.Raw(self.payload)
        elif self.type == "bytes":
            payload, encoding = base64.b64encode(self.payload).decode(), _BASE64
        else:
            # As it was written: numbers keep every digit.
            payload = msgspec.Raw(self.payload)
        view = {
            "id": self.id,
            "attempt": self.attempt,
            "type": self.type,
            "payload": payload,
            "at": self.at,
        }
        return view if encoding is None else {**view, "encoding": encoding}


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """The answer to an append."""

    #: The numbers of the first and the last frame of the batch.
    first: int
    last: int
    #: The version of the summary document after it.
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FramePage:
    """A part of a stream, in order."""

    frames: tuple[Frame, ...]
    #: Whether more frames follow.
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The document into which an execution's summary frames are merged."""

    #: A JSON object; its numbers keep every digit.
    document: bytes
    #: The number of patches merged so far.
    version: int

    def json(self) -> dict[str, Any]:
        """Return the document as a value."""
        document: dict[str, Any] = msgspec.json.decode(self.document)
        return document


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings:
    """How much of each stream is kept, and the maximum of live readers; None is the default."""

    frames: int | None = None
    size: int | None = None
    age_ms: int | None = None
    #: Per tenant and process.
    tails: int | None = None


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        checks.refuse("frame.payload", "must be valid Unicode", text)


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        checks.refuse("frame.payload", "must be base64", text)


def _check_text(kind: str, payload: bytes) -> None:
    """Check that a payload fits its type."""
    try:
        if kind == "text":
            payload.decode()
        else:
            msgspec.json.decode(payload)
    except UnicodeDecodeError:
        checks.refuse("frame.payload", "must be UTF-8", payload)
    except (msgspec.DecodeError, RecursionError) as error:
        checks.refuse("frame.payload", f"must be JSON ({error})", payload)


RETRY_AFTER_MS = 1_000
