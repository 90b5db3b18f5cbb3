"""Exported executions: as replies, as arguments, and with their payloads sealed or opened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol, final

import msgspec
from typing_extensions import override

from holdfast.model import exports, records
from holdfast.model.exports import Exported, Section
from holdfast.model.sealing import Sealing
from holdfast.model.session_keys import session_of
from holdfast.store.executions import input_scopes, open_step, step_scope

_pack, _unpack = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder().decode

#: What a conversation recorded: the number of a reply, and a value of the session's state.
_REPLY_STEP = "say"
_STATE_RESULT = re.compile(rb"(\d+ [01] )(.*)", re.DOTALL)


def from_reply(row: Sequence[Any]) -> Exported:
    """Decode a reply."""
    execution_id, fields, sections = row
    named = {
        name.decode(): value for name, value in zip(sections[::2], sections[1::2], strict=True)
    }
    return Exported(execution_id.decode(), records.pairs(fields), named)


def restore_args(exported: Exported) -> list[str | bytes]:
    """Return the record and the sections in the form that restore.lua reads."""
    fields = [part for pair in exported.fields.items() for part in pair]
    args: list[str | bytes] = [str(len(fields)), *fields]
    for name, value in exported.sections.items():
        if isinstance(value, bytes):
            args += [name, "-1", value]
        else:
            args += [name, str(len(value)), *value]
    return args


def open_export(sealing: Sealing, row: Exported) -> Exported:
    """Return an exported execution in plain form; raises PayloadUnreadable."""
    return _converted(row, _Opening(sealing, row))


def seal_export(sealing: Sealing, row: Exported) -> Exported:
    """Return an exported execution, which is in plain form, as the store keeps it."""
    return row if sealing.sealer is None else _converted(row, _Closing(sealing, row))


class _Conversion(Protocol):
    """What becomes of each payload."""

    def whole(self, name: str, data: bytes) -> bytes: ...

    def step(self, name: str, result: bytes) -> bytes: ...

    def signal(self, payload: str) -> str: ...

    def error(self, encoded: str) -> str: ...


def _converted(row: Exported, conversion: _Conversion) -> Exported:
    fields = dict(row.fields)
    for name in (b"input", b"result"):
        if name in fields:
            fields[name] = conversion.whole(name.decode(), fields[name])
    sections = {name: _section(name, value, conversion) for name, value in row.sections.items()}
    return Exported(row.id, fields, sections)


def _section(name: str, value: Section, conversion: _Conversion) -> Section:
    if isinstance(value, bytes):
        return _text(name, value, conversion)
    if name == "steps":
        return _steps(value, conversion)
    if name == "frames":
        return [_frame(packed, conversion) for packed in value]
    if name == "mail":
        return _mail(value, conversion)
    if name in _PACKED:
        return [_entry(packed, conversion) for packed in value]
    return value


def _text(name: str, value: bytes, conversion: _Conversion) -> bytes:
    if name == "view":
        at, _, data = value.partition(b" ")
        return at + b" " + conversion.whole(name, data)
    return conversion.whole(name, value) if name in _WHOLE else value


_WHOLE = ("input", "result", "note", "document")
_PACKED = ("log", "signals")


def _steps(flat: list[bytes], conversion: _Conversion) -> list[bytes]:
    converted = []
    for name, value in records.pairs(flat).items():
        number, at, result = value.split(b" ", 2)
        converted += [name, b" ".join([number, at, conversion.step(name.decode(), result)])]
    return converted


def _mail(flat: list[bytes], conversion: _Conversion) -> list[bytes]:
    """Convert the signals of an inbox."""
    mail = records.pairs(flat)
    return [part for name in mail for part in (name, _entry(mail[name], conversion))]


def _frame(packed: bytes, conversion: _Conversion) -> bytes:
    name, flat = exports.frame_parts(packed)
    parts = {**records.pairs(flat)}
    parts[b"p"] = conversion.whole("frame", parts[b"p"])
    return exports.pack_frame(name, [part for pair in parts.items() for part in pair])


def _entry(packed: bytes, conversion: _Conversion) -> bytes:
    """Convert an entry of the log, or a signal."""
    values: dict[str, Any] = _unpack(packed)
    if "error" in values:
        values["error"] = conversion.error(values["error"])
    if "payload" in values:
        values["payload"] = conversion.signal(values["payload"])
    return _pack(values)


@final
class _Opening(_Conversion):
    def __init__(self, sealing: Sealing, row: Exported) -> None:
        self._sealing, self._id = sealing, row.id
        self._inputs = input_scopes(row.id, row.tenant)

    @override
    def whole(self, name: str, data: bytes) -> bytes:
        scopes = self._inputs if name == "input" else {name: self._id}
        return self._sealing.open(data, **scopes)

    @override
    def step(self, name: str, result: bytes) -> bytes:
        return open_step(self._sealing, self._id, name, result)

    @override
    def signal(self, payload: str) -> str:
        return self._sealing.open(payload.encode(), signal=self._id).decode()

    @override
    def error(self, encoded: str) -> str:
        opened = self._sealing.open_error(msgspec.json.decode(encoded), self._id)
        return msgspec.json.encode(opened).decode()


@final
class _Closing(_Conversion):
    def __init__(self, sealing: Sealing, row: Exported) -> None:
        self._sealing, self._id, self._tenant = sealing, row.id, row.tenant
        self._session = session_of(row.id) if b"session" in row.fields else None

    @override
    def whole(self, name: str, data: bytes) -> bytes:
        if name == "note":
            return self._sealing.seal_token(data, name, self._id)
        scope = self._tenant if name == "input" else self._id
        return self._sealing.seal(data, name, scope)

    @override
    def step(self, name: str, result: bytes) -> bytes:
        if self._session is None:
            return self._sealing.seal(result, "step", step_scope(self._id, name))
        # The store reads what a conversation recorded, so its form stays.
        if name.startswith(_REPLY_STEP) and result.isdigit():
            return result
        if match := _STATE_RESULT.fullmatch(result):
            value = match[2] and self._sealing.seal_token(match[2], "state", self._session)
            return match[1] + value
        return self._sealing.seal_token(result, "message", self._session)

    @override
    def signal(self, payload: str) -> str:
        return self._sealing.seal_text(payload, "signal", self._id)

    @override
    def error(self, encoded: str) -> str:
        return self._sealing.seal_error(encoded.encode(), self._id).decode()
