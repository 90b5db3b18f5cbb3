"""Shared resources with a life: opened once per worker, handed to the tasks that name them.

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

    def __init__(self, provider: Callable[[], Any]) -> None:
        self.provider = provider


def use(provider: Callable[[], Any]) -> Any:
    """Have a parameter filled with what the provider yields or returns."""
    return Resource(provider)


class Resources:
    """The open resources of a worker."""

    def __init__(self) -> None:
        self._stack = contextlib.AsyncExitStack()
        self._values: dict[Callable[[], Any], Any] = {}
        self._opening = asyncio.Lock()

    async def open(self, resource: Resource) -> Any:
        """Return the value of a resource, opening it at its first use."""
        if resource.provider not in self._values:
            async with self._opening:
                if resource.provider not in self._values:
                    self._values[resource.provider] = await self._enter(resource.provider)
        return self._values[resource.provider]

    async def _enter(self, provider: Callable[[], Any]) -> Any:
        if inspect.isasyncgenfunction(provider):
            manager = contextlib.asynccontextmanager(provider)
            opened = cast("contextlib.AbstractAsyncContextManager[Any]", manager())
            return await self._stack.enter_async_context(opened)
        if inspect.isgeneratorfunction(provider):
            return self._stack.enter_context(contextlib.contextmanager(provider)())
        value = provider()
        return await value if inspect.isawaitable(value) else value

    async def close(self) -> None:
        """Close what was opened, last first."""
        await self._stack.aclose()
        self._values.clear()
