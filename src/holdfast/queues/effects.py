"""What a consumer does together with its ack: push to queues, submit executions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from holdfast.model import checks
from holdfast.model.executions import NewExecution
from holdfast.model.ids import new_id
from holdfast.model.queues import NewMessage
from holdfast.store.queues import encode_message

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(NewExecution).decode

#: Target queue or empty for the engine, fields, body, as the store takes them.
Packed = tuple[str, bytes, bytes]


@dataclass(frozen=True, slots=True)
class Push:
    """Push a message to a queue. It is not refused for size, and its id is not remembered."""

    queue: str
    message: NewMessage

    def __post_init__(self) -> None:
        checks.queue("queue", self.queue)
        checks.instance("message", self.message, NewMessage)

    def encode(self) -> Packed:
        """Encode it, with an id of its own."""
        message = self.message
        return self.queue, encode_message(message, message.id or new_id()), message.payload


@dataclass(frozen=True, slots=True)
class Submit:
    """Submit an execution."""

    execution: NewExecution

    def __post_init__(self) -> None:
        checks.instance("execution", self.execution, NewExecution)

    def encode(self) -> Packed:
        """Encode it, with an id of its own, so that delivering it twice creates it once."""
        item = self.execution
        if item.id is None and item.idempotency_key is None:
            item = replace(item, id=new_id())
        return "", b"", _encode(item)


Effect = Push | Submit


def decode_execution(entry: bytes) -> NewExecution:
    """Decode what `Submit.pack` encoded."""
    return _decode(entry)
