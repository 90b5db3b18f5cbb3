"""Identify callers by their API keys, which are looked up in the store and cached briefly.

A browser with a session of the console acts with the key that the session names. Every server
refuses a revoked key within `FRESH_S`. Until a store has its first key, a server on a loopback
address accepts calls without a key; that also ends within `FRESH_S`.

Keys that this server has not seen are counted for their address, so that nobody can guess many, or
have the store look for them. A key that it has seen is not: guesses of a neighbour cannot lock it
out.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache

from starlette.requests import Request

from holdfast.engine import Engine
from holdfast.errors import Forbidden, HoldfastError, Unauthorized
from holdfast.model import bounds
from holdfast.model.api_keys import ApiKey, Role, id_of
from holdfast.model.moments import to_ms
from holdfast.model.sight import Payloads
from holdfast.model.tokens import KeyRing
from holdfast.outages import level
from holdfast.server.auth import console_sessions
from holdfast.server.auth.console_sessions import ConsoleSession
from holdfast.server.auth.throttle import Rate
from holdfast.server.http.headers import header, headers
from holdfast.store.api_keys import Found

log: logging.Logger = logging.getLogger(__name__)

FRESH_S = 5.0
#: Keys that one address may show for the first time, in a second; a burst may have twice as many.
NEW_KEYS = 50
_MOST_REMEMBERED = 10_000
_TOUCH_EVERY_S = 60.0
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
_PORT = re.compile(r":\d+\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The caller."""

    #: The id of its API key; None on an open server, where every caller acts as the operator.
    key: str | None
    #: None if the caller may act for every tenant.
    tenant: str | None
    roles: frozenset[Role]
    #: What the key says of itself: its name, and the tenant it belongs to.
    name: str | None = None
    key_tenant: str | None = None
    #: Which payloads it sees.
    payloads: Payloads = Payloads.REDACTED
    #: The session of a browser that acts with the key.
    session: ConsoleSession | None = None

    def may(self, roles: tuple[Role, ...]) -> bool:
        """Whether the caller has one of these roles; admins have all, and every role may read."""
        return Role.VIEWER in roles or Role.ADMIN in self.roles or bool(self.roles & set(roles))

    def within(self, session: ConsoleSession) -> Identity:
        """Return the caller in a session, which an operator may have narrowed to a tenant."""
        return replace(self, session=session, tenant=self.key_tenant or session.tenant)


OPERATOR = Identity(key=None, tenant=None, roles=frozenset(Role))
NOBODY = Identity(key=None, tenant=None, roles=frozenset())


@dataclass(frozen=True, slots=True)
class _Remembered:
    lookup: Found
    at: float


