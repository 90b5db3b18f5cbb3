"""Waitpoints and signals over HTTP."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.client import decode
from holdfast.client.beats import lease_body
from holdfast.client.http import EVERY_TENANT, Http, path, refusal_of
from holdfast.errors import HoldfastError
from holdfast.model import bounds, checks
from holdfast.model.executions import Lease
from holdfast.model.ids import new_id
from holdfast.model.states import State
from holdfast.model.suspensions import NewSuspension
from holdfast.model.tokens import Grant, Token, received
from holdfast.model.waitpoints import (
    Effect,
    Inbox,
    InboxItem,
    NewSignal,
    NewWaitpoint,
    Prepared,
    Signal,
    Suspension,
    Waitpoint,
    WaitpointState,
    parse_waitpoint_id,
)

_MOST_REMEMBERED = 1_000


@final
class RemoteWaitpoints(api.Waitpoints):
    """Operations on waitpoints."""

    def __init__(self, http: Http) -> None:
        self._http = http
        #: The tenant whose inbox is read by default.
        self._tenant = http.tenant or EVERY_TENANT
        #: Tokens of waitpoints created here, so that the server does not record another read.
        self._made: OrderedDict[tuple[str, str], Token] = OrderedDict()

    # For the holder of a lease

    @override
    async def prepare(
        self, execution_id: str, lease: Lease, items: Sequence[NewWaitpoint]
    ) -> list[Waitpoint]:
        bodies = [_new_body(checks.instance("waitpoint", item, NewWaitpoint)) for item in items]
        for body in bodies:
            body.setdefault("key", new_id())
        where = _about(execution_id, "waitpoints")
        sent = {"lease": lease_body(lease), "waitpoints": bodies}
        reply = await self._http.post(where, sent)
        return [self._noted(view) for view in reply["items"]]

    @override
    async def _suspend(self, new: NewSuspension) -> Suspension:
        body = {
            "lease": lease_body(new.lease),
            "waitpoints": [_listed(item) for item in new.waitpoints],
            "condition": dict(new.condition),
            "timeout_ms": new.timeout_ms,
            "on_timeout": new.on_timeout,
            "reason": new.reason,
            "key": new.key,
        }
        response = await self._http.send("POST", _about(new.execution_id, "suspend"), body=body)
        reply = msgspec.json.decode(response.content)
        return Suspension(
            state=State(reply["state"]),
            waitpoints=[self._noted(view) for view in reply["waitpoints"]],
            signals=decode.signals(response.content, "signals"),
        )

    def _noted(self, view: Mapping[str, Any]) -> Waitpoint:
        point = _waitpoint(view)
        own = {} if point.token is None else {"": point.token}
        for person, token in (own | dict(point.tokens)).items():
            self._made[point.id, person] = token
            while len(self._made) > _MOST_REMEMBERED:
                self._made.popitem(last=False)
        return point

    @override
    async def token_of(self, grant: Grant) -> Token:
        made = self._made.get((grant.waitpoint, grant.person))
        return made or await self.token(grant.waitpoint, reader="", person=grant.person)

    # For those who answer

    @override
    async def signal(self, item: NewSignal, token: str | None = None) -> Effect:
        body = _signal_body(
            checks.instance("signal", item, NewSignal), await self._right(item, token)
        )
        reply = await self._http.post(path("signals", item.waitpoint), body)
        return Effect(reply["effect"])

    @override
    async def signal_many(
        self, items: Sequence[tuple[NewSignal, str | None]]
    ) -> list[Effect | HoldfastError]:
        checks.integer("number of items", len(items), 0, bounds.BATCH_ITEMS)
        rights = await asyncio.gather(*(self._right(*item) for item in items))
        bodies = [
            {"waitpoint": item.waitpoint, **_signal_body(item, right)}
            for (item, _), right in zip(items, rights, strict=True)
        ]
        reply = await self._http.post("/v1/signals:batch", {"items": bodies})
        return [
            Effect(item["effect"]) if "effect" in item else refusal_of(item)
            for item in reply["items"]
        ]

    async def _right(self, item: NewSignal, token: str | None) -> str:
        if token is not None:
            return token
        return (await self.token(item.waitpoint, reader="")).reveal()

    # For operators

    @override
    async def resume(
        self, execution_id: str, payload: bytes = b"null", *, identity: str = ""
    ) -> State:
        del identity
        body = {"payload": msgspec.Raw(checks.payload("payload", payload, bounds.SIGNAL_BYTES))}
        reply = await self._http.post(_about(execution_id, "resume"), body, once=True)
        return State(reply["state"])

    @override
    async def revoke(self, waitpoint: str) -> str:
        return str((await self._http.post(_at(waitpoint, "revoke")))["why"])

    @override
    async def token(self, waitpoint: str, *, reader: str, person: str = "") -> Token:
        del reader
        reply = await self._http.get(_at(waitpoint, "token"), person=person or None)
        return Token(reply["kid"], reply["fingerprint"], reply["token"])

    @override
    async def of(self, execution_id: str) -> list[Waitpoint]:
        views = await self._http.items(_about(execution_id, "waitpoints"))
        return [_waitpoint(view) for view in views]

    @override
    async def read(self, waitpoint: str, token: str) -> Waitpoint:
        parse_waitpoint_id("waitpoint", waitpoint)
        where = path("signals", waitpoint, "read")
        return _waitpoint(await self._http.post(where, {"token": token}))

    @override
    async def signals(self, execution_id: str) -> list[Signal]:
        response = await self._http.send("GET", _about(execution_id, "signals"))
        return list(decode.signals(response.content, "items"))

    @override
    async def inbox(
        self, tenant: str | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> Inbox:
        reply = await self._http.get(
            "/v1/waitpoints", tenant=tenant or self._tenant, limit=limit, cursor=cursor
        )
        items = tuple(
            InboxItem(
                waitpoint=_waitpoint(view),
                tenant=view["tenant"],
                kind=view["kind"],
                lane=view["lane"],
                escalated=view["escalated"],
            )
            for view in reply["items"]
        )
        return Inbox(items=items, next_cursor=reply["next_cursor"])


def _about(execution_id: str, *rest: str) -> str:
    return path("executions", checks.execution_id("id", execution_id), *rest)


def _at(waitpoint: str, verb: str) -> str:
    execution_id, _ = parse_waitpoint_id("waitpoint", waitpoint)
    return path("executions", execution_id, "waitpoints", waitpoint, verb)


_DEFAULTS = {field.name: field.default for field in fields(NewWaitpoint)}


def _new_body(item: NewWaitpoint) -> dict[str, Any]:
    values = {name: getattr(item, name) for name in _DEFAULTS}
    return {name: value for name, value in values.items() if value != _DEFAULTS[name]}


def _listed(item: NewWaitpoint | Prepared | str) -> dict[str, Any]:
    if isinstance(item, NewWaitpoint):
        return _new_body(item)
    if isinstance(item, Prepared):
        return {"id": item.id, "name": item.name}
    parse_waitpoint_id("waitpoints", item)
    return {"id": item}


def _signal_body(item: NewSignal, token: str) -> dict[str, Any]:
    return {
        "token": token,
        "name": item.name,
        "payload": msgspec.Raw(item.payload),
        "source": {"type": item.source.type, "identity": item.source.identity},
        "idempotency_key": item.idempotency_key or new_id(),
        "correlation": item.correlation,
    }


def _waitpoint(view: Mapping[str, Any]) -> Waitpoint:
    token = view.get("token")
    tokens = {person: received(text) for person, text in view.get("tokens", {}).items()}
    return Waitpoint(
        id=view["id"],
        execution_id=view["execution"],
        name=view["name"],
        state=WaitpointState(view["state"]),
        created_at=decode.moment(view["created_at"]),
        expires_at=decode.optional_moment(view["expires_at"]),
        until=decode.optional_moment(view.get("until")),
        closed_at=decode.optional_moment(view["closed_at"]),
        why=view["why"],
        signals=tuple(view["signals"]),
        answerers=tuple(view["answerers"]),
        personal=view.get("personal", False),
        title=view["title"],
        uses=view["uses"],
        used=view["used"],
        wanted=view.get("wanted"),
        came=tuple(view.get("came", ())),
        schema=view["schema"],
        kid=view["kid"],
        fingerprint=view["fingerprint"],
        token=Token(view["kid"], view["fingerprint"], token) if token else None,
        tokens=tokens,
    )
