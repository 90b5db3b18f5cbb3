"""frames: what may be streamed, and how JSON shows it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from holdfast.errors import InvalidInput, TooLarge
from holdfast.model import bounds
from holdfast.model.frames import Frame, NewFrame, number_of
from holdfast.model.states import State

AT = datetime(2026, 1, 1, tzinfo=UTC)


def shown(frame: NewFrame) -> dict[str, Any]:
    """What JSON shows of a frame that was stored."""
    stored = Frame(
        id=1, attempt=0, type=frame.type, payload=frame.payload, encoding=frame.encoding, at=AT
    )
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(stored.view()))
    return found


@pytest.mark.parametrize(
    ("kind", "payload", "encoding"),
    [
        ("text", "héllo", None),
        ("text", "x", "utf8"),
        ("text", "H4sIAAAA", "gzip"),
        ("bytes", "AP8=", "base64"),
        ("bytes", "as it is", "utf8"),
        ("bytes", "00ff", "hex"),
        ("json", {"a": [1, 2.5, None, {}]}, None),
        ("json", "a string", None),
        ("json", None, None),
        ("log", "a line", None),
        ("log", {"level": "info", "message": "m"}, None),
        ("event", {"name": "n", "data": []}, None),
        ("summary", {"a": None}, None),
    ],
)
def test_what_json_brings_json_shows(kind: str, payload: Any, encoding: str | None) -> None:
    """There and back again, with its encoding."""
    found = shown(NewFrame.from_view(kind, payload, encoding))
    assert found["payload"] == payload
    assert found.get("encoding") == encoding
    assert {"id", "attempt", "type", "payload", "at"} <= found.keys()


def test_bytes_are_shown_in_base64() -> None:
    """JSON has no bytes, so the encoding is said."""
    found = shown(NewFrame(type="bytes", payload=b"\x00\xff"))
    assert (found["payload"], found["encoding"]) == ("AP8=", "base64")
    assert NewFrame.from_view("bytes", "AP8=", "base64").payload == b"\x00\xff"


@pytest.mark.parametrize(
    ("kind", "payload", "encoding"),
    [
        ("video", "x", None),
        (None, "x", None),
        ("end", "x", None),
        ("attempt", "x", None),
        ("text", 1, None),
        ("text", None, None),
        ("text", "\ud800", None),
        ("bytes", "no base64!", "base64"),
        ("text", "x", "two words"),
        ("text", "x", 1),
    ],
)
def test_what_cannot_be_streamed_is_refused(kind: Any, payload: Any, encoding: Any) -> None:
    """By name."""
    with pytest.raises(InvalidInput) as raised:
        NewFrame.from_view(kind, payload, encoding)
    assert raised.value.context["field"].startswith("frame.")


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "json", "payload": b"{"},
        {"type": "text", "payload": b"\xff"},
        {"type": "text", "payload": "str"},
        {"type": "summary", "payload": b"{}", "live": True},
        {"type": "text", "payload": b"", "place": 0},
        {"type": "text", "payload": b"", "live": 1},
    ],
)
def test_a_frame_is_checked_when_it_is_made(fields: dict[str, Any]) -> None:
    """Nothing is coerced."""
    with pytest.raises(InvalidInput):
        NewFrame(**fields)


def test_a_payload_is_bounded() -> None:
    """In bytes, not in characters."""
    assert NewFrame.from_view("text", "é" * (bounds.FRAME_BYTES // 2)).payload
    for payload in ("é" * (bounds.FRAME_BYTES // 2 + 1), "x" * (bounds.FRAME_BYTES + 1)):
        with pytest.raises(TooLarge):
            NewFrame.from_view("text", payload)


def test_the_last_frame_says_how_it_ended() -> None:
    """As a state."""
    frame = Frame(id=3, attempt=0, type="end", payload=b'{"state":"failed"}', encoding=None, at=AT)
    assert frame.state is State.FAILED
    assert msgspec.json.decode(msgspec.json.encode(frame.view()))["payload"] == {"state": "failed"}


@pytest.mark.parametrize("text", ["", "x", "-1", "1.0", "\u0661", "9" * 16, "9" * 5_000, "1\n"])
def test_a_number_of_a_frame_is_a_bounded_decimal(text: str) -> None:
    """Whatever a header may contain."""
    assert number_of("12") == 12
    assert number_of(str(bounds.FRAME_ID)) == bounds.FRAME_ID
    assert number_of(text) is None