class Identities:
    """Identifies callers."""

    def __init__(self, engine: Engine, *, open_access: bool, new_keys: int = NEW_KEYS) -> None:
        self._api_keys = engine.api_keys
        self._keyring = engine.keyring
        #: Whether calls without a key are accepted while the store has no keys.
        self._open_access = open_access
        self._remembered: OrderedDict[str, _Remembered] = OrderedDict()
        #: Keys that do not exist, apart from the others, which they must not push out.
        self._unknown: OrderedDict[str, _Remembered] = OrderedDict()
        self._guesses = Rate(new_keys, "new API keys from one address")
        self._ring: tuple[KeyRing, float] | None = None
        self._touched: dict[str, float] = {}
        self._touching: set[asyncio.Task[None]] = set()

    async def of(self, request: Request) -> Identity:
        """Return the caller; raise Unauthorized if it cannot be identified."""
        given = header(request.scope, b"authorization")
        if given is not None:
            scheme, _, secret = given.partition(" ")
            if scheme.lower() != "bearer":
                raise Unauthorized("the Authorization header must be `Bearer KEY`")
            return await self.of_secret(request, secret.strip())
        if b"cookie" in headers(request.scope) and console_sessions.COOKIE in request.cookies:
            return await self._of_session(request)
        return await self._anyone(request, "an API key is needed: send `Authorization: Bearer KEY`")

    async def of_secret(self, request: Request, secret: str) -> Identity:
        """Return the caller that has shown a key."""
        if not secret or len(secret) > bounds.ID_CHARS:
            raise Unauthorized("the Authorization header must be `Bearer KEY`")
        key_id = id_of(secret)
        if key_id not in self._remembered and key_id not in self._unknown:
            self._guesses.take(request.client.host if request.client else "")
        remembered = await self._find(key_id)
        key = remembered.lookup.key
        if key is None or not key.matches(secret):
            return await self._anyone(request, "there is no such API key")
        return self._with_key(key, remembered)

    async def is_open(self) -> bool:
        """Whether calls without a key are accepted now."""
        return self._open_access and not (await self._find("")).lookup.count

    async def _of_session(self, request: Request) -> Identity:
        """Return the caller whose browser has a session."""
        session = console_sessions.read(request, await self.ring(), await self.now_ms())
        ended = "the session of the console has ended: log in again"
        if session is None:
            return await self._anyone(request, ended)
        remembered = await self._find(session.key)
        key = remembered.lookup.key
        if key is None:
            return await self._anyone(request, ended)
        console_sessions.refuse_other_pages(request)
        return self._with_key(key, remembered, session)

    def _with_key(
        self, key: ApiKey, remembered: _Remembered, session: ConsoleSession | None = None
    ) -> Identity:
        self._refuse_ended(key, remembered)
        self._touch(key.id)
        identity = Identity(
            key=key.id,
            tenant=key.tenant,
            roles=key.roles,
            name=key.name,
            key_tenant=key.tenant,
            payloads=key.payloads,
        )
        return identity if session is None else identity.within(session)

    async def now_ms(self) -> int:
        """Return the time on the store's clock."""
        return to_ms(_now(await self._find("")))

    async def ring(self) -> KeyRing:
        """Return the keys that sign sessions, as they were at most `FRESH_S` ago."""
        now = asyncio.get_running_loop().time()
        if self._ring is None or now - self._ring[1] >= FRESH_S:
            self._ring = (await self._keyring.ring(), now)
        return self._ring[0]

    def forget(self, key_id: str) -> None:
        """Drop a key from the cache, so that its next use looks it up again."""
        self._unknown.pop(key_id, None)
        self._remembered.pop(key_id, None)
        self._remembered.pop("", None)

    async def _anyone(self, request: Request, otherwise: str) -> Identity:
        """Return the operator while the server is open; raise Unauthorized otherwise."""
        if not await self.is_open():
            raise Unauthorized(otherwise)
        _refuse_browsers_elsewhere(request)
        return OPERATOR

    async def _find(self, key_id: str) -> _Remembered:
        """Look up a key; with an empty id, only the number of keys."""
        now = asyncio.get_running_loop().time()
        memory = self._unknown if key_id in self._unknown else self._remembered
        cached = memory.get(key_id)
        if cached is not None and now - cached.at < FRESH_S:
            memory.move_to_end(key_id)
            return cached
        remembered = _Remembered(await self._api_keys.get(key_id), now)
        self._remembered.pop(key_id, None)
        self._unknown.pop(key_id, None)
        is_unknown = key_id != "" and remembered.lookup.key is None
        memory = self._unknown if is_unknown else self._remembered
        memory[key_id] = remembered
        while len(memory) > _MOST_REMEMBERED:
            memory.popitem(last=False)
        return remembered

    def _refuse_ended(self, key: ApiKey, remembered: _Remembered) -> None:
        if not key.is_valid(_now(remembered)):
            word = "was revoked" if key.revoked_at is not None else "has expired"
            raise Unauthorized(f"the API key {word}", key=key.id)

    def _touch(self, key_id: str) -> None:
        """Record the use of a key, at most once a minute and without delaying the call."""
        now = asyncio.get_running_loop().time()
        if now - self._touched.get(key_id, -_TOUCH_EVERY_S) < _TOUCH_EVERY_S:
            return
        if len(self._touched) > _MOST_REMEMBERED:
            self._touched.clear()
        self._touched[key_id] = now
        task = asyncio.get_running_loop().create_task(self._write_touch(key_id))
        self._touching.add(task)
        task.add_done_callback(self._touching.discard)

    async def _write_touch(self, key_id: str) -> None:
        try:
            await self._api_keys.touch([key_id])
        except HoldfastError as error:
            log.log(level(error), "the use of key %s is not recorded: %s", key_id, error)

    async def close(self) -> None:
        """Wait until pending uses of keys are recorded."""
        await asyncio.gather(*self._touching)


def _now(remembered: _Remembered) -> datetime:
    """Return the time on the store's clock, from what it was at a look-up."""
    age = asyncio.get_running_loop().time() - remembered.at
    return remembered.lookup.now + timedelta(seconds=age)


def _refuse_browsers_elsewhere(request: Request) -> None:
    """Refuse pages of other sites, which could act through the operator's browser."""
    host = header(request.scope, b"host") or ""
    origin = header(request.scope, b"origin")
    if not _is_loopback(host):
        raise Forbidden(
            f"without API keys this server answers only on loopback names, not on {host!r}"
        )
    if origin is not None and origin != f"{request.scope['scheme']}://{host}":
        raise Forbidden(f"without API keys this server refuses pages of {origin!r}")


@lru_cache(256)
def _is_loopback(host: str) -> bool:
    return _PORT.sub("", host).lower() in _LOOPBACK_NAMES
