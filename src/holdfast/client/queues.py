"""Message queues over HTTP."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.client import decode
from holdfast.client.execution_bodies import body_of
from holdfast.client.http import Http, path, refusal_of
from holdfast.concurrency import first_of
from holdfast.errors import HoldfastError, ReadCancelled
from holdfast.model import bounds, checks, payloads
from holdfast.model.deliveries import (
    Claimed,
    Delivery,
    PendingDelivery,
    Read,
    Settle,
    Settled,
    Takeover,
    Verb,
)
from holdfast.model.effects import Push, Submit
from holdfast.model.ids import new_id
from holdfast.model.messages import DeadLetter, Message, NewMessage, Pushed, Redrive, Start
from holdfast.model.queues import DEFAULT_GROUP, GroupStats, Queue, QueueSettings, QueueStats

#: The longest poll; the next follows at once.
_WAIT_MS = 20_000
#: How long to wait for a redrive at a given rate.
_PACED_S = 3_600.0
_SETTINGS = tuple(f.name for f in fields(QueueSettings))
_DEFAULTS = {f.name: f.default for f in fields(NewMessage) if f.name != "payload"}


@final
class RemoteQueues(api.Queues):
    """Operations on the queues of the client's tenant."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self._tenant = http.tenant
        self._reading: dict[str, set[asyncio.Event]] = {}

    async def _send(
        self, method: str, where: str, body: Any = None, *, wait_s: float = 0.0, **query: Any
    ) -> bytes:
        query = {"tenant": self._tenant, **query}
        response = await self._http.send(method, where, body=body, query=query, wait_s=wait_s)
        return response.content

    async def _post(self, name: str, verb: str, body: Any) -> Any:
        return msgspec.json.decode(await self._send("POST", _at(name, verb), body))

    # Definitions

    @override
    async def define(self, name: str, settings: QueueSettings | None = None, **fields: Any) -> bool:
        if settings is None:
            settings = QueueSettings.from_fields(fields)
        response = await self._http.send(
            "PUT", _at(name), body=msgspec.to_builtins(settings), query={"tenant": self._tenant}
        )
        return response.created

    @override
    async def describe(self, name: str) -> Queue:
        return _queue(msgspec.json.decode(await self._send("GET", _at(name))))

    @override
    async def list(
        self, *, limit: int = 50, after: str | None = None, tenant: str | None = None
    ) -> list[Queue]:
        parameters: dict[str, Any] = {"limit": limit, "cursor": after}
        parameters["tenant"] = tenant or self._tenant
        reply = msgspec.json.decode(await self._send("GET", "/v1/queues", **parameters))
        return [_queue(view) for view in reply["items"]]

    @override
    async def delete(self, name: str) -> None:
        await self._send("DELETE", _at(name))

    @override
    async def add_group(self, name: str, group: str, start: Start | None = None) -> bool:
        place: Any = "first" if start is None else start.place
        if start is not None and start.place in ("after", "at"):
            place = {start.place: start.after or start.at}
        response = await self._http.send(
            "PUT",
            _at(name, "groups", checks.name("group", group)),
            body={"start": place},
            query={"tenant": self._tenant},
        )
        return response.created

    @override
    async def remove_group(self, name: str, group: str) -> None:
        await self._send("DELETE", _at(name, "groups", checks.name("group", group)))

    @override
    async def pause(self, name: str, group: str | None = None) -> None:
        await self._post(name, "pause", {"group": group})

    @override
    async def resume(self, name: str, group: str | None = None) -> None:
        await self._post(name, "resume", {"group": group})

    # Producing

    @override
    async def push(self, name: str, payload: bytes, **fields: Any) -> Pushed:
        item = NewMessage.from_fields({"payload": payload, **fields})
        (answer,) = await self.push_many(name, [item])
        if isinstance(answer, HoldfastError):
            raise answer
        return answer

    @override
    async def push_many(
        self, name: str, items: Sequence[NewMessage]
    ) -> Sequence[Pushed | HoldfastError]:
        checks.integer("number of items", len(items), 0, bounds.BATCH_ITEMS)
        made = [_message_body(item) for item in items]
        reply = await self._post(name, "messages", {"items": [body for body, _ in made]})
        return [
            # A message with a generated id can be a duplicate only of itself.
            Pushed(view["id"], duplicate=view["duplicate"] and not minted)
            if view["ok"]
            else refusal_of(view, queue=name)
            for view, (_, minted) in zip(reply["items"], made, strict=True)
        ]

    # Consuming

    @override
    async def _read(self, read: Read, stop: Callable[[], bool]) -> Sequence[Delivery]:
        body = msgspec.to_builtins(read)
        name = body.pop("queue")
        loop = asyncio.get_running_loop()
        deadline = loop.time() + read.wait_ms / 1000
        while True:
            left_ms = max(0, int((deadline - loop.time()) * 1000))
            poll_ms = min(_WAIT_MS, left_ms)
            deliveries = await self._read_once(name, {**body, "wait_ms": poll_ms}, stop)
            if deliveries or left_ms <= poll_ms:
                return deliveries

    async def _read_once(
        self, name: str, body: dict[str, Any], stop: Callable[[], bool]
    ) -> Sequence[Delivery]:
        """Poll once. A reader that is stopped disconnects, and the server returns its messages."""
        woken = asyncio.Event()
        waiting = self._reading.setdefault(name, set())
        waiting.add(woken)
        call = self._send("POST", _at(name, "read"), body, wait_s=body["wait_ms"] / 1000)
        asking = asyncio.ensure_future(call)
        try:
            while not asking.done():
                if stop():
                    raise ReadCancelled(f"reading {name} was cancelled", queue=name)
                await first_of(asking, woken.wait())
                woken.clear()
            return _deliveries(asking.result())
        finally:
            asking.cancel()
            waiting.discard(woken)
            if not waiting:
                self._reading.pop(name, None)

    @override
    def wake(self, name: str) -> None:
        for woken in self._reading.get(name, ()):
            woken.set()

    @override
    async def settle(
        self, name: str, verb: Verb, items: Sequence[Settle]
    ) -> Sequence[Settled | HoldfastError]:
        checks.one_of("verb", verb, ("ack", "nack", "release", "reject"))
        reply = await self._post(name, verb, {"items": [msgspec.to_builtins(i) for i in items]})
        return [
            Settled(repeated=view.get("repeated", False))
            if view["ok"]
            else refusal_of(view, queue=name)
            for view in reply["items"]
        ]

    @override
    async def ack(self, name: str, handle: str, *effects: Push | Submit) -> Settled:
        if not effects:
            return await self._settle_one(name, "ack", Settle(handle=handle))
        body = {"handle": handle, "effects": [self._effect(effect) for effect in effects]}
        reply = await self._post(name, "commit", body)
        return Settled(repeated=reply.get("repeated", False))

    def _effect(self, effect: Push | Submit) -> dict[str, Any]:
        if isinstance(effect, Push):
            return {"queue": effect.queue, "message": _message_body(effect.message)[0]}
        return {"execution": body_of(effect.execution, self._tenant)[0]}

    @override
    async def extend(
        self, name: str, items: Sequence[tuple[str, int | None]]
    ) -> Sequence[datetime | HoldfastError]:
        body = {"items": [{"handle": handle, "extend_ms": ms} for handle, ms in items]}
        reply = await self._post(name, "extend", body)
        return [
            decode.moment(view["deadline"]) if view["ok"] else refusal_of(view, queue=name)
            for view in reply["items"]
        ]

    @override
    async def _claim(self, takeover: Takeover) -> Claimed:
        body = msgspec.to_builtins(takeover)
        data = await self._send("POST", _at(body.pop("queue"), "claim"), body)
        more = msgspec.json.decode(data)["next_cursor"]
        return Claimed(deliveries=_deliveries(data), next_cursor=more)

    # Operating

    @override
    async def purge(self, name: str) -> int:
        return int((await self._post(name, "purge", None))["purged"])

    @override
    async def move(self, name: str, to: str, limit: int, *, dry_run: bool = False) -> int:
        body = {"to": to, "limit": limit, "dry_run": dry_run}
        return int((await self._post(name, "move", body))["moved"])

    @override
    async def _redrive(self, redrive: Redrive) -> int:
        body = msgspec.to_builtins(redrive)
        name, body["filter"] = body.pop("queue"), body.pop("wanted")
        wait_s = 0.0 if redrive.rate_per_s is None else _PACED_S
        data = await self._send("POST", _at(name, "redrive"), body, wait_s=wait_s)
        return int(msgspec.json.decode(data)["redriven"])

    @override
    async def peek(
        self, name: str, *, group: str | None = None, count: int = 1
    ) -> Sequence[Message]:
        data = await self._send("GET", _at(name, "peek"), group=group, count=count)
        return [item.message() for item in _peeked(data).items]

    @override
    async def pending(
        self, name: str, *, group: str | None = None, limit: int = 50, offset: int = 0
    ) -> Sequence[PendingDelivery]:
        data = await self._send(
            "GET", _at(name, "pending"), group=group, limit=limit, cursor=offset
        )
        return msgspec.convert(msgspec.json.decode(data)["items"], list[PendingDelivery])

    @override
    async def stats(self, name: str, group: str | None = None) -> QueueStats:
        data = await self._send("GET", _at(name, "stats"), group=group, detail="true")
        view = msgspec.json.decode(data)
        if "groups" not in view:
            view["groups"] = {DEFAULT_GROUP: msgspec.convert(view, GroupStats)}
        return msgspec.convert(view, QueueStats)


