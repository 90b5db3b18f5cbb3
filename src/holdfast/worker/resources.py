"""Shared resources: opened once per worker, passed to the tasks that name them, closed at the end.

async def database() -> AsyncIterator[Pool]:
    async with create_pool() as pool:
        yield pool

@app.task
async def charge(order: int, pool: Pool = use(database)) -> None: ...
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Callable
from typing import Any, cast


class Resource:
    """Marks a parameter that the worker fills in."""

    def __init__(self, factory: Callable[[], Any]) -> None:
        self.factory = factory


def use(factory: Callable[[], Any]) -> Any:
    """Fill a parameter with the value that the factory yields or returns."""
    return Resource(factory)


class Resources:
    """The open resources of a worker."""

    def __init__(self) -> None:
        self._stack = contextlib.AsyncExitStack()
        self._values: dict[Callable[[], Any], Any] = {}
        self._opening = asyncio.Lock()

    async def open(self, resource: Resource) -> Any:
        """Return the value of a resource, opening it at its first use."""
        if resource.factory not in self._values:
            async with self._opening:
                if resource.factory not in self._values:
                    self._values[resource.factory] = await self._enter(resource.factory)
        return self._values[resource.factory]

    async def _enter(self, factory: Callable[[], Any]) -> Any:
        if inspect.isasyncgenfunction(factory):
            manager = contextlib.asynccontextmanager(factory)
            opened = cast("contextlib.AbstractAsyncContextManager[Any]", manager())
            return await self._stack.enter_async_context(opened)
        if inspect.isgeneratorfunction(factory):
            return self._stack.enter_context(contextlib.contextmanager(factory)())
        value = factory()
        return await value if inspect.isawaitable(value) else value

    async def close(self) -> None:
        """Close the open resources, the last one first."""
        await self._stack.aclose()
        self._values.clear()
