"""An open store that any thread and any event loop can call."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, Generic, TypeVar

from holdfast import api
from holdfast.engine import open_engine
from holdfast.errors import InvalidInput
from holdfast.model.store_urls import is_remote
from holdfast.store.store import Store

T = TypeVar("T")

_FAR = "checkpoints need the store itself: connect to its URL, not to a server"


class Connection:
    """A store on its event loop."""

    def __init__(self, store: Store, loop: asyncio.AbstractEventLoop) -> None:
        self.store = store
        self._loop = loop

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run calls of the store from any event loop."""
        if asyncio.get_running_loop() is self._loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run calls of the store from a thread that may block."""
        with contextlib.suppress(RuntimeError):
            if asyncio.get_running_loop() is self._loop:
                work.close()
                message = "this call would block the event loop of the store: use its async form"
                raise InvalidInput(message)
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


@contextlib.asynccontextmanager
async def connect(url: str) -> AsyncIterator[Connection]:
    """Open a store on the running loop; this process also fires its timers."""
    if is_remote(url):
        raise InvalidInput(_FAR)
    async with open_engine(url) as engine:
        yield Connection(engine.store, asyncio.get_running_loop())


def connection_of(engine: api.Engine) -> Connection:
    """Return the store of an engine whose loop is running."""
    store = getattr(engine, "store", None)
    if not isinstance(store, Store):
        raise InvalidInput(_FAR)
    return Connection(store, asyncio.get_running_loop())


@contextlib.contextmanager
def connect_in_thread(url: str) -> Iterator[Connection]:
    """Open a store on a loop in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="holdfast-store", daemon=True)
    thread.start()
    try:
        opening = connect(url)
        connection = asyncio.run_coroutine_threadsafe(opening.__aenter__(), loop).result()
        try:
            yield connection
        finally:
            closing = opening.__aexit__(None, None, None)
            asyncio.run_coroutine_threadsafe(closing, loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class Opening(Generic[T]):
    """What `with` and `async with` open."""

    def __init__(self, url: str, make: Callable[[Connection], T]) -> None:
        self._url = url
        self._make = make
        self._in_thread = contextlib.ExitStack()
        self._on_loop = contextlib.AsyncExitStack()

    def __enter__(self) -> T:
        return self._make(self._in_thread.enter_context(connect_in_thread(self._url)))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._in_thread.close()

    async def __aenter__(self) -> T:
        return self._make(await self._on_loop.enter_async_context(connect(self._url)))

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._on_loop.aclose()
