"""Claimers of remote workers, kept between their calls, so that each subscribes to work once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from holdfast.api import Claimer
from holdfast.engine import Engine
from holdfast.model import bounds, checks

IDLE_S = 60.0
#: Beyond this number an unused claimer is closed at once, because workers choose their names.
MOST_KEPT = 2_000
#: Worker, lanes, capabilities, kinds, tenant.
Key = tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...] | None, str | None]


@dataclass(slots=True)
class _Kept:
    opening: asyncio.Task[Claimer]
    stack: contextlib.AsyncExitStack
    users: int = 0
    idle_since: float = 0.0
    closer: asyncio.Task[None] | None = field(default=None)


class Claimers:
    """The open claimers, by what they claim."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: dict[Key, _Kept] = {}
        self._requests: dict[tuple[str | None, str], asyncio.Event] = {}

    @contextlib.asynccontextmanager
    async def use(
        self,
        worker: str,
        lanes: tuple[str, ...],
        capabilities: tuple[str, ...],
        kinds: tuple[str, ...] | None,
        tenant: str | None,
    ) -> AsyncIterator[Claimer]:
        """Borrow the claimer of a worker."""
        key = (
            checks.name("instance", worker),
            checks.names("lanes", lanes, bounds.LANES, least=1),
            checks.names("capabilities", capabilities, bounds.CAPABILITIES),
            checks.kinds("kinds", kinds),
            tenant,
        )
        kept = self._kept.get(key)
        if kept is None:
            stack = contextlib.AsyncExitStack()
            opening = asyncio.ensure_future(self._open(stack, key))
            kept = self._kept[key] = _Kept(opening, stack)
        kept.users += 1
        if kept.closer is not None:
            kept.closer.cancel()
            kept.closer = None
        try:
            yield await asyncio.shield(kept.opening)
        finally:
            kept.users -= 1
            if not kept.users:
                kept.closer = asyncio.ensure_future(self._close_later(key, kept))

    def is_under_way(self, tenant: str | None, request: str | None) -> bool:
        """Whether a call with this id would have to wait for another."""
        return request is not None and (tenant, request) in self._requests

    @contextlib.asynccontextmanager
    async def alone(self, tenant: str | None, request: str | None) -> AsyncIterator[None]:
        """Run calls with the same id one after the other: the later call repeats the earlier."""
        if request is None:
            yield
            return
        key = (tenant, request)
        earlier = self._requests.get(key)
        ended = self._requests[key] = asyncio.Event()
        try:
            if earlier is not None:
                await earlier.wait()
            yield
        finally:
            ended.set()
            if self._requests.get(key) is ended:
                del self._requests[key]

    async def _open(self, stack: contextlib.AsyncExitStack, key: Key) -> Claimer:
        worker, lanes, capabilities, kinds, tenant = key
        return await stack.enter_async_context(
            self._engine.claimer(
                worker=worker, lanes=lanes, capabilities=capabilities, kinds=kinds, tenant=tenant
            )
        )

    async def _close_later(self, key: Key, kept: _Kept) -> None:
        await asyncio.sleep(IDLE_S if len(self._kept) <= MOST_KEPT else 0)
        if self._kept.get(key) is kept:
            del self._kept[key]
        await kept.stack.aclose()

    async def close(self) -> None:
        """Close all claimers."""
        for kept in list(self._kept.values()):
            if kept.closer is not None:
                kept.closer.cancel()
            await asyncio.gather(kept.opening, return_exceptions=True)
            await kept.stack.aclose()
        self._kept.clear()
