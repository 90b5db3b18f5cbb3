"""Decodes replies about queues to values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from holdfast.model.deliveries import Delivery, PendingDelivery
from holdfast.model.messages import DeadLetter, Message
from holdfast.model.moments import from_ms
from holdfast.model.queues import GroupStats, Mode, Queue, QueueSettings, QueueStats
from holdfast.model.records import pairs

_unpack = msgspec.msgpack.Decoder().decode

#: The integer fields of a stored definition, with their public names.
_NUMBERS = {
    "max_attempts": "max_attempts",
    "lock": "lock_ms",
    "window": "dedup_window_ms",
    "ttl": "ttl_ms",
    "max_size": "max_size",
    "ageing": "ageing_ms",
    "cap": "max_in_flight",
    "consumer_cap": "max_in_flight_per_consumer",
}
_PAUSED = "paused|"


def setting_pairs(settings: QueueSettings) -> list[str]:
    """Encode a definition for define.lua: name, value pairs; empty means absent."""
    found: dict[str, object] = {
        stored: getattr(settings, name) for stored, name in _NUMBERS.items()
    }
    found["mode"] = settings.mode
    found["dead_letter"] = settings.dead_letter
    found["backoff"] = ",".join(map(str, settings.backoff))
    found["priority"] = "1" if settings.priority else "0"
    return [
        text
        for name, value in found.items()
        for text in (name, "" if value is None else str(value))
    ]


def queue(name: str, reply: Sequence[Any]) -> Queue:
    """Decode a definition."""
    flat, groups, dropped = reply
    fields = {k.decode(): v.decode() for k, v in pairs(flat).items()}
    numbers: dict[str, Any] = {
        outside: int(fields[stored]) for stored, outside in _NUMBERS.items() if stored in fields
    }
    backoff = fields.get("backoff", "")
    settings = QueueSettings(
        mode=cast("Mode", fields["mode"]),
        dead_letter=fields.get("dead_letter"),
        backoff=tuple(map(int, backoff.split(","))) if backoff else (),
        priority=fields["priority"] == "1",
        **numbers,
    )
    paused = {field.removeprefix(_PAUSED) for field in fields if field.startswith(_PAUSED)}
    return Queue(
        name=name,
        settings=settings,
        created_at=from_ms(int(fields["born"])),
        groups=tuple(sorted(group.decode() for group in groups)),
        paused="" in paused,
        paused_groups=tuple(sorted(paused - {""})),
        takes_dead_letters="dlq" in fields,
        dropped=tuple(dead_letter(packed) for packed in dropped),
    )


def dead_letter(packed: bytes) -> DeadLetter:
    """Decode an envelope."""
    found = _unpack(packed)
    first = found.get("first_at")
    return DeadLetter(
        origin=found["origin"],
        group=found["group"],
        id=found["id"],
        attempts=found["attempts"],
        first_at=None if first is None else from_ms(first),
        last_at=from_ms(found["last_at"]),
        reason=found["reason"],
    )


def delivery(row: Sequence[Any]) -> Delivery:
    """Decode a hand-out."""
    handle, message_id, body, key, attempt, born, due, letter = row
    return Delivery(
        handle=handle.decode(),
        message=message((message_id, body, key, attempt, born, letter)),
        deadline=from_ms(int(due)),
    )


def message(row: Sequence[Any]) -> Message:
    """Decode a message."""
    message_id, body, key, attempt, born, letter = row
    return Message(
        id=message_id.decode(),
        payload=body,
        key=key.decode() or None,
        attempt=int(attempt),
        enqueued_at=from_ms(int(born)),
        dead_letter=dead_letter(letter) if letter else None,
    )


def pending(row: Sequence[Any]) -> PendingDelivery:
    """Decode a delivery under way."""
    message_id, key, consumer, attempt, at, due = row
    return PendingDelivery(
        id=message_id.decode(),
        key=key.decode() or None,
        consumer=consumer.decode(),
        attempt=int(attempt),
        since=from_ms(int(at)),
        deadline=from_ms(int(due)),
    )


def stats(reply: Sequence[Any]) -> QueueStats:
    """Decode counts."""
    mode, owed, whole, *groups = reply
    return QueueStats(
        mode=cast("Mode", mode.decode()),
        owed=owed,
        groups={
            name.decode(): GroupStats(**_counts(flat))
            for name, flat in zip(groups[::2], groups[1::2], strict=True)
        },
        **_counts(whole),
    )


def _counts(flat: Sequence[Any]) -> dict[str, int]:
    return {name.decode(): count for name, count in zip(flat[::2], flat[1::2], strict=True)}
