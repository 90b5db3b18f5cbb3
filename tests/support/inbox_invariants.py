"""What must always hold for the inboxes and views of executions, checked from outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

_unpack = msgspec.msgpack.Decoder().decode

Families = Mapping[str, Mapping[str, Any]]


def inbox_problems(families: Families, records: Mapping[str, dict[str, bytes]]) -> Iterator[str]:
    """Say what is wrong with the inboxes of a partition."""
    for execution_id, record in records.items():
        listed = list(families["unread"].get(execution_id, []))
        mail = {
            number: _unpack(packed)
            for number, packed in families["mail"].get(execution_id, {}).items()
        }
        named = [f"{number.decode()} {signal['name']}".encode() for number, signal in mail.items()]
        if sorted(listed) != sorted(named):
            yield f"execution {execution_id} lists {listed} as unread, but has {named}"
        numbers = [int(entry.split(b" ")[0]) for entry in listed]
        if numbers != sorted(numbers) or any(n > int(record.get("mail", 0)) for n in numbers):
            yield f"execution {execution_id} has its unread signals in the order {numbers}"
        size = sum(len(signal["payload"]) for signal in mail.values())
        if size != int(record.get("mail_bytes", 0)):
            yield f"execution {execution_id} has {size} unread bytes, its record says otherwise"
        if ("view" in record) != (execution_id in families["view"]):
            yield f"execution {execution_id} has a view, or its record says so, but not both"
