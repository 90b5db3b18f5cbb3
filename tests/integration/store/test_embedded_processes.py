"""One embedded server, several processes: sharing, leaving, adoption."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast.engine import open_engine
from holdfast.errors import StoreIncompatible
from holdfast.model.states import State
from holdfast.store.store import open_store
from holdfast.testing.polling import wait_for


@contextlib.asynccontextmanager
async def _user(folder: Path) -> AsyncIterator[Process]:
    """Run a process that has the store open."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.integration.store.embedded_user",
        str(folder),
        stdin=PIPE,
        stdout=PIPE,
        cwd=Path(__file__).parents[3],
    )
    try:
        assert await _line(process) == "ready"
        yield process
    finally:
        # It leaves by itself, so that it stops its server; killing it is for tests that say so.
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(20):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
        process._transport.close()  # type: ignore[attr-defined]


async def _line(process: Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().strip()


async def _submit(process: Process, kind: str) -> str:
    assert process.stdin is not None
    process.stdin.write(f"{kind}\n".encode())
    await process.stdin.drain()
    return await _line(process)


async def _leave(process: Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    assert await process.wait() == 0


def _pid(folder: Path) -> int:
    pid: int = json.loads((folder / "server.json").read_text())["pid"]
    return pid


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def _stopped(pid: int) -> None:
    async def gone() -> bool:
        return not _is_running(pid)

    await wait_for(gone)


async def test_two_processes_share_one_server(tmp_path: Path) -> None:
    """Each sees what the other submitted."""
    async with open_engine(f"embedded://{tmp_path}") as engine, _user(tmp_path) as other:
        pid = _pid(tmp_path)
        theirs = await _submit(other, "theirs")
        assert (await engine.describe(theirs)).kind == "theirs"
        await engine.submit("ours")
        assert _pid(tmp_path) == pid
        await _leave(other)
        assert _is_running(pid)
        assert {c.kind for c in await engine.count()} == {"ours", "theirs"}


async def test_the_last_process_stops_the_server(tmp_path: Path) -> None:
    """The process that started it may leave first."""
    async with contextlib.AsyncExitStack() as stack:
        first = await stack.enter_async_context(_user(tmp_path))
        pid = _pid(tmp_path)
        async with open_engine(f"embedded://{tmp_path}") as engine:
            await _leave(first)
            assert _is_running(pid)
            await engine.submit("work")
        await _stopped(pid)


async def test_a_killed_process_does_not_keep_the_server_running(tmp_path: Path) -> None:
    """Its share ends with it, so the last one alive stops the server."""
    async with open_engine(f"embedded://{tmp_path}"):
        pid = _pid(tmp_path)
        async with _user(tmp_path) as other:
            other.kill()
            await other.wait()
    await _stopped(pid)


async def test_a_server_that_outlived_its_process_is_adopted(tmp_path: Path) -> None:
    """After SIGKILL of the only user the next one finds the same server and its data."""
    async with _user(tmp_path) as first:
        made = await _submit(first, "orphan")
        pid = _pid(tmp_path)
        first.kill()
        await first.wait()
    assert _is_running(pid)
    async with open_engine(f"embedded://{tmp_path}") as engine:
        assert _pid(tmp_path) == pid
        assert (await engine.describe(made)).state is State.WAITING
    await _stopped(pid)


async def test_an_adopted_server_comes_back_after_a_crash(tmp_path: Path) -> None:
    """It is no child of ours, yet we notice its death."""
    async with _user(tmp_path) as first:
        await _submit(first, "orphan")
        first.kill()
        await first.wait()
    async with open_engine(f"embedded://{tmp_path}") as engine:
        pid = _pid(tmp_path)
        os.kill(pid, signal.SIGKILL)
        await engine.submit("work")
        assert _pid(tmp_path) != pid
        assert {c.kind for c in await engine.count()} == {"orphan", "work"}


async def test_both_users_go_on_after_the_server_was_killed(tmp_path: Path) -> None:
    """Only one of them starts it again."""
    async with open_engine(f"embedded://{tmp_path}") as engine, _user(tmp_path) as other:
        pid = _pid(tmp_path)
        os.kill(pid, signal.SIGKILL)
        await engine.submit("ours")
        theirs = await _submit(other, "theirs")
        assert (await engine.describe(theirs)).kind == "theirs"
        assert {c.kind for c in await engine.count()} == {"ours", "theirs"}
        await _leave(other)
        last = _pid(tmp_path)
    assert last != pid
    await _stopped(last)


async def test_another_fsync_is_refused_while_another_process_runs(tmp_path: Path) -> None:
    """The other process keeps its server."""
    async with _user(tmp_path) as other:
        pid = _pid(tmp_path)
        with pytest.raises(StoreIncompatible, match="stop its other users first"):
            async with open_store(f"embedded://{tmp_path}?fsync=no"):
                pass
        assert _is_running(pid)
        assert await _submit(other, "work")
