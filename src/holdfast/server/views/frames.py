"""Frames in the bodies of calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Raw

from holdfast.model import bounds, checks
from holdfast.model.frames import NewFrame
from holdfast.server.views.fields import Body, Name

FRAMES_BYTES = 16 << 20


class FrameBody(Body):
    """A frame to append."""

    type: Literal["text", "json", "bytes", "log", "event", "summary", "reply"]
    #: A string for `text` and `bytes`, any JSON for the others; a `summary` is a merge patch.
    payload: Raw
    #: Passed on to readers; `base64` for bytes that are not text.
    encoding: Name | None = None
    #: Best effort: kept for only a few seconds.
    live: bool = False
    #: The position among the frames of an attempt, from 1. A repeated position is written once.
    place: Annotated[int, Meta(ge=1, le=bounds.FRAME_ID)] | None = None

    def frame(self) -> NewFrame:
        """Return the frame for the engine; JSON stays as it was written."""
        if self.type in {"text", "bytes"} or self.encoding not in {None, "utf8"}:
            made = NewFrame.from_view(self.type, self._text(), self.encoding)
        else:
            made = NewFrame(type=self.type, payload=bytes(self.payload), encoding=self.encoding)
        return replace(made, live=self.live, place=self.place)

    def _text(self) -> str:
        try:
            return msgspec.json.decode(self.payload, type=str)
        except msgspec.ValidationError:
            checks.refuse("frame.payload", "must be a string", bytes(self.payload))
