"""Encodes the effects of an ack for the store."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from holdfast.model.effects import Effect, Push
from holdfast.model.executions import NewExecution
from holdfast.model.ids import new_id
from holdfast.store.queues import Queues

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(NewExecution).decode

#: Target queue (empty for the engine), fields and body, in the form of the store.
Encoded = tuple[str, bytes, bytes]


def encode(queues: Queues, name: str, effect: Effect) -> Encoded:
    """Encode an effect with a unique id, so that delivering it twice creates it once."""
    if isinstance(effect, Push):
        return queues.encode_effect(effect.queue, effect.message)
    item = effect.execution
    if item.id is None and item.idempotency_key is None:
        item = replace(item, id=new_id())
    return queues.encode_submission(name, _encode(item))


def decode_execution(queues: Queues, name: str, entry: bytes) -> NewExecution:
    """Decode an execution that `encode` encoded."""
    return _decode(queues.submission(name, entry))
