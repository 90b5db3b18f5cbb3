"""Rules of the inboxes and views of executions."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from holdfast.store.verify.view import Record, View

_unpack = msgspec.msgpack.Decoder().decode


def problems(view: View, execution_id: str, record: Record) -> Iterator[str]:
    """Return what is wrong with the inbox of an execution."""
    listed = list(view.value(f"unread:{execution_id}") or [])
    packed = view.value(f"mail:{execution_id}") or {}
    mail = {number: _unpack(signal) for number, signal in packed.items()}
    named = [f"{number.decode()} {signal['name']}".encode() for number, signal in mail.items()]
    if sorted(listed) != sorted(named):
        yield f"lists {listed} as unread, but has {named}"
    numbers = [int(entry.split(b" ")[0]) for entry in listed]
    if numbers != sorted(numbers) or any(n > int(record.get("mail", 0)) for n in numbers):
        yield f"has its unread signals in the order {numbers}"
    size = sum(len(signal["payload"]) for signal in mail.values())
    if size != int(record.get("mail_bytes", 0)):
        yield f"has {size} unread bytes, its record says otherwise"
    if ("view" in record) != view.has(f"view:{execution_id}"):
        yield "has a view, or its record says so, but not both"
