"""Briefs, the records of plain executions, read behind the store's back (lua/lib/core/brief.lua)."""

from __future__ import annotations

import re

import msgspec

_STATES = {b"w": b"waiting", b"a": b"active", b"c": b"completed", b"r": b"completed"}
_BRIEF = re.compile(
    rb"(?P<letter>.)(?P<head>[^\n]*)\n(?P<place>[^\n]*)\n(?P<born>\d+) (?P<size>\S+) (?P<extras>\d+)\n"
)


def read_brief(text: bytes) -> dict[bytes, bytes]:
    """Return the fields of the record that a brief stands for."""
    match = _BRIEF.match(text)
    assert match is not None, text
    letter = match["letter"]
    tenant, lane, kind = match["place"].split(b"|", 2)
    record = {b"state": _STATES[letter], b"plain": b"1", b"born": match["born"]}
    record |= {b"tenant": tenant, b"lane": lane, b"kind": kind}
    if letter != b"w":
        names = (b"fence", b"due", b"claimed", b"steps", b"ended", b"worker")
        parts = zip(names, match["head"].split(b" ", 5), strict=True)
        record |= {name: value for name, value in parts if value != b"-"}
        record |= {b"attempts": b"1", b"epoch": b"1", b"started": record[b"claimed"]}
    at = match.end() + int(match["extras"])
    if packed := text[match.end() : at]:
        extras = msgspec.msgpack.decode(packed)
        record |= {name.encode(): str(value).encode() for name, value in extras.items()}
    if match["size"] != b"-":
        record[b"input"] = text[at : at + int(match["size"])]
        at += int(match["size"])
    if letter == b"c":
        record[b"result"] = text[at:]
    return record
