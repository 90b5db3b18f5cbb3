"""Records of executions and their short form (lua/lib/core/brief.lua), behind the store's back."""

from __future__ import annotations

import re

import msgspec

from holdfast.store.store import Store

_STATES = {b"w": b"waiting", b"a": b"active", b"c": b"completed", b"r": b"completed"}
_BRIEF = re.compile(
    rb"(?P<letter>.)(?P<head>[^\n]*)\n(?P<place>[^\n]*)\n"
    rb"(?P<born>\d+) (?P<size>\S+) (?P<extras>\d+)\n"
)


_STEP = re.compile(rb"\n(?P<name>[^\n]*)\n(?P<size>\d+) (?P<at>\d+) ")


def read_brief(text: bytes) -> tuple[dict[bytes, bytes], dict[bytes, bytes]]:
    """Return the fields of the record that a brief stands for, and the steps in it."""
    match = _BRIEF.match(text)
    assert match is not None, text
    letter = match["letter"]
    tenant, lane, kind, *limits = match["place"].split(b"|")
    plain = b"2" if limits else b"1"
    record = {b"state": _STATES[letter], b"plain": plain, b"born": match["born"]}
    record |= {b"tenant": tenant, b"lane": lane, b"kind": kind}
    if limits:
        record |= {b"limited": b"1", b"limits": limits[0].replace(b",", b"\n")}
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
    steps: dict[bytes, bytes] = {}
    if (count := record.get(b"steps", b"")).startswith(b"+"):
        record[b"steps"] = count[1:]
        for number in range(1, int(count) + 1):
            step = _STEP.match(text, at)
            assert step is not None, text
            at = step.end() + int(step["size"])
            steps[step["name"]] = b"%d %s %s" % (number, step["at"], text[step.end() : at])
    if letter == b"c":
        record[b"result"] = text[at:]
    return record, steps


def unfolded(key: str, text: bytes) -> dict[str, dict[bytes, bytes]]:
    """Return the hashes that the brief at a key stands for, by their keys."""
    record, steps = read_brief(text)
    return {key: record} | ({key.replace("}:x:", "}:s:", 1): steps} if steps else {})


async def record_of(store: Store, execution_id: str) -> dict[bytes, bytes]:
    """Return the record of an execution, in whichever form it is."""
    key = f"{store.tag_of(execution_id)}:x:{execution_id}"
    if (await store.client.call(["TYPE", key])) == b"string":
        return read_brief(await store.client.call(["GET", key]))[0]
    flat = await store.client.call(["HGETALL", key])
    return flat if isinstance(flat, dict) else dict(zip(flat[::2], flat[1::2], strict=True))


async def plant(store: Store, execution_id: str, name: str, value: str) -> None:
    """Write a field of a record, which becomes a hash."""
    key = f"{store.tag_of(execution_id)}:x:{execution_id}"
    if (await store.client.call(["TYPE", key])) == b"string":
        hashes = unfolded(key, await store.client.call(["GET", key]))
        await store.client.call(["DEL", key])
        for place, fields in hashes.items():
            flat = [part for pair in fields.items() for part in pair]
            await store.client.call(["HSET", place, *flat])
    await store.client.call(["HSET", key, name, value])
