"""The embedded store in one process: settings in force, secrets, restarts, errors."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import valkey

from holdfast.engine import Engine, open_engine
from holdfast.errors import StoreIncompatible, StoreUnavailable
from holdfast.model.states import State
from holdfast.store.store import open_store
from holdfast.store.valkey.embedded import EmbeddedServer
from holdfast.testing.polling import wait_for


def _state(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "server.json").read_text())
    return found


def _pid(folder: Path) -> int:
    pid = _state(folder)["pid"]
    assert isinstance(pid, int)
    return pid


def _raw(folder: Path, password: str | None) -> valkey.Valkey:
    port = _state(folder)["port"]
    assert isinstance(port, int)
    return valkey.Valkey(port=port, password=password)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@contextlib.asynccontextmanager
async def _engine(folder: Path) -> AsyncIterator[Engine]:
    async with open_engine(f"embedded://{folder}?fsync=everysec") as engine:
        yield engine


async def test_data_survives_a_restart(tmp_path: Path) -> None:
    """A clean stop and a new start lose nothing."""
    async with open_engine(f"embedded://{tmp_path}/db") as engine:
        made = await engine.submit("mail", input=b"hello", tags={"a": "b"}, id="m1")
        pid = _pid(tmp_path / "db")
    assert not _is_running(pid)
    async with open_engine(f"embedded://{tmp_path}/db") as engine:
        found = await engine.describe(made.id)
        assert (found.state, found.tags) == (State.WAITING, {"a": "b"})
        assert await engine.input(made.id) == b"hello"
        async with engine.claimer(worker="w") as claimer:
            (claim,) = await claimer.claim(5, 30_000)
        await engine.complete(claim.id, claim.lease, b"done")
        assert await engine.result(made.id, timeout_s=5) == b"done"


@pytest.mark.parametrize("fsync", ["always", "everysec", "no"])
async def test_the_fsync_setting_is_in_force(tmp_path: Path, fsync: str) -> None:
    """The server itself says when it writes to disk, and that it never evicts."""
    async with open_store(f"embedded://{tmp_path}?fsync={fsync}") as store:
        config = await store.client.call(["CONFIG", "GET", "appendfsync", "appendonly"])
        assert config == {b"appendfsync": fsync.encode(), b"appendonly": b"yes"}
        policy = await store.client.call(["CONFIG", "GET", "maxmemory-policy"])
        assert policy == {b"maxmemory-policy": b"noeviction"}


async def test_every_write_is_on_disk_by_default(tmp_path: Path) -> None:
    """Without a setting an acknowledgement means on disk."""
    async with open_store(f"embedded://{tmp_path}") as store:
        assert await store.client.call(["CONFIG", "GET", "appendfsync"]) == {
            b"appendfsync": b"always"
        }


def _asks_for_huge_pages(pid: int) -> bool:
    lines = Path(f"/proc/{pid}/smaps").read_text().splitlines()
    return any(" hg" in line for line in lines if line.startswith("VmFlags:"))


_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.mark.skipif(
    not _HUGE_PAGES.exists() or "[madvise]" not in _HUGE_PAGES.read_text(),
    reason="this system gives no huge pages to programs that ask for them",
)
async def test_the_server_asks_for_huge_pages(tmp_path: Path) -> None:
    """Its memory is marked for them, so calls stay fast when what they touch is spread widely."""
    async with open_store(f"embedded://{tmp_path}"):
        assert _asks_for_huge_pages(_pid(tmp_path))


async def test_a_small_store_is_not_rewritten(tmp_path: Path) -> None:
    """Rewrites hold up calls, so the log grows to more than the server's default first."""
    async with open_store(f"embedded://{tmp_path}") as store:
        name = "auto-aof-rewrite-min-size"
        config = await store.client.call(["CONFIG", "GET", name])
    assert config == {name.encode(): str(256 * 1024 * 1024).encode()}


async def test_a_short_stream_takes_little_memory(tmp_path: Path) -> None:
    """By the server's default, one frame takes over 4 KB."""
    async with open_store(f"embedded://{tmp_path}") as store:
        await store.client.call(["XADD", "short", "*", "frame", "hello"])
        used = await store.client.call(["MEMORY", "USAGE", "short"])
    assert used < 1_500


async def test_a_client_without_the_password_is_refused(tmp_path: Path) -> None:
    """Another user of the machine cannot read the store through its port."""
    async with _engine(tmp_path):
        with _raw(tmp_path, None) as stranger, pytest.raises(valkey.AuthenticationError):
            stranger.ping()
        with _raw(tmp_path, "guess") as stranger, pytest.raises(valkey.AuthenticationError):
            stranger.ping()
        with _raw(tmp_path, str(_state(tmp_path)["password"])) as friend:
            assert friend.ping()
            assert friend.config_get("bind") == {"bind": "127.0.0.1"}


async def test_files_with_secrets_are_private(tmp_path: Path) -> None:
    """The password stands in two files, which only their owner may read."""
    folder = tmp_path / "db"
    async with _engine(folder):
        assert folder.stat().st_mode & 0o777 == 0o700
        password = str(_state(folder)["password"])
        files = [file for file in folder.iterdir() if file.is_file()]
        secret = {file.name for file in files if password in file.read_text(errors="replace")}
        assert secret == {"server.json", "valkey.conf"}
        for name in secret:
            assert (folder / name).stat().st_mode & 0o777 == 0o600


async def test_the_password_is_kept_over_restarts(tmp_path: Path) -> None:
    """Port and password stay, so that tools need not look them up each time."""
    async with _engine(tmp_path):
        first = _state(tmp_path)
    async with _engine(tmp_path):
        second = _state(tmp_path)
    assert first["password"] == second["password"]
    assert first["pid"] != second["pid"]


