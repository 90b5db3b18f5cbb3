"""A process of one version, of either sort.

    member.py host STORE FOLDER NAME PORT   a worker and a server of the HTTP API, until SIGTERM
    member.py clients STORE FOLDER NAME     clients that do what the lines of their input say
    member.py others STORE FOLDER NAME      the same, without what only those of one process may use

Both say `ready` when they are. Clients answer each line with one of JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import pickle
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from holdfast.client import Client
from holdfast.engine import Engine, open_engine
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.worker.worker import Worker, WorkerSettings
from tests.chaos.seeded.app import make_app
from tests.chaos.seeded.history import Ledger
from tests.upgrade.clients import SETTINGS, Clients

#: Short, so that what a process leaves behind is taken up within a test.
LEASE_MS = 5_000


async def host(url: str, folder: str, name: str, port: str) -> None:
    """Be a worker and a server until SIGTERM, then drain."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with (
        open_engine(url, SETTINGS) as engine,
        serving(engine, ServerSettings(port=int(port))),
    ):
        app = make_app(Ledger(Path(folder, f"{name}.notes"))).attach(engine)
        worker = Worker(app, WorkerSettings(name=name, slots=20, lease_ms=LEASE_MS))
        running = asyncio.ensure_future(worker.run())
        _say("ready")
        await stop.wait()
        worker.drain()
        await running


async def act(everything: bool, url: str, folder: str, name: str) -> None:
    """Do what the lines say, until the input ends."""
    clients = Clients(name, everything=everything)
    async with contextlib.AsyncExitStack() as stack:
        engine = await stack.enter_async_context(open_engine(url, SETTINGS, maintenance=False))
        _say("ready")
        async for words in _lines():
            _say(await _answer(clients, engine, stack, Path(folder), words))


async def _answer(
    clients: Clients,
    engine: Engine,
    stack: contextlib.AsyncExitStack,
    folder: Path,
    words: list[str],
) -> Any:
    """Do one thing."""
    match words:
        case ["prepare"]:
            await clients.prepare(engine)
        case ["start", "near"]:
            clients.start("near", engine)
        case ["start", url]:
            clients.start(url, await stack.enter_async_context(Client(url)))
        case ["stop", place]:
            await clients.stop(place)
        case ["finish"]:
            await clients.finish(engine)
        case ["answered"]:
            return clients.answered
        case ["report", path]:
            written = await asyncio.to_thread(Path(path).read_bytes)
            dump = pickle.loads(written)  # noqa: S301 - the test wrote it
            return {
                "problems": await clients.problems(engine, dump, folder),
                "refusals": clients.refusals(),
                "replayed": clients.replayed(),
            }
        case _:
            raise ValueError(words)
    return None


async def _lines() -> AsyncIterator[list[str]]:
    """Yield the words of each line of the input."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield line.decode().split()


def _say(value: Any) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    programs: dict[str, Callable[..., Coroutine[Any, Any, None]]]
    programs = {"host": host, "clients": partial(act, True), "others": partial(act, False)}
    asyncio.run(programs[sys.argv[1]](*sys.argv[2:]))
