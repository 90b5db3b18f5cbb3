"""Message queues; each method is one call of one function, under the queue's own tag."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from holdfast.errors import DedupConflict, HoldfastError, PayloadUnreadable
from holdfast.model import names
from holdfast.model.deliveries import Claimed, Delivery, PendingDelivery, Settle, Settled, Verb
from holdfast.model.ids import new_id
from holdfast.model.messages import LetterFilter, Message, NewMessage, Pushed, Start
from holdfast.model.moments import from_ms, to_ms
from holdfast.model.queues import Queue, QueueSettings, QueueStats
from holdfast.store import queue_decode as decode
from holdfast.store.domain import Domain, Partitioned
from holdfast.store.repeats import call_id
from holdfast.store.valkey.call import refusal, refusal_of

#: Bounds how long one call keeps the server busy.
ITEMS_IN_CALL = 100
BYTES_IN_CALL = 1 << 20
#: The group's name for the whole queue.
WHOLE = ""

_pack = msgspec.msgpack.Encoder().encode


def new_request() -> str:
    """Mint the unguessable part of handles: 128 random bits."""
    return secrets.token_hex(16)


def encode_message(item: NewMessage, message_id: str, digest: str) -> bytes:
    """Encode a new message for push.lua; absent fields are left out."""
    named = item.id is not None
    optional = {
        "key": item.key,
        "priority": item.priority or None,
        "side": item.side if item.side == "left" else None,
        "delay": item.delay_ms or None,
        "ttl": item.ttl_ms,
        "named": named or None,
    }
    fields: dict[str, object] = {k: v for k, v in optional.items() if v is not None}
    fields["id"] = message_id
    if named or item.dedup is not None:
        fields["digest"] = digest
        fields["seen"] = f"i:{item.id}" if item.dedup is None else f"d:{item.dedup}"
    return _pack(fields)


class Queues(Domain):
    """Message queues."""

    def __init__(self, store: Partitioned) -> None:
        super().__init__(store)
        #: Queues that are known to have entries in their outboxes.
        self._unsent: set[str] = set()

    def _note(self, name: str, unsent: int) -> None:
        if unsent:
            self._unsent.add(name)

    def take_unsent(self, name: str) -> bool:
        """Return whether a call left entries in the outbox; the caller delivers them."""
        known = name in self._unsent
        self._unsent.discard(name)
        return known

    # Definitions

    async def define(self, name: str, settings: QueueSettings) -> bool:
        """Define a queue or change it, and list it; returns whether it is new."""
        return await self._define(name, settings, accepts="")

    async def accept_dead_letters(self, name: str) -> None:
        """Make a queue accept dead letters, creating and listing it if needed."""
        await self._define(name, QueueSettings(), accepts="1")

    async def _define(self, name: str, settings: QueueSettings, *, accepts: str) -> bool:
        tag = self._store.queue_tag(name)
        secret = secrets.token_hex(16)
        pairs = decode.setting_pairs(settings)
        # List it first: the ticker would not maintain a queue that is not listed.
        await self.enlist(name)
        (word,) = await self._call.write("hf_queue_define", tag, secret, accepts, *pairs)
        created = bool(word == b"created")
        if created:
            # A removal of a queue of this name may have reached the list in between.
            await self.enlist(name)
        return created

    async def enlist(self, name: str, *, listed: bool = True) -> None:
        """Add a queue to the list of all queues, or remove it."""
        flag = "1" if listed else "0"
        await self._call.write("hf_queue_enlist", self._store.global_tag, name, flag)

    async def names(self, after: str, limit: int) -> list[str]:
        """Return names of queues, in order."""
        reply = await self._call.read("hf_queue_names", self._store.global_tag, after, str(limit))
        return [name.decode() for name in reply]

    async def describe(self, name: str) -> Queue:
        """Return a definition."""
        reply = await self._call.read("hf_queue_describe", self._store.queue_tag(name))
        return decode.queue(name, reply)

    async def remove(self, name: str) -> bool:
        """Remove a queue; returns False if its outbox must be delivered first."""
        tag = self._store.queue_tag(name)
        (word,) = await self._once("hf_queue_remove", tag)
        return bool(word == b"removed")

    async def group(self, name: str, group: str, start: Start) -> bool:
        """Add a group; returns whether it is new."""
        place = start.after or (str(to_ms(start.at)) if start.at else "")
        (word,) = await self._call.write(
            "hf_queue_group", self._store.queue_tag(name), group, start.place, place, new_id()
        )
        return bool(word == b"created")

    async def ungroup(self, name: str, group: str) -> None:
        """Remove a group."""
        tag = self._store.queue_tag(name)
        await self._once("hf_queue_ungroup", tag, group)

    async def pause(self, name: str, group: str, *, paused: bool) -> None:
        """Pause or resume a group, or the whole queue."""
        flag = "1" if paused else "0"
        await self._call.write("hf_queue_pause", self._store.queue_tag(name), group, flag)

    # Messages

    async def push(self, name: str, items: Sequence[NewMessage]) -> list[Pushed | HoldfastError]:
        """Push messages in one call: an answer or an error for each, in order."""
        digests = [self._digests(item) for item in items]
        answers = await self._push(name, items, [known[0] for known in digests])
        for index, known in enumerate(digests):
            # What was pushed before the codec or the key is found by the digest of that time.
            for older in known[1:]:
                if not isinstance(answers[index], DedupConflict):
                    break
                (answer,) = await self._push(name, [items[index]], [older])
                if not isinstance(answer, DedupConflict):
                    answers[index] = answer
        return answers

    def _digests(self, item: NewMessage) -> Sequence[str]:
        is_compared = item.id is not None or item.dedup is not None
        return self._sealing.digests(item.digest()) if is_compared else ("",)

    async def _push(
        self, name: str, items: Sequence[NewMessage], digests: Sequence[str]
    ) -> list[Pushed | HoldfastError]:
        ids = [item.id or new_id() for item in items]
        args: list[bytes | str] = [new_id()]
        for item, message_id, digest in zip(items, ids, digests, strict=True):
            args.append(encode_message(item, message_id, digest))
            args.append(self._seal(name, item.payload))
        replies = await self._call.write("hf_queue_push", self._store.queue_tag(name), *args)
        answers: list[Pushed | HoldfastError] = []
        for message_id, (word, *rest) in zip(ids, replies, strict=True):
            if word == b"ok":
                answers.append(Pushed(message_id))
            elif word == b"duplicate":
                answers.append(Pushed(rest[0].decode(), duplicate=True))
            else:
                answers.append(refusal(rest[0].decode(), {"queue": name}))
        return answers

    async def read(
        self,
        name: str,
        *,
        group: str,
        consumer: str,
        count: int,
        side: str = "left",
        request: str | None = None,
    ) -> tuple[list[Delivery], int | None]:
        """Hand out messages; also returns in how many ms there may be more, None if unknown."""
        unsent, wait_ms, *rows = await self._call.write(
            "hf_queue_read",
            self._store.queue_tag(name),
            group,
            request or new_request(),
            consumer,
            str(count),
            side,
        )
        self._note(name, unsent)
        handed = await self._deliveries(name, rows)
        return handed, None if wait_ms == b"" else wait_ms

    async def settle(
        self, name: str, verb: Verb, items: Sequence[Settle]
    ) -> list[Settled | HoldfastError]:
        """Settle deliveries: an answer or an error for each, in order."""
        args = [
            part
            for item in items
            for part in (
                item.handle,
                "" if item.delay_ms is None else str(item.delay_ms),
                item.reason,
            )
        ]
        unsent, *rows = await self._call.write(
            "hf_queue_settle", self._store.queue_tag(name), verb, *args
        )
        self._note(name, unsent)
        return [
            refusal_of(rest) if word == b"no" else Settled(repeated=word == b"repeated")
            for word, *rest in rows
        ]

    async def commit(
        self, name: str, handle: str, effects: Sequence[tuple[str, bytes, bytes]]
    ) -> Settled:
        """Ack a delivery and write its effects to the outbox: target or empty, fields, body."""
        args = [part for effect in effects for part in effect]
        unsent, word = await self._call.write(
            "hf_queue_commit", self._store.queue_tag(name), handle, *args
        )
        self._note(name, unsent)
        return Settled(repeated=word == b"repeated")

    async def extend(
        self, name: str, items: Sequence[tuple[str, int | None]]
    ) -> list[datetime | HoldfastError]:
        """Extend locks: the new deadline or an error for each, in order."""
        args = [part for handle, ms in items for part in (handle, "" if ms is None else str(ms))]
        unsent, *rows = await self._call.write(
            "hf_queue_extend", self._store.queue_tag(name), *args
        )
        self._note(name, unsent)
        return [
            refusal_of(rest) if word == b"no" else from_ms(int(rest[0])) for word, *rest in rows
        ]

    async def claim(
        self, name: str, *, group: str, consumer: str, min_idle_ms: int, count: int, cursor: str
    ) -> Claimed:
        """Take over idle deliveries."""
        unsent, go_on, *rows = await self._call.write(
            "hf_queue_claim",
            self._store.queue_tag(name),
            group,
            new_request(),
            consumer,
            str(min_idle_ms),
            str(count),
            cursor,
        )
        self._note(name, unsent)
        deliveries = await self._deliveries(name, rows)
        return Claimed(deliveries=deliveries, next_cursor=go_on.decode() or None)

    def encode_effect(self, target: str, item: NewMessage) -> tuple[str, bytes, bytes]:
        """Encode a message that an ack pushes to a queue."""
        digest = self._digests(item)[0]
        packed = encode_message(item, item.id or new_id(), digest)
        return target, packed, self._seal(target, item.payload)

    def encode_submission(self, name: str, item: bytes) -> tuple[str, bytes, bytes]:
        """Encode an execution that an ack to a queue submits."""
        return WHOLE, b"", self._sealing.seal(item, "submission", names.parse(name)[0])

    def submission(self, name: str, entry: bytes) -> bytes:
        """Decode an execution in the outbox of a queue."""
        return self._sealing.open(entry, submission=names.parse(name)[0])

    def _seal(self, name: str, payload: bytes) -> bytes:
        """Seal a message for all queues of a tenant: it may be moved between them."""
        return self._sealing.seal(payload, "queued", names.parse(name)[0])

    def _open(self, name: str, message: Message) -> Message:
        payload = self._sealing.open(message.payload, queued=names.parse(name)[0])
        return message if payload is message.payload else replace(message, payload=payload)

    async def _deliveries(self, name: str, rows: Sequence[Any]) -> list[Delivery]:
        """Decode hand-outs; what cannot be read here is returned, which uses up an attempt."""
        handed = [decode.delivery(row) for row in rows]
        try:
            return [replace(one, message=self._open(name, one.message)) for one in handed]
        except PayloadUnreadable:
            await self.settle(name, "release", [Settle(handle=one.handle) for one in handed])
            raise

    # Operating

    async def purge(self, name: str) -> int:
        """Remove all messages; returns how many."""
        (purged,) = await self._once("hf_queue_purge", self._store.queue_tag(name))
        return int(purged)

    async def take(
        self, name: str, *, to: str, limit: int, dry_run: bool, cursor: str, wanted: LetterFilter
    ) -> tuple[int, str]:
        """Move ready messages to the outbox; returns how many, and where to continue."""
        tag = self._store.queue_tag(name)
        args = (
            to,
            str(limit),
            "1" if dry_run else "0",
            cursor,
            wanted.origin or "",
            wanted.group or "",
            wanted.reason or "",
        )
        unsent, taken, go_on = await self._call.write(
            "hf_queue_take", tag, call_id("hf_queue_take", tag, *args), *args
        )
        self._note(name, unsent)
        return int(taken), go_on.decode()

    async def peek(self, name: str, group: str, count: int) -> list[Message]:
        """Return the next messages."""
        rows = await self._call.write(
            "hf_queue_peek", self._store.queue_tag(name), group, str(count)
        )
        return [self._open(name, decode.message(row)) for row in rows]

    async def pending(
        self, name: str, group: str, offset: int, limit: int
    ) -> list[PendingDelivery]:
        """Return deliveries under way."""
        rows = await self._call.read(
            "hf_queue_pending", self._store.queue_tag(name), group, str(offset), str(limit)
        )
        return [decode.pending(row) for row in rows]

    async def stats(self, name: str, group: str = WHOLE) -> QueueStats:
        """Return exact counts."""
        unsent, *reply = await self._call.write(
            "hf_queue_stats", self._store.queue_tag(name), group
        )
        self._note(name, unsent)
        return decode.stats(reply)

    async def tick(self, name: str, limit: int) -> tuple[int, int]:
        """Fire due timers; returns how many fired and the ms until the next tick."""
        fired, sleep_ms, unsent = await self._call.write(
            "hf_queue_tick", self._store.queue_tag(name), str(limit)
        )
        self._note(name, unsent)
        return fired, sleep_ms

    # Delivery between queues

    async def outbox(self, name: str, limit: int) -> tuple[str, list[tuple[str, int, list[bytes]]]]:
        """Return the queue's identity, and the target, first number and entries of its outbox."""
        incarnation, *rows = await self._call.read(
            "hf_queue_outbox", self._store.queue_tag(name), str(limit)
        )
        owed = [(target.decode(), int(first), entries) for target, first, entries in rows]
        return incarnation.decode(), owed

    async def receive(self, name: str, origin: str, first: int, entries: Sequence[bytes]) -> None:
        """Accept entries of another queue's outbox."""
        tag = self._store.queue_tag(name)
        await self._call.write("hf_queue_receive", tag, origin, str(first), *entries)

    async def sent(self, name: str, target: str, upto: int, incarnation: str) -> int:
        """Remove accepted entries from the outbox; returns how many are left."""
        tag = self._store.queue_tag(name)
        (owed,) = await self._call.write("hf_queue_sent", tag, target, str(upto), incarnation)
        return int(owed)
