"""Sessions over HTTP."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus
from typing import Any, final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.client import decode_sessions as decode
from holdfast.client.beats import lease_body
from holdfast.client.http import EVERY_TENANT, Http, path
from holdfast.client.sse import follow
from holdfast.errors import NotOverHttp
from holdfast.model import bounds, calls, checks
from holdfast.model.executions import Lease
from holdfast.model.ids import new_id
from holdfast.model.sessions import (
    Delivered,
    Entry,
    MessageWait,
    NewDelivery,
    NewReply,
    Session,
    SessionPage,
    StateValue,
    Transcript,
    TurnAnswer,
    Turned,
    ValueChange,
)

#: Who answers when no person does.
_FLOW = "flow"
#: One long poll for the end of a turn; the next follows at once.
_WAIT_MS = 20_000


@final
class RemoteSessions(api.Sessions):
    """Operations on sessions."""

    def __init__(self, http: Http) -> None:
        self._http = http
        #: Whom an operator key acts for.
        self._tenant = http.tenant

    # Talking to a conversation

    @override
    async def _deliver(self, new: NewDelivery) -> Delivered:
        body = self._body(new)
        return decode.delivered(await self._http.post(_to(new.name, "deliver"), body))

    @override
    async def _send(self, new: NewDelivery, wait_ms: int) -> TurnAnswer:
        body = self._body(new)
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + wait_ms / 1000
        while True:
            left_ms = max(0, int((ends_at - loop.time()) * 1000))
            poll_ms = min(left_ms, _WAIT_MS)
            # The activity's id makes it safe to send the message again.
            response = await self._http.send(
                "POST",
                _to(new.name, "activities"),
                body={**body, "wait_ms": poll_ms},
                wait_s=poll_ms / 1000,
            )
            done = response.status != HTTPStatus.ACCEPTED
            if done or poll_ms == left_ms:
                return decode.answer(response.content, done=done)

    def _body(self, new: NewDelivery) -> dict[str, Any]:
        activity, key = new.activity, new.activity.key
        return {
            "activity": {
                "id": activity.id,
                "kind": activity.kind,
                "endpoint": key.endpoint,
                "conversation": key.conversation,
                "user": key.user,
                "payload": msgspec.Raw(activity.payload),
            },
            "tenant": self._whose(key.tenant),
            "env": key.env,
            "sender": new.sender,
            "revision": new.revision,
        }

    def _whose(self, tenant: str | None) -> str | None:
        # The tenant of the key does not have to be named.
        return self._tenant if tenant in {None, "default"} else tenant

    # Reading

    @override
    async def get(self, session_id: str) -> Session:
        return decode.session(await self._http.get(_about(session_id), lines=0))

    @override
    async def list(
        self,
        *,
        tenant: str | None = None,
        user: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> SessionPage:
        calls.check_page(limit)
        whose = tenant or self._tenant or EVERY_TENANT
        reply = await self._http.get(
            "/v1/sessions", tenant=whose, user=user, limit=limit, cursor=cursor
        )
        items = tuple(decode.session(view) for view in reply["items"])
        return SessionPage(items=items, next_cursor=reply["next_cursor"])

    @override
    async def latest(self, session_id: str, *, limit: int = 100) -> Transcript:
        checks.integer("limit", limit, 0, bounds.PAGE_ITEMS)
        response = await self._http.send("GET", _about(session_id), query={"lines": limit})
        return decode.detail(response.content)

    @override
    async def transcript(self, session_id: str, *, after: int = 0, limit: int = 100) -> Transcript:
        checks.integer("after", after, 0, bounds.AMOUNT)
        checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
        session = await self.get(session_id)
        query = {"after": after, "limit": limit}
        response = await self._http.send("GET", _about(session_id, "transcript"), query=query)
        entries, more = decode.lines(response.content)
        return Transcript(session=session, entries=entries, more=more)

    @override
    async def follow(self, session_id: str, *, after: int = 0) -> AsyncIterator[Transcript]:
        checks.integer("after", after, 0, bounds.AMOUNT)
        session: Session | None = None
        events = follow(self._http, _about(session_id, "events"), after=after)
        async with contextlib.aclosing(events):
            async for event in events:
                if event.name == "state":
                    session = decode.session(msgspec.json.decode(event.data))
                    yield Transcript(session=session, entries=())
                elif event.name == "message" and session is not None:
                    entry = decode.entry(event.data)
                    session = session.after(entry)
                    yield Transcript(session=session, entries=(entry,))

    # Operating

    @override
    async def say(
        self, session_id: str, payload: bytes, *, author: str = "operator", key: str | None = None
    ) -> Entry:
        checks.json_object("payload", payload, bounds.MESSAGE_BYTES)
        body = {
            "payload": msgspec.Raw(payload),
            "author": author,
            "idempotency_key": key or new_id(),
        }
        response = await self._http.send("POST", _about(session_id, "messages"), body=body)
        return decode.entry(response.content)

    @override
    async def handover(self, session_id: str, to: str | None, *, reason: str = "") -> Session:
        return await self._operate(session_id, "handover", {"to": to or _FLOW, "reason": reason})

    @override
    async def end(self, session_id: str, *, reason: str = "") -> Session:
        return await self._operate(session_id, "end", {"reason": reason})

    async def _operate(self, session_id: str, verb: str, body: Mapping[str, Any]) -> Session:
        # Repeated, it would end or change what began since.
        return decode.session(await self._http.post(_about(session_id, verb), body, once=True))

    @override
    async def erase(self, session_id: str) -> None:
        await self._http.delete(_about(session_id))

    @override
    async def resend(self, session_id: str, number: int) -> None:
        checks.integer("number", number, 1, bounds.AMOUNT)
        await self._http.post(_about(session_id, "resend"), {"number": number})

    @override
    def sending(self, senders: Mapping[str, object]) -> AbstractAsyncContextManager[None]:
        raise NotOverHttp("replies are sent by a process that has the store itself")

    # Running turns

    @override
    async def turn(
        self,
        execution_id: str,
        lease: Lease,
        replies: Sequence[NewReply] = (),
        wait: MessageWait | None = None,
    ) -> Turned:
        calls.check_holder(execution_id, lease)
        body = {
            "lease": lease_body(lease),
            "replies": [_reply_body(checks.instance("reply", one, NewReply)) for one in replies],
            "wait": None if wait is None else _wait_body(wait),
        }
        response = await self._http.send("POST", _held(execution_id, "turn"), body=body)
        return decode.turned(response.content)

    @override
    async def get_state(self, execution_id: str, lease: Lease, step: str, name: str) -> StateValue:
        return await self._state(execution_id, lease, {"step": step, "name": name})

    @override
    async def welcome(self, execution_id: str, *, done: bool = False) -> bool:
        response = await self._http.post(_held(execution_id, "welcome"), {"done": done})
        first: bool = response["first"]
        return first

    @override
    async def set_state(
        self, execution_id: str, lease: Lease, step: str, change: ValueChange
    ) -> StateValue:
        value = checks.instance("change", change, ValueChange).value
        about: dict[str, Any] = {"step": step, "name": change.name}
        about |= {"remove": True} if value is None else {"value": msgspec.Raw(value)}
        about |= {"expected": change.expected, "ttl_ms": change.ttl_ms}
        return await self._state(execution_id, lease, about)

    async def _state(self, execution_id: str, lease: Lease, about: Mapping[str, Any]) -> StateValue:
        calls.check_holder(execution_id, lease)
        body = {"lease": lease_body(lease), **about}
        response = await self._http.send("POST", _held(execution_id, "session-state"), body=body)
        return decode.value(response.content)

    @override
    async def state(self, session_id: str) -> builtins.list[tuple[str, StateValue]]:
        response = await self._http.send("GET", _about(session_id, "state"))
        return decode.values(response.content)


def _reply_body(reply: NewReply) -> dict[str, Any]:
    return {
        "step": reply.step,
        "payload": msgspec.Raw(reply.payload),
        "open": reply.open,
        "number": reply.number,
    }


def _wait_body(wait: MessageWait) -> dict[str, Any]:
    return {
        "step": wait.step,
        "timeout_ms": wait.timeout_ms,
        "kept": wait.kept,
        "person": wait.person,
        "reason": wait.reason,
    }


def _to(name: str, verb: str) -> str:
    return path("conversations", name, verb)


def _about(session_id: str, *rest: str) -> str:
    return path("sessions", checks.execution_id("id", session_id), *rest)


def _held(execution_id: str, verb: str) -> str:
    return path("executions", execution_id, verb)
