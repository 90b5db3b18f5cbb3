"""Run a server: the store, maintenance, HTTP, and a clean shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial

import uvicorn

from holdfast.archive.service import ArchiveService
from holdfast.concurrency import stop, wait_or_timeout
from holdfast.engine import Engine, open_engine
from holdfast.errors import StoreIncompatible
from holdfast.model.api_keys import Role
from holdfast.server.http import tls
from holdfast.server.http.app import make_app, make_services
from holdfast.server.http.call import Services
from holdfast.server.http.connections import BoundedHttp
from holdfast.server.http.turns import Turns
from holdfast.server.settings import ServerSettings
from holdfast.server.sockets import listening
from holdfast.store.store import StoreSettings

log: logging.Logger = logging.getLogger(__name__)

ADMIN_KEY_VARIABLE = "HOLDFAST_ADMIN_KEY"
#: The longest time that an HTTP call waits while the store is unavailable.
CALL_TIMEOUT_MS = 3_000
_TICK_S = 0.1


class Server(uvicorn.Server):
    """A server whose waiting calls end before it does."""

    def __init__(self, config: uvicorn.Config, services: Services) -> None:
        super().__init__(config)
        self._services = services

    def stop(self) -> None:
        """Accept no more calls, end those that wait, let the others finish."""
        self._services.closing.set()
        self.should_exit = True

    def force(self) -> None:
        """Stop waiting for calls: drop their connections."""
        self.force_exit = True
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    async def main_loop(self) -> None:
        """Run the server's periodic work; stop without delay once it is asked to."""
        counter = 0
        while not await self.on_tick(counter):
            counter = (counter + 1) % 864_000
            await wait_or_timeout(self._services.closing, _TICK_S)

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]  # noqa: ANN201
        """Leave signals to the process that runs the server."""
        yield


@contextlib.asynccontextmanager
async def serving(engine: Engine, settings: ServerSettings) -> AsyncIterator[tuple[Server, str]]:
    """Serve an engine while the block runs; yield the server and its URL."""
    await _check_keys(engine, settings)
    services = make_services(engine, settings)
    config = uvicorn.Config(
        make_app(services),
        host=settings.host,
        port=settings.port,
        http=partial(BoundedHttp, Turns()),  # type: ignore[arg-type]
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_graceful_shutdown=max(1, int(settings.grace_s)),
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=str(settings.tls_key) if settings.tls_key else None,
    )
    listener = listening(settings)
    server = Server(config, services)
    running = asyncio.ensure_future(server.serve(sockets=[listener]))
    siblings = services.metrics.siblings
    sharing = [] if siblings is None else [asyncio.ensure_future(siblings.run())]
    try:
        while not server.started and not running.done():  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.005)
        if running.done():
            running.result()
        scheme = "https" if settings.tls_certificate else "http"
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        yield server, f"{scheme}://{shown}:{port}"
    finally:
        server.stop()
        await running
        await stop(*sharing)
        await services.close()


async def _check_keys(engine: Engine, settings: ServerSettings) -> None:
    """Install the admin key of the environment; refuse a public address without any key."""
    secret = os.environ.get(ADMIN_KEY_VARIABLE)
    if secret:
        await engine.api_keys.create(roles=[Role.ADMIN], name="bootstrap", secret=secret)
    if await engine.api_keys.any():
        return
    if settings.is_loopback:
        log.warning(
            "there is no API key: only loopback is served, and every caller acts as the operator"
        )
        return
    raise StoreIncompatible(
        f"{settings.host} can be reached from other machines, but the store has no API key: "
        f"run `holdfast keys create --role admin` first, or set {ADMIN_KEY_VARIABLE}"
    )


async def run(
    store: str,
    settings: ServerSettings,
    *,
    maintenance: bool,
    announce: Callable[[str], None],
) -> int:
    """Serve until a signal arrives; return its number."""
    if settings.tls_certificate and settings.tls_key:
        tls.check(settings.tls_certificate, settings.tls_key)
    own = StoreSettings(call_timeout_ms=CALL_TIMEOUT_MS)
    with _signals() as (stopped, again):
        async with (
            open_engine(store, own, maintenance=maintenance) as engine,
            serving(engine, settings) as (server, url),
        ):
            if maintenance:
                engine.services.start(ArchiveService(engine.store))
            again.add_done_callback(lambda _: server.force())
            announce(url)
            return await stopped


async def run_maintenance(store: str, *, announce: Callable[[str], None]) -> int:
    """Only fire timers and archive, until a signal arrives; return its number."""
    with _signals() as (stopped, _):
        async with open_engine(store) as engine:
            engine.services.start(ArchiveService(engine.store))
            announce("")
            return await stopped


@contextlib.contextmanager
def _signals() -> Iterator[tuple[asyncio.Future[int], asyncio.Future[int]]]:
    """Yield a future that resolves at the first SIGTERM or SIGINT, and one for the second."""
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[int] = loop.create_future()
    again: asyncio.Future[int] = loop.create_future()

    def stop(number: int) -> None:
        waiting = again if stopped.done() else stopped
        if not waiting.done():
            waiting.set_result(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    try:
        yield stopped, again
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