async def test_another_fsync_for_a_running_server_is_refused(tmp_path: Path) -> None:
    """The error says what runs, what was asked for, and what to do; the server stays."""
    async with _engine(tmp_path) as engine:
        with pytest.raises(StoreIncompatible, match="stop its other users first") as refused:
            async with open_store(f"embedded://{tmp_path}?fsync=always"):
                pass
        assert "fsync=everysec" in str(refused.value)
        assert "fsync=always" in str(refused.value)
        await engine.submit("still-works")


async def test_two_stores_of_one_process_share_a_server(tmp_path: Path) -> None:
    """The first to leave does not stop the server of the other."""
    async with _engine(tmp_path) as first:
        pid = _pid(tmp_path)
        async with _engine(tmp_path) as second:
            assert _pid(tmp_path) == pid
            made = await second.submit("work")
        assert (await first.describe(made.id)).state is State.WAITING
        assert _is_running(pid)
    assert not _is_running(pid)


async def test_a_killed_server_comes_back_and_calls_go_on(tmp_path: Path) -> None:
    """Calls made while the server is away wait for it; nothing acknowledged is lost."""
    async with open_engine(f"embedded://{tmp_path}") as engine:
        before = await engine.submit("before")
        pid = _pid(tmp_path)
        os.kill(pid, signal.SIGKILL)
        after = await asyncio.gather(*(engine.submit("after") for _ in range(20)))
        assert _pid(tmp_path) != pid
        assert (await engine.describe(before.id)).state is State.WAITING
        counts = {c.kind: c.count for c in await engine.count()}
        assert counts == {"before": 1, "after": 20}
        assert len({made.id for made in after}) == 20


async def test_wake_ups_work_again_after_the_server_was_killed(tmp_path: Path) -> None:
    """Subscriptions come back by themselves, so timers and waiters go on."""
    async with open_engine(f"embedded://{tmp_path}") as engine:
        os.kill(_pid(tmp_path), signal.SIGKILL)
        made = await engine.submit("work", delay_ms=30)
        async with engine.claimer(worker="w") as claimer:
            (claim,) = await claimer.claim(1, 30_000, wait_ms=10_000)
        assert claim.id == made.id


async def test_a_slow_server_is_waited_for_not_doubled(tmp_path: Path) -> None:
    """Two servers that write to one folder would ruin it: a live one that is slow is waited for."""
    async with _engine(tmp_path):
        pid = _pid(tmp_path)
        os.kill(pid, signal.SIGSTOP)
        other = EmbeddedServer(tmp_path, "everysec")
        start = asyncio.ensure_future(other.start())
        try:
            await asyncio.wait([start], timeout=4)
            os.kill(pid, signal.SIGCONT)
            await start
            running = _pid(tmp_path)
        finally:
            os.kill(pid, signal.SIGCONT)
            await other.stop()
        if running != pid:
            # It no longer owns its files, so it may refuse to stop in good order.
            os.kill(pid, signal.SIGKILL)
        assert running == pid


async def test_a_folder_that_is_a_file_is_a_clear_error(tmp_path: Path) -> None:
    """The error names the folder."""
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreUnavailable, match="cannot use the data folder") as refused:
            async with open_store(f"embedded://{path}"):
                pass
        assert str(path) in str(refused.value)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder root cannot write to")
async def test_a_folder_that_cannot_be_written_is_a_clear_error() -> None:
    """Not even root can write there."""
    with pytest.raises(StoreUnavailable, match="cannot use the data folder"):
        async with open_store("embedded:///proc/self"):
            pass


async def test_a_configuration_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    """As in a folder that may only be read."""
    (tmp_path / "valkey.new").mkdir()
    with pytest.raises(StoreUnavailable, match="cannot be started"):
        async with open_store(f"embedded://{tmp_path}"):
            pass


async def test_a_server_that_cannot_be_started_again_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As on a disk that is full for a while: the server ends, and files cannot be written."""
    async with open_engine(f"embedded://{tmp_path}") as engine:
        made = await engine.submit("work")
        (tmp_path / "valkey.new").mkdir()
        os.kill(_pid(tmp_path), signal.SIGKILL)

        async def failed() -> bool:
            return "cannot be started" in caplog.text

        await wait_for(failed)
        (tmp_path / "valkey.new").rmdir()
        assert (await engine.describe(made.id)).kind == "work"


async def test_a_damaged_state_file_is_replaced(tmp_path: Path) -> None:
    """A half-written file of an earlier crash does not keep the store from starting."""
    async with open_engine(f"embedded://{tmp_path}") as engine:
        made = await engine.submit("work")
    (tmp_path / "server.json").write_text('{"pid": 12')
    async with open_engine(f"embedded://{tmp_path}") as engine:
        assert (await engine.describe(made.id)).kind == "work"


async def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    """The end of the server's own log is in the error."""
    (tmp_path / "appendonlydir").write_text("in the way")
    with pytest.raises(StoreUnavailable, match=r"did not start: .*appendonlydir"):
        async with open_store(f"embedded://{tmp_path}"):
            pass


async def test_the_server_stops_when_opening_fails_later(tmp_path: Path) -> None:
    """A refused boot leaves no server behind."""
    async with open_store(f"embedded://{tmp_path}?partitions=4"):
        pass
    with pytest.raises(StoreIncompatible, match="4 partitions"):
        async with open_store(f"embedded://{tmp_path}?partitions=8"):
            pass
    pid = _pid(tmp_path)

    async def gone() -> bool:
        return not _is_running(pid)

    await wait_for(gone)