def _at(name: str, *rest: str) -> str:
    return path("queues", checks.queue("queue", name), *rest)


def _message_body(item: NewMessage) -> tuple[dict[str, Any], bool]:
    """Return the body of a message, and whether its id was generated to make retries safe."""
    checks.instance("item", item, NewMessage)
    body: dict[str, Any] = payloads.fields("payload", item.payload)
    body |= {n: getattr(item, n) for n, default in _DEFAULTS.items() if getattr(item, n) != default}
    minted = item.id is None and item.dedup is None
    if minted:
        body["id"] = new_id()
    return body, minted


def _queue(view: dict[str, Any]) -> Queue:
    settings = {name: view[name] for name in _SETTINGS}
    return msgspec.convert({**view, "settings": settings}, Queue)


class _MessageReply(msgspec.Struct):
    id: str
    payload: msgspec.Raw
    key: str | None
    attempt: int
    enqueued_at: datetime
    payload_base64: str | None = None
    dead_letter: DeadLetter | None = None

    def message(self) -> Message:
        """Return the message; its payload stays as it was written."""
        encoded = self.payload_base64
        return Message(
            id=self.id,
            payload=bytes(self.payload) if encoded is None else base64.b64decode(encoded),
            key=self.key,
            attempt=self.attempt,
            enqueued_at=self.enqueued_at,
            dead_letter=self.dead_letter,
        )


class _PeekReply(msgspec.Struct):
    items: list[_MessageReply]


class _DeliveryReply(msgspec.Struct):
    handle: str
    message: _MessageReply
    deadline: datetime


class _ReadReply(msgspec.Struct):
    deliveries: list[_DeliveryReply]


_peeked = msgspec.json.Decoder(_PeekReply).decode
_read = msgspec.json.Decoder(_ReadReply).decode


def _deliveries(data: bytes) -> list[Delivery]:
    return [
        Delivery(handle=item.handle, message=item.message.message(), deadline=item.deadline)
        for item in _read(data).deliveries
    ]
