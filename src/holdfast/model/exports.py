"""Exported executions: complete, in the form in which the store keeps them.

This module also decodes them, so no other code knows that form.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from holdfast.errors import InvalidInput
from holdfast.model import checks, records
from holdfast.model.executions import (
    JSON_CONTENT_TYPE,
    Attempt,
    Event,
    Execution,
    ExecutionId,
    Outcome,
    Step,
)
from holdfast.model.frames import Frame
from holdfast.model.moments import from_ms
from holdfast.model.states import State
from holdfast.model.views import View

#: The version of the exported form; readers refuse a newer one.
FORMAT = 1


Section = bytes | list[bytes]


_pack = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class Exported:
    """All data of an execution that has ended. `born` and `run` identify this end."""

    id: str
    fields: Mapping[bytes, bytes]
    sections: Mapping[str, Section]

    @property
    def born(self) -> int:
        """The birth stamp in us: another execution with the same id has another one."""
        return int(self.fields[b"born"])

    @property
    def run(self) -> int:
        """How often it was replayed before."""
        return int(self.fields.get(b"replays", 0))

    @property
    def tenant(self) -> str:
        """The tenant that it belongs to."""
        return self.fields[b"tenant"].decode()

    @property
    def lane(self) -> str:
        """The lane that it ran on."""
        return self.fields[b"lane"].decode()

    @property
    def kind(self) -> str:
        """The kind of the execution."""
        return self.fields[b"kind"].decode()

    @property
    def state(self) -> str:
        """How it ended."""
        return self.fields[b"state"].decode()

    @property
    def ended_ms(self) -> int:
        """When it ended."""
        return int(self.fields[b"ended"])

    # Reads, with the same names as in the engine

    def describe(self) -> Execution:
        """Return its description."""
        flat = [part for pair in self.fields.items() for part in pair]
        log = self._log()
        ending = b"" if self.fields[b"state"] == b"completed" or not log else log[-1]
        tags = self._packed_tags()
        described = records.execution(self.id, flat, tags, self._bytes("note"), ending)
        return replace(described, forget_at=None)

    def tags(self) -> dict[str, str]:
        """Return its tags."""
        return records.tags(self._packed_tags())

    def _packed_tags(self) -> bytes:
        return self._bytes("tags") or self.fields.get(b"tags", b"")

    def input(self) -> bytes:
        """Return the input as it was submitted."""
        return self.fields.get(b"input") or self._bytes("input")

    def result(self) -> bytes | None:
        """Return its result, None if it has none."""
        if self.fields[b"state"] != b"completed":
            return None
        return self.fields.get(b"result") or self._bytes("result")

    def outcome(self) -> Outcome:
        """Return how it ended."""
        known = self.describe()
        content_type = self.fields.get(b"content_type", b"").decode()
        return Outcome(
            id=ExecutionId(self.id),
            state=known.state,
            result=self.result(),
            content_type=content_type or JSON_CONTENT_TYPE,
            error=known.error,
            reason=known.reason,
        )

    def history(self) -> list[Event]:
        """Return what happened to it, oldest first."""
        return records.events(self.fields[b"born"], self._log())

    def attempts(self) -> list[Attempt]:
        """Return its attempts, oldest first."""
        return records.attempts(self._log())

    def steps(self) -> list[Step]:
        """Return its journal in the order of recording."""
        return records.steps(self._parts("steps"))

    def view(self) -> View:
        """Return the view that it set last."""
        state, version = State(self.state), int(self.fields.get(b"view", 0))
        if not version:
            return View(state=state, version=0)
        at, _, data = self._bytes("view").partition(b" ")
        return View(state=state, version=version, data=data, at=from_ms(int(at)))

    def frames(self) -> list[Frame]:
        """Return its stream."""
        rows = map(frame_parts, self._parts("frames"))
        return [records.frame(name, flat, live=False) for name, flat in rows]

    def _bytes(self, name: str) -> bytes:
        value = self.sections.get(name, b"")
        return value if isinstance(value, bytes) else b""

    def _parts(self, name: str) -> list[bytes]:
        value = self.sections.get(name, [])
        return value if isinstance(value, list) else []

    def _log(self) -> list[bytes]:
        """Return the log, completed from the record as lib/core/log.lua does."""
        log, fields = list(self._parts("log")), self.fields
        last: dict[str, object] = {"attempt": int(fields.get(b"attempts", 0)) - 1}
        if b"claimed" in fields:
            claim = {"at": int(fields[b"claimed"]), "event": "claimed", **last}
            claim |= {"epoch": int(fields[b"epoch"]), "worker": fields[b"worker"].decode()}
            if b"turn" in fields:
                claim["kind"] = fields[b"turn"].decode()
            log.append(_pack(claim))
        if fields[b"state"] == b"completed":
            log.append(_pack({"at": int(fields[b"ended"]), "event": "completed", **last}))
        return log

    def with_payloads(self, data: bytes, result: bytes | None) -> Exported:
        """Return a copy with this input and result."""
        fields = {k: v for k, v in self.fields.items() if k not in (b"input", b"result")}
        sections: dict[str, Section] = {**self.sections, "input": data}
        if result is not None:
            sections["result"] = result
        return Exported(self.id, fields, sections)

    # Stored forms

    def to_row(self) -> list[Any]:
        """Return the row of a segment."""
        return [self.id, dict(self.fields), dict(self.sections)]

    def to_json(self) -> bytes:
        """Return the contents of a file.

        `about` is for people. A reader uses only the rest: the stored form in base64.
        """
        value = {
            "holdfast_execution": FORMAT,
            "id": self.id,
            "about": self._about(),
            "fields": {name.decode(): _text(value) for name, value in self.fields.items()},
            "sections": {
                name: _text(value) if isinstance(value, bytes) else [_text(v) for v in value]
                for name, value in self.sections.items()
            },
        }
        return msgspec.json.format(msgspec.json.encode(value), indent=1)

    def _about(self) -> dict[str, Any]:
        """Return a readable form, with JSON payloads as JSON."""
        outcome = self.outcome()
        return {
            "execution": self.describe(),
            "input": _readable(self.input()),
            "result": _readable(outcome.result, outcome.content_type),
            "attempts": self.attempts(),
            "steps": [
                {"name": step.name, "at": step.at, "result": _readable(step.result)}
                for step in self.steps()
            ],
            "frames": [frame.view() for frame in self.frames()],
            "history": self.history(),
        }


def _readable(data: bytes | None, content_type: str = JSON_CONTENT_TYPE) -> object:
    if data is None:
        return None
    if content_type == JSON_CONTENT_TYPE:
        try:
            msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
        else:
            return msgspec.Raw(data)
    return {"base64": _text(data)}


#: The name of a frame and its fields. They are packed as text, but may be any bytes.
_PackedFrame = tuple[msgspec.Raw, list[msgspec.Raw]]


#: The length of a packed string's head, by its first byte; the head of a short string is that byte.
_HEADS = {0xD9: 2, 0xDA: 3, 0xDB: 5, 0xC4: 2, 0xC5: 3, 0xC6: 5}


def _raw_bytes(packed: msgspec.Raw) -> bytes:
    data = bytes(packed)
    return data[_HEADS.get(data[0], 1) :]


def frame_parts(packed: bytes) -> tuple[bytes, list[bytes]]:
    """Return the name of a packed frame, and its fields."""
    name, flat = msgspec.msgpack.decode(packed, type=_PackedFrame)
    return _raw_bytes(name), [_raw_bytes(part) for part in flat]


def pack_frame(name: bytes, flat: Sequence[bytes]) -> bytes:
    """Return a frame packed as the store packs it: all parts as text, which may be any bytes."""
    head = b"\x92" + _as_text(name) + b"\xdd" + len(flat).to_bytes(4, "big")
    return head + b"".join(map(_as_text, flat))


def _as_text(data: bytes) -> bytes:
    return b"\xdb" + len(data).to_bytes(4, "big") + data


def from_row(row: Sequence[Any]) -> Exported:
    """Decode a row of a segment."""
    execution_id, fields, sections = row
    return Exported(execution_id, fields, sections)


def from_json(data: bytes) -> Exported:
    """Decode a file; raises InvalidInput if it is not an exported execution."""
    try:
        value = msgspec.json.decode(data)
        if value["holdfast_execution"] != FORMAT:
            checks.refuse("file", f"must have format {FORMAT}", value["holdfast_execution"])
        exported = Exported(
            checks.execution_id("id", value["id"]),
            {name.encode(): _data(text) for name, text in value["fields"].items()},
            {
                name: _data(item) if isinstance(item, str) else [_data(text) for text in item]
                for name, item in value["sections"].items()
            },
        )
        state = exported.describe().state
    except (KeyError, TypeError, AttributeError, ValueError, msgspec.DecodeError) as error:
        raise InvalidInput(f"file: is not an exported execution ({error})", field="file") from error
    if not State(state).is_terminal:
        checks.refuse("file", "must hold an execution that has ended", state)
    return exported


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _data(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
