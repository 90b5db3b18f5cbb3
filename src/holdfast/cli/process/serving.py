"""Run a worker in this process until a signal drains it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvloop

from holdfast import garbage
from holdfast.api import Engine
from holdfast.cli.process import banner
from holdfast.cli.process.member import Member, following
from holdfast.cli.terminal import output
from holdfast.errors import HoldfastError
from holdfast.model.files import FileLimits
from holdfast.model.session_keys import DEFAULT_ENV
from holdfast.worker.app import App
from holdfast.worker.opening import opened
from holdfast.worker.revisions import judging
from holdfast.worker.worker import Worker, WorkerSettings, stop_on_signals

_PARENT_LOOK_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How a worker runs in its process."""

    as_json: bool
    #: The `holdfast dev` process that started this one, and whose end ends it, or 0.
    parent: int
    #: With a parent, HTTP is served here.
    listen: str | None = None
    #: With a parent, folders of packs to host in the same process.
    packs: tuple[Path, ...] = ()
    allow_private: tuple[str, ...] = ()
    env: str = DEFAULT_ENV
    #: The one of several processes that this is.
    member: Member | None = None


def serve(target: str, app: App, settings: WorkerSettings, how: Serving) -> bool:
    """Work until a signal stops the worker; return whether it was Ctrl-C."""

    async def work() -> bool:
        note = output.nothing if how.as_json else output.note
        is_supervised = bool(how.parent)
        async with (
            opened(app),
            serving_http(app.engine, how.listen, note, supervised=is_supervised) as url,
            following(how.member),
        ):

            def announce(worker: Worker) -> None:
                banner.show(target, app, worker, how, url=url)
                if how.member is not None:
                    how.member.report()
                garbage.leave_out_what_is_loaded()

            @contextlib.asynccontextmanager
            async def beside() -> AsyncIterator[None]:
                judged = judging(app.engine, how.env, settings.revision)
                async with judged, _hosting(app, settings, how, url):
                    yield

            return await _run(Worker(app, settings), announce, how.parent, beside())

    garbage.search_rarely(settings.slots * garbage.OBJECTS_OF_SLOT)
    return uvloop.run(work())


@contextlib.asynccontextmanager
async def _hosting(
    app: App, settings: WorkerSettings, how: Serving, url: str | None
) -> AsyncIterator[None]:
    """Host the packs of `holdfast dev` while the block runs, with the settings of the worker."""
    if not how.packs:
        yield
        return
    from holdfast.cli.process.hosting import hosting
    from holdfast.host.settings import HostSettings

    # On this machine the packs are the user's own, so their Python code may run unsigned.
    hosted = HostSettings(
        capabilities=settings.capabilities,
        slots=settings.slots,
        lease_ms=settings.lease_ms,
        allow_private=how.allow_private,
        trusted=True,
    )
    async with hosting(app.engine, hosted, how.packs, url):
        yield


@contextlib.asynccontextmanager
async def serving_http(
    engine: Engine,
    listen: str | None,
    note: Callable[[str], None],
    *,
    supervised: bool = False,
) -> AsyncIterator[str | None]:
    """Serve HTTP next to a worker or host; yield the URL, or None if HTTP cannot be served.

    Web chats of the env `local` are open: on this machine they are the developer's own.
    """
    from holdfast.engine import Engine as NearEngine
    from holdfast.server.chat.doors import EVERY, Door
    from holdfast.server.run import serving
    from holdfast.server.settings import ServerSettings, parse_listen

    if listen is None or not isinstance(engine, NearEngine):
        yield None
        return

    host, port = parse_listen(listen)
    async with contextlib.AsyncExitStack() as stack:
        try:
            doors = (Door(env=DEFAULT_ENV, name=EVERY),)
            settings = ServerSettings(
                host=host,
                port=port,
                web_chats=doors,
                web_chat_files=FileLimits(),
                dev=True,
                supervised=supervised,
            )
            server = serving(engine, settings)
            _, url = await stack.enter_async_context(server)
        except HoldfastError as error:
            note(f"HTTP is not served: {error}")
            url = None
        yield url


async def _run(
    worker: Worker,
    announce: Callable[[Worker], None],
    parent: int,
    beside: contextlib.AbstractAsyncContextManager[None],
) -> bool:
    with stop_on_signals(worker), noting_ctrl_c() as interrupted:
        running = asyncio.ensure_future(worker.run())
        watching = asyncio.ensure_future(_follow_parent(worker, parent))
        try:
            await worker.wait_started(running)
            if not running.done():
                announce(worker)
            async with beside:
                await running
        finally:
            watching.cancel()
    return interrupted.is_set()


@contextlib.contextmanager
def noting_ctrl_c() -> Iterator[asyncio.Event]:
    """Treat Ctrl-C as SIGTERM, and record it for the exit code."""
    seen = asyncio.Event()

    def interrupt() -> None:
        seen.set()
        os.kill(os.getpid(), signal.SIGTERM)

    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupt)
    yield seen


async def _follow_parent(worker: Worker, parent: int) -> None:
    """Drain when the parent process is gone, because `holdfast dev` may be killed."""
    if not parent:
        return
    while os.getppid() == parent:  # noqa: ASYNC110 - nothing signals it
        await asyncio.sleep(_PARENT_LOOK_S)
    worker.drain()
