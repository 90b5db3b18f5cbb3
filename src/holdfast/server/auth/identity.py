"""Identify callers by their API keys, which are looked up in the store and cached briefly.

Every server refuses a revoked key within `FRESH_S`. Until a store has its first key, a server on a
loopback address accepts calls without a key; that also ends within `FRESH_S`.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import OrderedDict
from dataclasses import dataclass
from datetime import timedelta

from starlette.requests import Request

from holdfast.engine import Engine
from holdfast.errors import Forbidden, HoldfastError, Unauthorized
from holdfast.model import bounds
from holdfast.model.api_keys import ApiKey, Role, id_of
from holdfast.outages import level
from holdfast.store.api_keys import Found

log: logging.Logger = logging.getLogger(__name__)

FRESH_S = 5.0
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

    def may(self, roles: tuple[Role, ...]) -> bool:
        """Whether the caller has one of these roles; admins have all, and every role may read."""
        return Role.VIEWER in roles or Role.ADMIN in self.roles or bool(self.roles & set(roles))


OPERATOR = Identity(key=None, tenant=None, roles=frozenset(Role))
NOBODY = Identity(key=None, tenant=None, roles=frozenset())


@dataclass(frozen=True, slots=True)
class _Remembered:
    lookup: Found
    at: float


class Identities:
    """Identifies callers."""

    def __init__(self, engine: Engine, *, open_access: bool) -> None:
        self._api_keys = engine.api_keys
        #: Whether calls without a key are accepted while the store has no keys.
        self._open_access = open_access
        self._remembered: OrderedDict[str, _Remembered] = OrderedDict()
        self._touched: dict[str, float] = {}
        self._touching: set[asyncio.Task[None]] = set()

    async def of(self, request: Request) -> Identity:
        """Return the caller; raise Unauthorized if it cannot be identified."""
        header = request.headers.get("authorization")
        if header is None:
            return await self._anyone(
                request, "an API key is needed: send `Authorization: Bearer KEY`"
            )
        scheme, _, secret = header.partition(" ")
        secret = secret.strip()
        if scheme.lower() != "bearer" or not secret or len(secret) > bounds.ID_CHARS:
            raise Unauthorized("the Authorization header must be `Bearer KEY`")
        remembered = await self._find(secret)
        key = remembered.lookup.key
        if key is None or not key.matches(secret):
            return await self._anyone(request, "there is no such API key")
        self._refuse_ended(key, remembered)
        self._touch(key.id)
        return Identity(key=key.id, tenant=key.tenant, roles=key.roles)

    def forget(self, key_id: str) -> None:
        """Drop a key from the cache, so that its next use looks it up again."""
        self._remembered.pop(key_id, None)
        self._remembered.pop("", None)

    async def _anyone(self, request: Request, otherwise: str) -> Identity:
        """Return the operator while the server is open; raise Unauthorized otherwise."""
        if not self._open_access or (await self._find("")).lookup.count:
            raise Unauthorized(otherwise)
        _refuse_browsers_elsewhere(request)
        return OPERATOR

    async def _find(self, secret: str) -> _Remembered:
        """Look up a key; with an empty secret, only the number of keys."""
        key_id = id_of(secret) if secret else ""
        now = asyncio.get_running_loop().time()
        cached = self._remembered.get(key_id)
        if cached is not None and now - cached.at < FRESH_S:
            self._remembered.move_to_end(key_id)
            return cached
        remembered = _Remembered(await self._api_keys.find(secret), now)
        self._remembered[key_id] = remembered
        self._remembered.move_to_end(key_id)
        while len(self._remembered) > _MOST_REMEMBERED:
            self._remembered.popitem(last=False)
        return remembered

    def _refuse_ended(self, key: ApiKey, remembered: _Remembered) -> None:
        age = asyncio.get_running_loop().time() - remembered.at
        if not key.is_valid(remembered.lookup.now + timedelta(seconds=age)):
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


def _refuse_browsers_elsewhere(request: Request) -> None:
    """Refuse pages of other sites, which could act through the operator's browser."""
    host = request.headers.get("host", "")
    origin = request.headers.get("origin")
    if _PORT.sub("", host).lower() not in _LOOPBACK_NAMES:
        raise Forbidden(
            f"without API keys this server answers only on loopback names, not on {host!r}"
        )
    if origin is not None and origin != f"{request.scope['scheme']}://{host}":
        raise Forbidden(f"without API keys this server refuses pages of {origin!r}")
