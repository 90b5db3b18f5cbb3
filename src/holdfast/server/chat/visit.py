"""A visit: one call of a browser at a door, and what it may do there."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast.engine import Engine
from holdfast.engine.deployments import table_of
from holdfast.errors import (
    BackendFailed,
    Conflict,
    ConversationNotFound,
    DeploymentNotFound,
    InvalidRecord,
    InvalidToken,
    NotFound,
    SessionBusy,
    SessionFull,
    StoreUnavailable,
    WebChatNotFound,
    WebChatUnavailable,
)
from holdfast.model.activities import NewActivity
from holdfast.model.deployments import DeploymentRef
from holdfast.model.files import File
from holdfast.model.sessions import Activity
from holdfast.model.tokens import KeyRing
from holdfast.routing import Cookies, RoutingTable
from holdfast.routing.cookies import TTL_MS
from holdfast.server.auth.identity import Identity
from holdfast.server.chat import visitors
from holdfast.server.chat.doors import Door
from holdfast.server.chat.visitors import Visitor
from holdfast.server.http.call import Call

log: logging.Logger = logging.getLogger(__name__)

#: In the audit log, instead of the id of an API key.
VISITOR = "visitor"
_COOKIES = Cookies()


@dataclass(frozen=True, slots=True)
class Visit:
    """A call at a door."""

    call: Call
    door: Door
    ring: KeyRing
    now_ms: int
    #: None: the browser was never here, or its cookie has expired.
    known: Visitor | None

    @classmethod
    async def at(cls, call: Call, env: str, name: str) -> Visit:
        """Begin a visit; raises WebChatNotFound, Forbidden and RateLimited."""
        services = call.services
        if call.route.reads_body:
            services.visits.take(call.address)
        else:
            call.count_address()
        door = await services.doors.find(env, name)
        visitors.refuse_other_pages(call.request)
        if call.route.reads_body and door.rate is not None:
            services.rate.take(f"endpoint {env}|{name}", per_second=door.rate)
        ring = await call.engine.keyring.ring()
        now_ms = time.time_ns() // 1_000_000
        # The audit log of the tenant has it.
        call.identity = Identity(key=VISITOR, tenant=door.tenant, roles=frozenset())
        known = visitors.recognize(call.request, door, ring, now_ms)
        return cls(call, door, ring, now_ms, known)

    @property
    def visitor(self) -> Visitor:
        """The visitor; raises InvalidToken for a browser that was never here."""
        if self.known is None:
            raise InvalidToken("the visit has expired: load the chat again")
        return self.known

    @property
    def session(self) -> str:
        """The id of the visitor's session, which exists after the first message."""
        return self.visitor.key.id

    def welcome(self) -> Visitor:
        """Return the visitor with a cookie that lasts from now on; a new one to a new browser."""
        if self.known is None:
            return visitors.arrive(self.door, self.now_ms)
        until_ms = self.now_ms + visitors.TTL_S * 1000
        return msgspec.structs.replace(self.known, until_ms=until_ms)

    def remember(self, visitor: Visitor) -> dict[str, str]:
        """Return the headers that make the browser remember who it is."""
        text = visitors.set_cookie(self.door, visitor, self.ring, framed=self._is_framed)
        return {"Set-Cookie": text}

    async def deliver(self, id: str, payload: dict[str, Any]) -> dict[str, str]:
        """Deliver a message; return headers that keep the browser on its revision.

        Why a deployment takes nothing is for its operators, in the log, and not for visitors.
        """
        content = msgspec.json.encode(payload)
        activity = Activity(key=self.visitor.key, id=id, payload=content)
        try:
            return await self._deliver(self.call.engine, activity)
        except (SessionBusy, SessionFull):
            raise
        except ConversationNotFound as error:
            raise WebChatNotFound("there is no web chat at this address") from error
        except (Conflict, NotFound) as error:
            door = f"{self.door.env}/{self.door.name}"
            log.warning("the web chat %s takes no messages: %s", door, error)
            message = "the chat cannot take messages now; try again later"
            raise WebChatUnavailable(message, retry_after_ms=5_000) from error

    async def attached(self, file_id: str) -> File:
        """Return a file that the visitor uploaded for a message; raises FileNotFound."""
        try:
            return await self.call.engine.files.attached(self.session, file_id)
        except (BackendFailed, InvalidRecord) as error:
            raise StoreUnavailable(f"the file cannot be read now: {error}") from error

    async def _deliver(self, engine: Engine, activity: Activity) -> dict[str, str]:
        door = self.door
        deployment = door.deployment or door.name
        table = await self._table(engine, deployment)
        if table is None:
            await engine.sessions.deliver(door.conversation or door.name, activity)
            return {}
        name = _COOKIES.name(table)
        given = self.call.request.cookies.get(name)
        answer = await engine.activities.handle_from_browser(
            _as_new(activity),
            deployment=deployment,
            cookie=_COOKIES.read(given, table, self.ring, self.now_ms),
        )
        if answer.revision is None:
            return {}
        text = _COOKIES.issue(table, answer.revision, self.ring, self.now_ms)
        header = visitors.cookie(name, text, TTL_MS // 1000, framed=self._is_framed)
        return {"Set-Cookie": header}

    async def _table(self, engine: Engine, deployment: str) -> RoutingTable | None:
        """Return the routes of the deployment; None: a conversation of workers answers."""
        door = self.door
        if door.conversation is not None:
            return None
        ref = DeploymentRef(env=door.env, id=deployment, tenant=door.tenant)
        try:
            return table_of(await engine.deployments.get(ref))
        except DeploymentNotFound:
            if door.deployment is not None:
                raise
            return None

    @property
    def _is_framed(self) -> bool:
        return bool(self.door.origins)


def _as_new(activity: Activity) -> NewActivity:
    key = activity.key
    return NewActivity(
        env=key.env,
        tenant=key.tenant,
        conversation=key.conversation,
        user=key.user,
        payload=activity.payload,
        id=activity.id,
    )
