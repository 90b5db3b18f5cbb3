"""Finds what has an id, whatever it is: each noun is asked once, at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from holdfast.errors import InvalidInput, NotFound
from holdfast.model import bounds, checks, names
from holdfast.model.found import Found
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.waitpoints import parse_waitpoint_id
from holdfast.store.engine import StoreEngine

#: Messages have no index by id: these many queues, and these many messages of each, are read.
_MOST_QUEUES = 20
_MOST_MESSAGES = 100


class Finder:
    """Finds what one caller may see."""

    def __init__(self, engine: StoreEngine, tenant: str | None, *, is_admin: bool) -> None:
        self._engine = engine
        #: Whose things; None for those of all tenants.
        self._tenant = tenant
        self._is_admin = is_admin

    async def find(self, text: str) -> list[Found]:
        """Return what has this id."""
        checks.text("id", text, 2 * bounds.ID_CHARS, empty=False)
        asked = [
            self._execution,
            self._graph,
            self._waitpoint,
            self._session,
            self._schedule,
            self._queue,
            self._budget,
            self._quota,
            self._worker,
        ]
        # Keys and the audit log are for admins.
        if self._is_admin:
            asked += [self._key, self._request]
        answers = await asyncio.gather(*(_quiet(ask(text)) for ask in asked))
        found = [one for one in answers if one is not None and self._may_see(one)]
        # Only where nothing else has the id, because this is the longest search.
        if not found and (message := await _quiet(self._message(text))) is not None:
            found.append(message)
        return found

    def _may_see(self, found: Found) -> bool:
        return self._tenant in {None, found.tenant}

    @property
    def _own(self) -> str:
        """The tenant of names that say none."""
        return self._tenant or DEFAULT_TENANT

    def _stored_id(self, text: str) -> str:
        return checks.execution_id("id", names.stored_id(self._own, text))

    async def _execution(self, text: str) -> Found | None:
        one = await self._engine.describe(self._stored_id(text))
        return Found(noun="execution", id=one.id, title=one.kind, tenant=one.tenant)

    async def _graph(self, text: str) -> Found | None:
        stored = self._stored_id(text)
        owner = await self._engine.graphs.owner(stored)
        return Found(noun="graph", id=stored, title=stored, tenant=owner)

    async def _waitpoint(self, text: str) -> Found | None:
        stored, number = parse_waitpoint_id("id", self._stored_id(text))
        owner = await self._engine.owner(stored)
        for point in await self._engine.waitpoints.of(stored):
            if point.id.endswith(f"~w{number}"):
                title = point.title or point.name
                return Found(noun="waitpoint", id=point.id, title=title, tenant=owner)
        return None

    async def _session(self, text: str) -> Found | None:
        one = await self._engine.sessions.get(self._stored_id(text))
        return Found(noun="session", id=one.id, title=one.key.user, tenant=one.key.tenant)

    async def _schedule(self, text: str) -> Found | None:
        owner, own = _parts(text, names.ID_SEPARATOR, self._own)
        one = await self._engine.schedules.get(own, tenant=owner)
        return Found(noun="schedule", id=one.id, title=one.id, tenant=owner)

    async def _queue(self, text: str) -> Found | None:
        stored = checks.queue("id", names.stored(self._own, text))
        one = await self._engine.queues.describe(stored)
        owner, _ = names.parse(stored)
        return Found(noun="queue", id=one.name, title=one.name, tenant=owner)

    async def _budget(self, text: str) -> Found | None:
        owner, own = _parts(text, names.NAME_SEPARATOR, self._own)
        one = await self._engine.budgets.get(own, tenant=owner)
        return Found(noun="budget", id=one.id, title=one.id, tenant=owner)

    async def _quota(self, text: str) -> Found | None:
        owner, own = _parts(text, names.NAME_SEPARATOR, self._own)
        one = await self._engine.quotas.get(own, tenant=owner)
        return Found(noun="quota", id=one.id, title=one.id, tenant=owner)

    async def _worker(self, text: str) -> Found | None:
        for one in await self._engine.workers.list():
            if text == one.instance:
                return Found(noun="worker", id=text, title=one.worker, tenant=one.tenant)
        return None

    async def _key(self, text: str) -> Found | None:
        for one in await self._engine.api_keys.list(tenant=self._tenant):
            if text == one.id:
                return Found(noun="key", id=text, title=one.name or text, tenant=one.tenant)
        return None

    async def _request(self, text: str) -> Found | None:
        entries, _ = await self._engine.audit.list(tenant=self._tenant, limit=bounds.AUDIT_ITEMS)
        for one in entries:
            if text == one.request:
                title = f"{one.method} {one.route}"
                return Found(noun="request", id=text, title=title, tenant=one.tenant)
        return None

    async def _message(self, text: str) -> Found | None:
        queues = await self._engine.queues.list(tenant=self._tenant, limit=_MOST_QUEUES)
        answers = await asyncio.gather(*(_quiet(self._in_queue(one.name, text)) for one in queues))
        return next((one for one in answers if one is not None), None)

    async def _in_queue(self, queue: str, text: str) -> Found | None:
        messages = await self._engine.queues.peek(queue, count=_MOST_MESSAGES)
        if all(message.id != text for message in messages):
            return None
        owner, _ = names.parse(queue)
        return Found(noun="message", id=text, title=queue, tenant=owner, within=queue)


def _parts(text: str, separator: str, own: str) -> tuple[str, str]:
    """Return the tenant of a name, and the name without it."""
    owner, found, rest = text.partition(separator)
    return (checks.name("id", owner), rest) if found else (own, text)


async def _quiet(asked: Awaitable[Found | None]) -> Found | None:
    """Return what was found; None if there is nothing, or nothing like that can have this id."""
    try:
        return await asked
    except (NotFound, InvalidInput):
        return None
